"""Tag tokens, and group them into entities as transformers does, extended to BILOU and IOBES labels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bertviz_core.errors import Progress
from bertviz_core.predictions.classes import output_names, softmax
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.results import ClassPrediction, Entity, Strategy, TagPrediction
from bertviz_core.predictions.run import check_task, row_outputs
from bertviz_core.trace.isolated.backend import continuing_prefix
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.two_tokenizers import text_of
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.word_alignment import SENTENCE_PIECE_MARK

OUTSIDE = "O"
"""Tag of tokens outside all entities."""


def tag_predictions(
    head: HeadModel, texts: Sequence[Tokens], progress: Progress | None = None
) -> tuple[TagPrediction, ...]:
    """Predict the tags of every token of each text, in the order of the texts, in batches of similar length.

    Args:
        head: a model with its head for token-classification.
        texts: tokenized texts.
        progress: called as progress(texts done, texts); may raise to cancel.

    Raises:
        UnsupportedModelError: the head is of another task.
    """
    check_task(head, "token-classification")
    predictions: dict[int, TagPrediction] = {}
    for index, (logits,) in row_outputs(head, texts):
        labels, notices = output_names(head, logits.shape[-1])
        probabilities = softmax(logits)
        for array in (logits, probabilities):
            array.setflags(write=False)
        predictions[index] = TagPrediction(
            head.name, texts[index], labels, logits, probabilities, (*texts[index].notices, *head.notices, *notices)
        )
        if progress is not None:
            progress(len(predictions), len(texts))
    return tuple(predictions[index] for index in range(len(texts)))


def surest_tag(prediction: TagPrediction) -> tuple[str, int] | None:
    """Return the most confident tag other than O and its token; None if every token of the text is outside.

    The tag of a token is its likeliest one. Special tokens have none.
    """
    tagged = [
        _tagged(prediction, (place,)) for place in np.flatnonzero(~np.asarray(prediction.tokens.special)).tolist()
    ]
    inside = [each for each in tagged if each.label != OUTSIDE]
    if not inside:
        return None
    best = max(inside, key=lambda each: each.score)
    return best.label, best.positions[0]


def token_classes(prediction: TagPrediction, position: int) -> ClassPrediction:
    """Return the tag probabilities of one token as a ClassPrediction."""
    return ClassPrediction(
        model=prediction.model,
        tokens=prediction.tokens,
        labels=prediction.labels,
        logits=prediction.logits[position],
        scoring="softmax",
        probabilities=prediction.probabilities[position],
        notices=prediction.notices,
    )


class _Tagged(NamedTuple):
    """A token, or the tokens of a word, with one tag."""

    label: str
    score: float
    positions: tuple[int, ...]


def entities(
    prediction: TagPrediction, tokenizer: TextTokenizer, strategy: Strategy = "simple", outside: bool = False
) -> tuple[Entity, ...]:
    """Return the tagged spans of a text, as transformers' token-classification pipeline does.

    "none" lists tokens; "simple" joins neighbours of one tag unless a B- begins a new one; "first", "average" and "max"
    first assign one tag to all pieces of a word: that of the first piece, of the mean probabilities, or of the piece
    with the greatest probability. With BILOU or IOBES labels (U-, L-, S-, E-), L- and E- end a span and U- and S- are
    spans of one token, which the pipeline does not support. The text and its pair are handled separately.

    Args:
        prediction: predicted tags.
        tokenizer: the model's tokenizer.
        strategy: aggregation strategy.
        outside: whether to return spans of the tag O, too.
    """
    listed = []
    for sequence in (0, 1):
        positions = [place for place, from_text in enumerate(prediction.tokens.sequence) if from_text == sequence]
        tagged = [_tagged(prediction, (position,)) for position in positions]
        if strategy in ("first", "average", "max"):
            tagged = [_tagged(prediction, word, strategy) for word in _words(prediction.tokens, tokenizer, positions)]
        groups = [[each] for each in tagged] if strategy == "none" else _joined(tagged, prediction.labels)
        listed += [_entity(prediction.tokens, tokenizer, group, sequence, strategy) for group in groups]
    return tuple(entity for entity in listed if outside or entity.label != OUTSIDE)


def _tagged(prediction: TagPrediction, positions: tuple[int, ...], strategy: str = "first") -> _Tagged:
    rows = prediction.probabilities[list(positions)]
    row = rows.mean(axis=0) if strategy == "average" else rows[0]
    if strategy == "max":
        row = rows[int(rows.max(axis=1).argmax())]
    best = int(row.argmax())
    return _Tagged(prediction.labels[best], float(row[best]), positions)


def _words(tokens: Tokens, tokenizer: TextTokenizer, positions: Sequence[int]) -> list[tuple[int, ...]]:
    """Group tokens into words as the pipeline does: by the continuation mark of pieces, else by spaces."""
    words: list[tuple[int, ...]] = []
    for position in positions:
        if words and _continues(tokens, tokenizer, position):
            words[-1] = (*words[-1], position)
        else:
            words.append((position,))
    return words


def _continues(tokens: Tokens, tokenizer: TextTokenizer, position: int) -> bool:
    span = tokens.offsets[position] if tokens.offsets is not None else None
    if span is None or tokens.unknown[position]:
        return False
    text = text_of(tokens, tokens.sequence[position] or 0)
    if continuing_prefix(tokenizer.tokenizer):
        return len(tokens.tokens[position]) != span[1] - span[0]
    return span[0] > 0 and " " not in text[span[0] - 1 : span[0] + 1]


def _joined(tagged: Sequence[_Tagged], labels: Sequence[str]) -> list[list[_Tagged]]:
    closed = any(label.startswith(("U-", "L-", "S-", "E-")) for label in labels) and any(
        label.startswith("B-") for label in labels
    )
    groups: list[list[_Tagged]] = []
    for each in tagged:
        mark, name = _parted(each.label, closed)
        if groups:
            last_mark, last_name = _parted(groups[-1][-1].label, closed)
            if name == last_name and mark not in "BUS" and last_mark not in "LUES":
                groups[-1].append(each)
                continue
        groups.append([each])
    return groups


def _parted(label: str, closed: bool) -> tuple[str, str]:
    """Split a tag into mark and name: B begins, I continues, L and E end, U and S stand alone; no mark continues."""
    marks = "BILUES" if closed else "BI"
    if len(label) > 1 and label[0] in marks and label[1] == "-":
        return label[0], label[2:]
    return "I", label


def _entity(
    tokens: Tokens, tokenizer: TextTokenizer, group: Sequence[_Tagged], sequence: int, strategy: Strategy
) -> Entity:
    positions = [position for each in group for position in each.positions]
    first, last = positions[0], positions[-1]
    start = end = None
    spans = None if tokens.offsets is None else (tokens.offsets[first], tokens.offsets[last])
    if spans is not None and spans[0] is not None and spans[1] is not None:
        start, end = spans[0][0], spans[1][1]
        if start == end < len(text_of(tokens, sequence)) and not tokens.tokens[last].strip(SENTENCE_PIECE_MARK):
            end += 1  # a token that is only this mark, which the pipeline joins with the next letter (own_span)
        text = text_of(tokens, sequence)[start:end]
    else:
        text = str(tokenizer.tokenizer.convert_tokens_to_string([tokens.tokens[position] for position in positions]))
    label = group[0].label if strategy == "none" else group[0].label.split("-", 1)[-1]
    score = float(np.mean([each.score for each in group]))
    return Entity(label, score, text, start, end, first, last, sequence)
