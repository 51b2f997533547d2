"""What the predictions page shows, kept by plain values: model, revision, text, masks."""

import numpy as np

from bertviz_core.errors import Progress
from bertviz_core.predictions.lens import word_lens
from bertviz_core.predictions.loading import HeadModel, stored_tasks
from bertviz_core.predictions.results import ComparedWord, PseudoLikelihood, TermWeights, WordLens, WordPrediction
from bertviz_core.predictions.surprise import pseudo_likelihood
from bertviz_core.predictions.terms import term_weights
from bertviz_core.predictions.words import MaskedReading, compared_word, read_masked, words_of
from ui.cache import models
from ui.cache.decorator import cached_by_bytes
from ui.cache.sources import SourceKey, source, source_key

TOP = 10
"""Words that are listed at a position."""


def tasks(name: str) -> tuple[str, ...]:
    """The tasks whose heads a checkpoint names; whether they are whole is known when they are loaded.

    Raises:
        UnsupportedModelError: it names none.
    """
    return stored_tasks(source(name))


def head(name: str, task: str) -> HeadModel:
    """A model with the head of a task.

    Raises:
        CheckpointError: the head is not wholly in the file.
    """
    return models.with_head(name, task)


def words(
    name: str, text: str, pair: str | None, masked: tuple[int, ...], position: int | None = None
) -> WordPrediction:
    """The best words at every position of a text some of whose tokens are masked, or, quickly, at one position."""
    places = None if position is None else (position,)
    return _words(source_key(name), text, pair, masked, places, head(name, "masked-lm"))


def filled(name: str, text: str, pair: str | None) -> tuple[str, str]:
    """The text and the second one ("" for none) with the likeliest word in the place of every mask."""
    tokenizer, result = models.tokenizer(name), words(name, text, pair, ())
    mask = str(tokenizer.tokenizer.mask_token)
    typed = np.flatnonzero(np.asarray(result.tokens.input_ids) == tokenizer.tokenizer.mask_token_id)
    texts = [text, pair or ""]
    for place in typed.tolist():
        word = tokenizer.tokenizer.decode([int(result.top_ids[place, 0])]).strip()
        which = result.tokens.sequence[place] or 0
        which = which if mask in texts[which] else 1 - which
        texts[which] = texts[which].replace(mask, word, 1)
    return texts[0], texts[1]


def own_word(name: str, text: str, pair: str | None, position: int, word: str, masked: tuple[int, ...]) -> ComparedWord:
    """How likely a word of one's own is at a position."""
    others = tuple(place for place in masked if place != position)
    return _own_word(source_key(name), text, pair, position, word, others, head(name, "masked-lm"))


def surprise(name: str, text: str, pair: str | None, tell: Progress) -> PseudoLikelihood:
    """The surprise of every token; tell is called while it is computed."""
    return _surprise(source_key(name), text, pair, head(name, "masked-lm"), tell)


def lens(name: str, text: str, pair: str | None, masked: tuple[int, ...]) -> WordLens:
    """The head on the states of every layer."""
    return _lens(source_key(name), text, pair, masked, head(name, "masked-lm"))


def terms(name: str, text: str) -> TermWeights:
    """A text as weighted words."""
    return _terms(source_key(name), text, head(name, "masked-lm"))


@cached_by_bytes("Masking every token in turn")
def _surprise(key: SourceKey, text: str, pair: str | None, _head: HeadModel, _tell: Progress) -> PseudoLikelihood:
    return pseudo_likelihood(_head, models.tokenizer(key.name), models.tokens(key.name, text, pair), _tell)


@cached_by_bytes("Asking the head after every layer")
def _lens(key: SourceKey, text: str, pair: str | None, masked: tuple[int, ...], _head: HeadModel) -> WordLens:
    return word_lens(_head, models.tokenizer(key.name), models.tokens(key.name, text, pair), masked, TOP)


@cached_by_bytes("Asking the head")
def _terms(key: SourceKey, text: str, _head: HeadModel) -> TermWeights:
    return term_weights(_head, models.tokens(key.name, text, None))


@cached_by_bytes()
def _words(
    key: SourceKey,
    text: str,
    pair: str | None,
    masked: tuple[int, ...],
    places: tuple[int, ...] | None,
    _head: HeadModel,
) -> WordPrediction:
    return words_of(_head, _reading(key, text, pair, masked, _head), TOP, places)


def _tensor_nbytes(reading: MaskedReading) -> int:
    return sum(int(getattr(each, "nbytes", 0)) for each in reading.output.values())


@cached_by_bytes("Running the model", size=_tensor_nbytes)
def _reading(key: SourceKey, text: str, pair: str | None, masked: tuple[int, ...], _head: HeadModel) -> MaskedReading:
    return read_masked(_head, models.tokenizer(key.name), models.tokens(key.name, text, pair), masked)


@cached_by_bytes("Asking the head")
def _own_word(
    key: SourceKey,
    text: str,
    pair: str | None,
    position: int,
    word: str,
    masked: tuple[int, ...],
    _head: HeadModel,
) -> ComparedWord:
    tokens = models.tokens(key.name, text, pair)
    return compared_word(_head, models.tokenizer(key.name), tokens, position, word, masked)
