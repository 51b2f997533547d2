"""Classes, tags and terms of a text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.errors import Progress, TextError, no_progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.results import (
    ClassPrediction,
    Entity,
    Scoring,
    Strategy,
    TagPrediction,
    TermLedger,
    TermWeights,
)
from bertviz_core.predictions.run import HeadModel, WordHead, check_task, row_outputs
from bertviz_core.sentences.pooling import term_values
from bertviz_core.sentences.results import SentencePlan, SparsePooling
from bertviz_core.text import counted, quoted
from bertviz_core.trace.isolated.backend import continuing_prefix
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.two_tokenizers import text_of
from bertviz_core.trace.word_alignment import SENTENCE_PIECE_MARK

NEXT_SENTENCE = ("is the next sentence", "is another sentence")
"""The two outputs of BERT's next-sentence head (Devlin et al. 2019)."""
ONE_OUTPUT = (
    "The task head has one output and its config no problem_type: the output itself is the value here, and "
    "transformers' pipeline, as most cross-encoders, takes its sigmoid."
)


def class_predictions(
    head: HeadModel, texts: Sequence[Tokens], progress: Progress = no_progress
) -> tuple[ClassPrediction, ...]:
    """Classify texts or pairs, run in batches of similar length."""
    check_task(head, "sequence-classification", "next-sentence")
    for tokens in texts:
        check_pair(head, tokens)
    scoring = output_scoring(head)
    single = (ONE_OUTPUT,) if scoring == "number" and head.model.config.problem_type is None else ()
    predictions: dict[int, ClassPrediction] = {}
    for index, (logits,) in row_outputs(head, texts):
        labels, notices = output_names(head, len(logits))
        predictions[index] = ClassPrediction(
            model=head.name,
            tokens=texts[index],
            labels=labels,
            logits=logits,
            scoring=scoring,
            probabilities=_probabilities(logits, scoring),
            notices=(*texts[index].notices, *head.notices, *notices, *single, *_tie(labels, logits, scoring)),
        )
        progress(len(predictions), len(texts))
    return tuple(predictions[index] for index in range(len(texts)))


def check_pair(head: HeadModel, tokens: Tokens) -> None:
    """Check that a head that reads two texts is given two."""
    if tokens.pair is None and head.task == "next-sentence":
        raise TextError("The next-sentence head compares two sentences; give the second text, too.")
    if tokens.pair is None and head.answers:
        raise TextError("The model scores a text for a query: give the query first, and the text as the second text.")


def _tie(labels: Sequence[str], logits: np.ndarray, scoring: Scoring) -> tuple[str, ...]:
    """Return a notice where the greatest logit is that of several classes that exclude each other."""
    equal = [label for label, logit in zip(labels, logits, strict=True) if logit == logits.max()]
    if scoring != "softmax" or len(equal) < 2:
        return ()
    named = ", ".join(quoted(label, 30) for label in equal[:3]) + (", ..." if len(equal) > 3 else "")
    return (f"{len(equal):,} classes have the greatest logit ({named}); the first of them is named as the answer.",)


