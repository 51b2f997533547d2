"""What heads that label say, kept by plain values: model, revision, texts, options."""

from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.classes import class_predictions
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.results import (
    AnswerPrediction,
    ClassPrediction,
    Entity,
    Strategy,
    TagPrediction,
    WordShift,
)
from bertviz_core.predictions.tags import entities, tag_predictions
from bertviz_core.predictions.words import word_shift
from ui.cache import models
from ui.cache.decorator import cached_by_bytes
from ui.cache.sources import SourceKey, source_key

ASKING = "Asking the head"
TOP = 5
"""Answers that are listed."""


def classes(name: str, task: str, text: str, pair: str | None) -> ClassPrediction:
    """The classes of a text or a pair, by the head of a task."""
    return _classes(source_key(name), task, text, pair, models.with_head(name, task))


def tags(name: str, text: str, pair: str | None) -> TagPrediction:
    """The tags of a text or a pair."""
    return _tags(source_key(name), text, pair, models.with_head(name, "token-classification"))


def tag_entities(name: str, text: str, pair: str | None, strategy: Strategy) -> tuple[Entity, ...]:
    """The tagged stretches of a text or a pair."""
    return entities(tags(name, text, pair), models.tokenizer(name), strategy)


def answers(name: str, question: str, context: str, longest: int) -> AnswerPrediction:
    """The best answers to a question in a context."""
    head = models.with_head(name, "question-answering")
    return _answers(source_key(name), question, context, longest, head)


def shift(name: str, texts: tuple[str, str | None], edited: tuple[str, str | None], position: int) -> WordShift:
    """The words at a masked position of a text and of its edited version."""
    return _shift(source_key(name), *texts, *edited, position, models.with_head(name, "masked-lm"))


def head_notices(name: str, task: str) -> tuple[str, ...]:
    """What the page says of a head above all views."""
    return models.with_head(name, task).notices


@cached_by_bytes(ASKING)
def _classes(key: SourceKey, task: str, text: str, pair: str | None, _head: HeadModel) -> ClassPrediction:
    return class_predictions(_head, [models.tokens(key.name, text, pair)])[0]


@cached_by_bytes(ASKING)
def _tags(key: SourceKey, text: str, pair: str | None, _head: HeadModel) -> TagPrediction:
    return tag_predictions(_head, [models.tokens(key.name, text, pair)])[0]


@cached_by_bytes(ASKING)
def _answers(key: SourceKey, question: str, context: str, longest: int, _head: HeadModel) -> AnswerPrediction:
    return predicted_answers(_head, models.tokenizer(key.name), question, context, TOP, longest)


@cached_by_bytes(ASKING)
def _shift(
    key: SourceKey,
    text: str,
    pair: str | None,
    edited: str,
    edited_pair: str | None,
    position: int,
    _head: HeadModel,
) -> WordShift:
    first, second = (models.tokens(key.name, *each) for each in ((text, pair), (edited, edited_pair)))
    return word_shift(_head, models.tokenizer(key.name), first, second, position)
