"""What a masked-LM head answers: words at masks, surprise, the lens through the layers, expanded terms."""

import numpy as np

from bertviz_core.errors import Named, TextError
from bertviz_core.figures.predictions.lens import MEASURES, TOLD
from bertviz_core.predictions.lens import word_lens as lens_of
from bertviz_core.predictions.results import (
    PseudoLikelihood,
    TermLedger,
    TermWeights,
    WordLens,
    WordPrediction,
    WordShift,
)
from bertviz_core.predictions.surprise import pseudo_likelihood
from bertviz_core.predictions.terms import term_ledger as ledger_of
from bertviz_core.predictions.terms import term_weights as weights_of
from bertviz_core.predictions.words import compared_word, mask_id, predicted_words, shift_position
from bertviz_core.predictions.words import word_shift as shift_of
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR, edited_tokens, tokens
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.pieces import text_pieces
from bertviz_core.trace.tokenization import longest_piece

TOP, MOST_TERMS, FIRST_TERMS = 10, 50, 12
"""Words at a position; most terms that are drawn, and how many by default."""
TASK = "masked-lm"
MASK = Param("mask", "text", "positions that are masked, with commas between them, or none")
POSITION = Param("position", "position", "the position whose words are listed, the first mask by default")
COMPARE = Param("compare", "text", "a word of one's own at the position")
LENS = choice("lens", MEASURES, "what the cells are coloured by")
SHOWN = Param("shown", "whole", "terms that are drawn")
GUESS = Param("guess", "position", "the token that is guessed in both versions")


@question(figures=("masked-text",), params=(MASK, POSITION))
def masked_words(opened: Opened, options: Options) -> Answer[WordPrediction]:
    """The best words at every position."""
    read = tokens(opened, options)
    masked = _masked(opened, options, read.result)
    prediction = predicted_words(opened.head(TASK), opened.tokenizer, read.result, masked, TOP)
    position = _position(opened, options, read.result, masked)
    drawn = {"text_pieces": text_pieces(read.result), "word_position": position}
    return read.of(prediction, prediction.notices, word_prediction=prediction, **drawn)


@question(figures=("masked-words",), params=(MASK, POSITION, COMPARE))
def words_at_position(opened: Opened, options: Options) -> Answer[WordPrediction]:
    """The best words at one position, beside a word of one's own."""
    answer, read = masked_words(opened, options), tokens(opened, options).result
    prediction, masked = answer.result, _masked(opened, options, read)
    position = _position(opened, options, read, masked)
    word, compared = options.get(COMPARE.key).strip(), None
    if word:
        others = [place for place in masked if place != position]
        compared = compared_word(opened.head(TASK), opened.tokenizer, read, position, word, others)
    best = opened.tokenizer.spelled(prediction.top_ids[position].tolist())
    drawn = {"best_words": best, "word_position": position, "compared_word": compared}
    return answer.of(prediction, word_prediction=prediction, **drawn)


@question(figures=("surprise",))
def surprise(opened: Opened, options: Options) -> Answer[PseudoLikelihood]:
    """Surprise of every token when it alone is masked."""
    read = tokens(opened, options)
    result = pseudo_likelihood(opened.head(TASK), opened.tokenizer, read.result)
    return read.of(result, result.notices, pseudo_likelihood=result, text_pieces=text_pieces(read.result))


@question(figures=("lens",), params=(MASK, LENS))
def lens(opened: Opened, options: Options) -> Answer[WordLens]:
    """The head on every layer's states."""
    read = tokens(opened, options)
    answer = lens_of(opened.head(TASK), opened.tokenizer, read.result, _masked(opened, options, read.result), TOP)
    spell = opened.tokenizer.spelled
    best = [[spell(cell) for cell in row] for row in answer.top_ids[..., :TOLD].tolist()]
    return read.of(answer, answer.notices, word_lens=answer, lens_words=best, lens_measure=options.choice(LENS))


@question(figures=("terms",), params=(SHOWN,))
def terms(opened: Opened, options: Options) -> Answer[TermWeights]:
    """The text as weighted words."""
    answer = _weights(opened, options, options.text())
    ids = answer.result.ids
    words = opened.tokenizer.spelled(ids[: _shown(options, len(ids))].tolist())
    return answer.of(answer.result, term_weights=answer.result, term_words=words)


@question(figures=("term-score",), params=(SHOWN,))
def term_ledger(opened: Opened, options: Options) -> Answer[TermLedger]:
    """The score of two texts, word by word."""
    if options.pair is None:
        what = "This figure compares two texts, and one came; give the second with "
        raise TextError(what, Named("pair"), ".")
    first, second = (_weights(opened, options, text) for text in (options.text(), options.pair))
    ledger = ledger_of(first.result, second.result)
    words = opened.tokenizer.spelled(ledger.ids[: _shown(options, len(ledger.ids))].tolist())
    drawn = {"term_ledger": ledger, "ledger_words": words}
    drawn |= {"term_weights": first.result, "second_weights": second.result}
    notices = tuple(dict.fromkeys((*first.notices, *second.notices)))
    return Answer(ledger, first.models, (*first.texts, *second.texts), notices, drawn)


@question(figures=("words-change",), params=(EDITED, EDITED_PAIR, GUESS))
def word_shift(opened: Opened, options: Options) -> Answer[WordShift]:
    """The words at a token before and after an edit."""
    read, edited = tokens(opened, options), edited_tokens(opened, options)
    default = shift_position(opened.tokenizer, read.result, edited.result)
    guess = options.whole(GUESS.key, len(read.result), default)
    shift = shift_of(opened.head(TASK), opened.tokenizer, read.result, edited.result, guess)
    drawn = {"word_shift": shift, "guessed_token": read.result.tokens[guess], "model_name": opened.source.name}
    return Answer(shift, read.models, (*read.texts, *edited.texts), (*read.notices, *shift.notices), drawn)


def _typed(opened: Opened, read: Tokens) -> list[int]:
    """Positions at which the text itself has a mask."""
    return np.flatnonzero(read.input_ids == mask_id(opened.tokenizer)).tolist()


def _masked(opened: Opened, options: Options, read: Tokens) -> list[int]:
    """Positions to mask; the longest word where neither an option nor the text names one."""
    given, count, typed = options.get(MASK.key), len(read), _typed(opened, read)
    if MASK.key not in options.values:
        return [] if typed else [longest_piece(read)]
    places = given.split(",") if given != "none" else []
    if not all(place in map(str, range(count)) for place in places):
        what = f"={escape_controls(given[:20])} here; give positions from 0 to {count - 1} with commas between "
        raise TextError("There is no ", Named(MASK.key), f"{what}them, or none.")
    return sorted({int(place) for place in places} - set(typed))


def _position(opened: Opened, options: Options, read: Tokens, masked: list[int]) -> int:
    default = (*_typed(opened, read), *masked, longest_piece(read))[0]
    return options.whole(POSITION.key, len(read), default)


def _weights(opened: Opened, options: Options, text: str) -> Answer[TermWeights]:
    read = tokens(opened, Options((text,)))
    weights = weights_of(opened.head(TASK), read.result)
    answer = read.of(weights, weights.notices)
    return Answer(weights, answer.models, (weights.tokens.text,), answer.notices)


def _shown(options: Options, count: int) -> int:
    """How many terms are drawn."""
    most = min(count, MOST_TERMS)
    if most == 0:
        raise TextError("No term of the vocabulary has a weight here, so nothing can be drawn; give other texts.")
    return options.whole(SHOWN.key, most + 1, min(FIRST_TERMS, most)) or 1
