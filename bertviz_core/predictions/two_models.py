"""Answers of two models to one text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsFloat

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.classes import OUTSIDE
from bertviz_core.predictions.probing.comparison import label_spelling, unmatched_labels
from bertviz_core.predictions.results import (
    NO_ANSWER,
    AnswerPrediction,
    AnswerSpan,
    ClassPrediction,
    ComparedKind,
    Entity,
    LogitLens,
    PredictionComparison,
    PseudoLikelihood,
    Scoring,
    TagPrediction,
)
from bertviz_core.text import counted, decimals
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.two_tokenizers import SharedSpan, covered, shared_spans, shared_words, text_of

SHOWN_ANSWERS, SEARCHED_ANSWERS = 5, 1_000
"""Number of best answers of each model that are listed; number among which the other model's answers are searched."""
SAME_MODEL = "The same model twice: every difference is exactly 0."
KINDS: dict[Scoring, str] = {
    "softmax": "classes that exclude each other",
    "sigmoid": "classes that are each likely or not by themselves",
    "number": "a number and no probability",
}
"""How the heads of two models may differ."""


def compared_classes(first: ClassPrediction, second: ClassPrediction) -> PredictionComparison:
    """Classes of two models, matched by name, in the order of the first; then those that only the second has."""
    if (first.probabilities is None) != (second.probabilities is None):
        number, other = (first, second) if first.probabilities is None else (second, first)
        raise UnsupportedModelError(
            f"The task head of {number.model!r} returns a number and that of {other.model!r} probabilities, so the two "
            "are not compared."
        )
    spelling = label_spelling(first.labels, second.labels)
    sides = [
        dict(zip(labels, (each.logits if each.probabilities is None else each.probabilities).tolist(), strict=True))
        for each, labels in ((first, first.labels), (second, tuple(spelling.values())))
    ]
    names = tuple(dict.fromkeys((*sides[0], *sides[1])))
    notices = unmatched_labels((first.model, second.model), first.labels, tuple(spelling.values()))
    if first.scoring != second.scoring:
        notices.append(f"{first.model} predicts {KINDS[first.scoring]}, {second.model} {KINDS[second.scoring]}.")
    return comparison(
        "classes",
        (first.model, second.model),
        names,
        [[side.get(name) for name in names] for side in sides],
        (first.labels[first.best], spelling[second.labels[second.best]]),
        [*notices, *first.notices, *second.notices],
        unit="value" if first.probabilities is None else "probability",
    )


def compared_tags(first: TagPrediction, second: TagPrediction) -> PredictionComparison:
    """Tag and probability of every word in two models.

    The tag of a word is the likeliest of its first token that covers a character of it, as with transformers'
    aggregation_strategy="first". Where
    the models cut the text into different words, these are joined until both have them.
    """
    spelling = label_spelling(first.labels, second.labels)
    read = shared_words(first.tokens, second.tokens)
    ones = [_tag(first, word.first) for word in read]
    others = [_tag(second, word.second) for word in read]
    renamed = tuple(spelling.get(label, "") for label, _ in others)
    notices = unmatched_labels((first.model, second.model), first.labels, tuple(spelling.values()))
    notices += [*unread_parts(first.model, second.model, read), *first.notices, *second.notices]
    labels = tuple(label for label, _ in ones)
    return comparison(
        "tags",
        (first.model, second.model),
        [word.text for word in read],
        [[number for _, number in side] for side in (ones, others)],
        (_tagged(labels), _tagged(renamed)),
        notices,
        each=(labels, renamed),
    )


def compared_spans(first: AnswerPrediction, second: AnswerPrediction) -> PredictionComparison:
    """The best answers of both models to one question, matched by their characters in the context.

    Args:
        first: answers of the first model, at least SEARCHED_ANSWERS where there are as many.
    """
    sides = [{_place(each, prediction): each for each in prediction.answers} for prediction in (first, second)]
    listed = [list(side)[:SHOWN_ANSWERS] for side in sides]
    places = list(dict.fromkeys((*listed[0], *listed[1])))
    texts = [first.context[start:end] for start, end in places]
    names = [text if texts.count(text) == 1 else f"{text} ({start}:{end})" for text, (start, end) in zip(
        texts, places, strict=True)]  # fmt: skip
    missing = [
        f"{counted(len(absent), 'answer')} of the other model {'is' if len(absent) == 1 else 'are'} not among the "
        f"{SEARCHED_ANSWERS:,} best of {prediction.model}."
        for side, prediction in zip(sides, (first, second), strict=True)
        if (absent := [place for place in places if place not in side])
    ]
    numbers = [[side[place].score if place in side else None for place in places] for side in sides]
    if first.null_logit is not None or second.null_logit is not None:
        names = [*names, NO_ANSWER]
        numbers = [[*each, side.null_score] for each, side in zip(numbers, (first, second), strict=True)]
        missing += [each.null_words() for each in (first, second) if not each.is_null]
    both, answers = (first.model, second.model), (first.answer.strip(), second.answer.strip())
    notices = [*missing, *first.notices, *second.notices]
    return comparison("answers", both, names, numbers, answers, notices, unit="score")


