"""Compare the entities that two taggers find in one text, matched by their characters and labels."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.comparison import label_spelling, unmatched_labels
from bertviz_core.predictions.results import Entity, TagPrediction
from bertviz_core.predictions.two_models.comparison import comparison_notices
from bertviz_core.predictions.two_models.results import PredictionComparison
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.two_tokenizers import text_of

Found = tuple[TagPrediction, tuple[Entity, ...]]
"""The tags of a model, and the entities that they form."""
Place = tuple[int, int, int, str]
"""Sequence, first character and end of an entity without white space around it, and its label."""


def compared_entities(first: Found, second: Found) -> PredictionComparison:
    """Entities that both models find, and those that only one finds, in the order of the text.

    Two entities are the same if they cover the same characters and have the same label, regardless of case where that
    is unambiguous. The number of a row is the entity's score in each model, NaN where a model does not find it.

    Args:
        first: tags and entities of the first model.
        second: tags and entities of the second model for the same text, joined by the same strategy.

    Raises:
        TextError: a tokenizer does not return the characters of its tokens.
    """
    (one, ones), (other, others) = first, second
    spelling = label_spelling(one.labels, other.labels)
    short = label_spelling(
        tuple(dict.fromkeys(each.label for each in ones)), tuple(dict.fromkeys(each.label for each in others))
    )
    sides = _placed(one.tokens, ones, {}), _placed(other.tokens, others, short)
    places = sorted({*sides[0], *sides[1]})
    notices = unmatched_labels((one.model, other.model), one.labels, tuple(spelling.values()))
    return PredictionComparison(
        first=one.model,
        second=other.model,
        kind="entities",
        unit="probability",
        where="",
        names=tuple(_name(one.tokens, place) for place in places),
        first_answers=tuple(place[3] if place in sides[0] else "" for place in places),
        second_answers=tuple(place[3] if place in sides[1] else "" for place in places),
        first_numbers=_numbers(sides[0], places),
        second_numbers=_numbers(sides[1], places),
        answers=(number_of_entities(len(ones)), number_of_entities(len(others))),
        notices=comparison_notices(one.model, other.model, [*notices, *one.notices, *other.notices]),
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


def _numbers(scores: Mapping[Place, float], places: list[Place]) -> Float[np.ndarray, " rows"]:
    array = np.array([scores.get(place, np.nan) for place in places], dtype=np.float32)
    array.setflags(write=False)
    return array