def output_names(head: HeadModel, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a name for each output of the head, and notices.

    An output without an entry in id2label is named by its index; duplicate names get the index appended.
    """
    if head.task == "next-sentence":
        return NEXT_SENTENCE, ()
    named: Mapping[Any, Any] = head.model.config.id2label or {}
    listed = [named.get(index) for index in range(count)]
    names = [str(name) if isinstance(name, str | int) and str(name).strip() else "" for name in listed]
    notices = []
    if unnamed := names.count(""):
        notices.append(
            f"id2label of {head.name!r} names {counted(count - unnamed, 'output')} of {count:,}; "
            "the others are called by their number."
        )
    repeated = {name for name, times in Counter(names).items() if times > 1 and name}
    if repeated:
        notices.append(f"id2label of {head.name!r} gives several outputs the same name; their number is added.")
    return tuple(
        f"LABEL_{index}" if not name else f"{name} ({index})" if name in repeated else name
        for index, name in enumerate(names)
    ), tuple(notices)


def output_scoring(head: HeadModel) -> Scoring:
    """Choose the scoring of a head from the config's problem_type and its number of labels.

    A single output without a problem_type is a regression, as transformers trains it.
    """
    config: Any = head.model.config
    if head.task == "next-sentence" or config.problem_type == "single_label_classification":
        return "softmax"
    if config.problem_type == "multi_label_classification":
        return "sigmoid"
    return "number" if config.problem_type == "regression" or config.num_labels == 1 else "softmax"


def is_number(head: HeadModel) -> bool:
    """Whether a head gives a number for each text and no class."""
    return head.task == "sequence-classification" and output_scoring(head) == "number"


def softmax(logits: np.ndarray) -> Any:
    """Compute exp(logits) over their sum along the last axis, in float32."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def class_place(labels: Sequence[str], label: str, name: str) -> int:
    """Return the index of a class among a head's outputs."""
    if label in labels:
        return labels.index(label)
    known = ", ".join(quoted(each, 30) for each in labels[:12]) + (", ..." if len(labels) > 12 else "")
    raise TextError(f"There is no class {quoted(label, 40)} in {quoted(name, 60)}; it has {known}.")


def check_measure(measure: str, scoring: Scoring, labels: Sequence[str]) -> None:
    """Check that a measure applies to a class."""
    if scoring == "number" and measure == "probability":
        raise TextError("This task head gives a number and no probability; ask for its logit, which is that number.")
    if measure == "margin" and len(labels) < 2:
        raise TextError("A margin is the lead over another class; this task head has one output: ask for its logit.")


def class_number(logits: "torch.Tensor", place: int, measure: str, scoring: Scoring) -> "torch.Tensor":
    """Return the logit, probability or margin of one class, (batch,), from logits (batch, classes)."""
    logits = logits.float()
    own = logits[:, place]
    if measure == "probability":
        return own.sigmoid() if scoring == "sigmoid" else logits.softmax(dim=-1)[:, place]
    if measure == "margin":
        others = [each for each in range(logits.shape[1]) if each != place]
        return own - logits[:, others].amax(dim=1)
    return own


def _probabilities(logits: np.ndarray, scoring: Scoring) -> Any:
    if scoring == "number":
        return None
    # 1 / (1 + exp(-x)) by tanh, which does not overflow.
    return softmax(logits) if scoring == "softmax" else (0.5 + 0.5 * np.tanh(0.5 * logits)).astype(np.float32)


OUTSIDE = "O"
"""Tag of tokens outside all entities."""


def tag_predictions(
    head: HeadModel, texts: Sequence[Tokens], progress: Progress = no_progress
) -> tuple[TagPrediction, ...]:
    """Predict the tags of every token of each text, in the order of the texts, in batches of similar length."""
    check_task(head, "token-classification")
    predictions: dict[int, TagPrediction] = {}
    for index, (logits,) in row_outputs(head, texts):
        labels, notices = output_names(head, logits.shape[-1])
        predictions[index] = TagPrediction(
            head.name,
            texts[index],
            labels,
            logits,
            softmax(logits),
            notices=(*texts[index].notices, *head.notices, *notices),
        )
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


SUMMED = (
    "The checkpoint adds up the weights of all tokens; the token of a word is the one that gives most of its weight."
)


def term_weights(head: HeadModel, tokens: Tokens, plan: SentencePlan | None = None) -> TermWeights:
    """Compute w_v = max over the tokens i of log(1 + ReLU(logit_iv)) for every word v with a weight above 0.

    Special tokens are included. Every weight comes from exactly one token, unless the plan of a sparse encoder adds
    them up; a plan may take the logarithm twice, too, and normalise the weights.
    """
    pooling = (plan.sparse if plan is not None else None) or SparsePooling()
    word_head = WordHead(head)
    output = word_head.outputs([tokens])
    states = word_head.states(output)[0]
    greatest, total = torch.zeros(0), torch.zeros(0)
    places: torch.Tensor | None = None
    for chunk in word_head.chunks(len(tokens)):
        logits = word_head.logits(output, states[chunk])
        values, rows = logits.max(dim=0)
        rows = rows + chunk.start
        added = term_values(logits, pooling).sum(dim=0)
        if places is None:
            greatest, places, total = values, rows, added
        else:
            later = values > greatest
            greatest, places = torch.where(later, values, greatest), torch.where(later, rows, places)
            total = total + added
    weights = (total if pooling.strategy == "sum" else term_values(greatest, pooling)).cpu().numpy()
    if plan is not None and plan.normalize:
        weights = unit(weights)
    order = np.argsort(-weights, kind="stable")[: int((weights > 0).sum())]
    positions = np.zeros(0, np.int64) if places is None else places.cpu().numpy()
    own = () if plan is None else (*((SUMMED,) if pooling.strategy == "sum" else ()), *plan.notices)
    notices = tuple(dict.fromkeys((*tokens.notices, *head.notices, *own)))
    return TermWeights(head.name, tokens, order, weights[order], positions[order], notices=notices)


def table_weights(loaded: LoadedModel, tokens: Tokens, plan: SentencePlan) -> TermWeights:
    """The weight of each token of a text in the table of a static sparse encoder, which is no sum over tokens."""
    ids, positions = np.unique(tokens.input_ids, return_index=True)
    weights = loaded.model.get_input_embeddings().weight.detach()[ids, 0].float().cpu().numpy()
    weights = unit(weights[None])[0] if plan.normalize else weights
    order = np.argsort(-weights, kind="stable")
    order = order[weights[order] != 0]
    notices = tuple(dict.fromkeys((*tokens.notices, *plan.notices)))
    return TermWeights(loaded.name, tokens, ids[order], weights[order], positions[order], notices=notices)


def term_ledger(first: TermWeights, second: TermWeights) -> TermLedger:
    """Decompose the score of two texts by words: sum over the words v of w_v(first) w_v(second).

    Law: the shares sum to the score, and each belongs to one token of either text.
    """
    ids, at_first, at_second = np.intersect1d(first.ids, second.ids, assume_unique=True, return_indices=True)
    shares = first.weights[at_first] * second.weights[at_second]
    order = np.argsort(-shares, kind="stable")
    arrays = (ids[order], first.positions[at_first][order], second.positions[at_second][order], shares[order])
    for array in arrays:
        array.setflags(write=False)
    return TermLedger(float(shares.astype(np.float64).sum()), *arrays)