def compared_surprise(first: PseudoLikelihood, second: PseudoLikelihood) -> PredictionComparison:
    """Surprise of every part of a text that both models cut into whole tokens: the sum over its tokens, in nats."""
    parts = shared_spans(first.tokens, second.tokens)
    numbers = [
        numbers_or_nan([_sum(first.surprise, part.first) for part in parts]),
        numbers_or_nan([_sum(second.surprise, part.second) for part in parts]),
    ]
    both = ~np.isnan(numbers[0]) & ~np.isnan(numbers[1])
    totals = [f"{decimals(float(each[both].astype(np.float64).sum()), 3)} nats" for each in numbers]
    notices = list(unread_parts(first.model, second.model, parts))
    if any(len(part.first) != len(part.second) for part in parts):
        notices.append("Where one model has several tokens for the same characters, their surprise is added up.")
    notices += [*first.notices, *second.notices]
    names = [part.text for part in parts]
    return comparison(
        "surprise", (first.model, second.model), names, numbers, (totals[0], totals[1]), notices, unit="nats"
    )


def compared_lens(
    lenses: tuple[LogitLens, LogitLens],
    places: tuple[int, int],
    words: tuple[Sequence[str], Sequence[str]],
    where: str,
    notices: Sequence[str] = (),
) -> PredictionComparison:
    """The best word at one place after every layer of two models, with its probability.

    Rows are the hidden states by number; a model with fewer layers has no word in the last rows.

    Args:
        places: position of the same characters in each.
        words: the best word of every state at that position, of each model.
    """
    count = max(map(len, words))
    answers = [(*side, *("",) * (count - len(side))) for side in words]
    numbers = [
        [*np.exp(lens.top_log_probability[:, place, 0]).tolist(), *[None] * (count - len(side))]
        for lens, place, side in zip(lenses, places, words, strict=True)
    ]
    first, second = lenses
    sizes = [len(side) - 1 for side in words]
    uneven = [] if sizes[0] == sizes[1] else [f"{first.model} has {sizes[0]} layers, {second.model} {sizes[1]}."]
    return comparison(
        "lens",
        (first.model, second.model),
        list(map(state_name, range(count))),
        numbers,
        (words[0][-1], words[1][-1]),
        [*uneven, *notices, *first.notices, *second.notices],
        each=(answers[0], answers[1]),
        where=where,
    )


def comparison(
    kind: ComparedKind,
    models: tuple[str, str],
    names: Sequence[str],
    numbers: Iterable[Iterable[SupportsFloat | None]],
    answers: tuple[str, str],
    notices: Sequence[str],
    each: tuple[tuple[str, ...], tuple[str, ...]] | None = None,
    unit: str = "probability",
    where: str = "",
) -> PredictionComparison:
    """A comparison of two models, with a notice where both are the same.

    Args:
        each: answer of each model in every row; None where the name of the row is the answer.
    """
    first, second = models
    first_answers, second_answers = each or [("",) * len(names)] * 2
    first_numbers, second_numbers = map(numbers_or_nan, numbers)
    return PredictionComparison(
        first,
        second,
        kind,
        unit,
        where,
        tuple(names),
        first_answers,
        second_answers,
        first_numbers,
        second_numbers,
        answers,
        notices=comparison_notices(first, second, notices),
    )


def comparison_notices(first: str, second: str, notices: Sequence[str]) -> tuple[str, ...]:
    """The notices of a comparison, with one where both models are the same."""
    return tuple(dict.fromkeys((*([SAME_MODEL] if first == second else []), *notices)))


def numbers_or_nan(values: Iterable[SupportsFloat | None]) -> Float[np.ndarray, " rows"]:
    """An array of float32, with NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float32)


def _sum(surprise: Float[np.ndarray, " seq"], positions: Sequence[int]) -> float | None:
    return float(surprise[list(positions)].astype(np.float64).sum()) if positions else None


def _tag(prediction: TagPrediction, positions: Sequence[int]) -> tuple[str, float | None]:
    """Tag of a word and its probability; ("", None) for a word that the model does not read."""
    if not positions:
        return "", None
    spans = ((place, covered(prediction.tokens, place)) for place in positions)
    row = prediction.probabilities[next((place for place, span in spans if span and span[0] < span[1]), positions[0])]
    best = int(row.argmax())
    return prediction.labels[best], float(row[best])


def _tagged(labels: Sequence[str]) -> str:
    inside = sum(label not in ("", OUTSIDE) for label in labels)
    return f"{inside} of {counted(len(labels), 'word')} tagged"


def _place(answer: AnswerSpan, prediction: AnswerPrediction) -> tuple[int, int]:
    """The characters of an answer, without white space around them."""
    text = prediction.context[answer.start : answer.end]
    return answer.start + len(text) - len(text.lstrip()), answer.end - len(text) + len(text.rstrip())


def unread_parts(first: str, second: str, parts: Sequence[SharedSpan]) -> list[str]:
    """Notices about parts of the text that only one of two models reads, whose names are given."""
    notices = []
    for model, only in ((first, [not part.second for part in parts]), (second, [not part.first for part in parts])):
        if any(only):
            count = sum(only)
            notices.append(
                f"{counted(count, 'part')} of the text {'is' if count == 1 else 'are'} read by {model} alone."
            )
    return notices


Found = tuple[TagPrediction, tuple[Entity, ...]]
"""The tags of a model, and the entities that they form."""
Place = tuple[int, int, int, str]
"""Sequence, first character and end of an entity without white space around it, and its label."""


def compared_entities(first: Found, second: Found) -> PredictionComparison:
    """Entities that both models find, and those that only one finds, in the order of the text.

    Two entities are the same if they cover the same characters and have the same label, regardless of case where that
    is unambiguous. The number of a row is the entity's score in each model, NaN where a model does not find it.
    """
    (one, ones), (other, others) = first, second
    spelling = label_spelling(one.labels, other.labels)
    short = label_spelling(
        tuple(dict.fromkeys(each.label for each in ones)), tuple(dict.fromkeys(each.label for each in others))
    )
    sides = _placed(one.tokens, ones, {}), _placed(other.tokens, others, short)
    places = sorted({*sides[0], *sides[1]})
    notices = unmatched_labels((one.model, other.model), one.labels, tuple(spelling.values()))
    labels = [tuple(place[3] if place in side else "" for place in places) for side in sides]
    return comparison(
        "entities",
        (one.model, other.model),
        [_name(one.tokens, place) for place in places],
        [[side.get(place) for place in places] for side in sides],
        (number_of_entities(len(ones)), number_of_entities(len(others))),
        [*notices, *one.notices, *other.notices],
        each=(labels[0], labels[1]),
    )


def number_of_entities(count: int) -> str:
    """The count and its noun."""
    return f"{count:,} {'entity' if count == 1 else 'entities'}"


def _placed(tokens: Tokens, listed: tuple[Entity, ...], spelling: Mapping[str, str]) -> dict[Place, float]:
    """Place of each entity -> its score."""
    placed = {}
    for each in listed:
        if each.start is None or each.end is None:
            raise TextError(
                "The entities of two models are matched by their characters, and one of these tokenizers does not "
                "return the characters of its tokens; choose a model with a fast tokenizer."
            )
        part = text_of(tokens, each.sequence)[each.start : each.end]
        start = each.start + len(part) - len(part.lstrip())
        end = max(start, each.end - len(part) + len(part.rstrip()))
        placed[each.sequence, start, end, spelling.get(each.label, each.label)] = each.score
    return placed


def _name(tokens: Tokens, place: Place) -> str:
    """The characters of an entity, and where they are."""
    sequence, start, end, _ = place
    where = f"{start}:{end}" if tokens.pair is None else f"{('first', 'second')[sequence]} text, {start}:{end}"
    return f"{text_of(tokens, sequence)[start:end]} ({where})"
