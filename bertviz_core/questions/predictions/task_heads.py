"""The questions of the views of task heads: classes, tags and answers for a text, and for its edited version."""

from typing import TypeVar

from bertviz_core.figures.predictions.classes import ORDERS, ClassOrder
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS, predicted_answers
from bertviz_core.predictions.classes import class_predictions, entities, tag_predictions
from bertviz_core.predictions.results import STRATEGIES, AnswerPrediction, ClassPrediction, Strategy, TagPrediction
from bertviz_core.predictions.run import stored_tasks
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR, edited_texts, edited_tokens, tokens
from bertviz_core.trace.results import Tokens

T = TypeVar("T")
LONGEST_ANSWER = 100
"""Maximum number of tokens of an answer that can be selected."""
JOINS: tuple[Strategy, ...] = ("simple", *(each for each in STRATEGIES if each != "simple"))
ORDER = choice("order", ORDERS, "whether the largest class is listed first", "Order")
JOINED = choice("joined", JOINS, "how tagged tokens become entities", "Join pieces by")
LONGEST = Param(
    "longest",
    "whole",
    "most tokens of an answer",
    label="Longest answer in tokens",
    bounds=lambda *_: (1, LONGEST_ANSWER, MAX_ANSWER_TOKENS),
)
WINDOW = Param(
    "window",
    "whole",
    "part of a long context, from 1, that of the best answer by default",
    label="Window of the context",
    bounds=lambda opened, options: _windows(opened, options),
)
HEAD_OF = Param(
    "head_of",
    "choice",
    "the task of the head",
    label="Head",
    values=lambda opened, _: stored_tasks(opened.source),
)


@question(figures=("classes",), params=(ORDER,))
def classes(opened: Opened, options: Options) -> Answer[ClassPrediction]:
    """Class probabilities of a text or pair."""
    answer = _classes(opened, options, tokens(opened, options))
    order: ClassOrder = options.choice(ORDER, ORDERS)
    return answer.of(answer.result, class_prediction=answer.result, class_order=order)


@question(figures=("next-sentence",))
def next_sentence(opened: Opened, options: Options) -> Answer[ClassPrediction]:
    """Whether the second text follows the first."""
    answer = _classes(opened, options, tokens(opened, options))
    return answer.of(answer.result, class_prediction=answer.result)


@question(figures=("classes-change",), params=(EDITED, EDITED_PAIR))
def classes_change(opened: Opened, options: Options) -> Answer[tuple[ClassPrediction, ClassPrediction]]:
    """Class probabilities before and after an edit."""
    first = _classes(opened, options, tokens(opened, options))
    second = _classes(opened, options, edited_tokens(opened, options))
    both = _both(first, second)
    return both.of(both.result, class_prediction=first.result, edited_classes=second.result)


@question()
def tagged_tokens(opened: Opened, options: Options) -> Answer[TagPrediction]:
    """Tags of the tokens of a text."""
    read = tokens(opened, options)
    (prediction,) = tag_predictions(opened.head(options.task), [read.result])
    return read.of(prediction, prediction.notices)


@question(figures=("tags",), params=(JOINED,))
def tags(opened: Opened, options: Options) -> Answer[TagPrediction]:
    """Tags and entities of a text."""
    answer, strategy = _tags(opened, options, options.text(), options.pair), options.choice(JOINED, JOINS)
    listed = entities(answer.result, opened.tokenizer, strategy)
    return answer.of(answer.result, tag_prediction=answer.result, tag_entities=listed, tag_strategy=strategy)


@question(figures=("tags-change",), params=(JOINED, EDITED, EDITED_PAIR))
def tags_change(opened: Opened, options: Options) -> Answer[tuple[TagPrediction, TagPrediction]]:
    """Tags and entities before and after an edit."""
    strategy = options.choice(JOINED, JOINS)
    first = _tags(opened, options, options.text(), options.pair)
    second = _tags(opened, options, *edited_texts(options))
    listed, edited = (entities(each.result, opened.tokenizer, strategy) for each in (first, second))
    both, drawn = _both(first, second), {"tag_prediction": first.result, "edited_tags": second.result}
    return both.of(both.result, tag_entities=listed, edited_entities=edited, **drawn)


@question(figures=("answers",), params=(LONGEST,))
def answers(opened: Opened, options: Options) -> Answer[AnswerPrediction]:
    """Answers to a question (the text) in a context (its pair)."""
    answer = _answers(opened, options, options.text(), options.pair)
    return answer.of(answer.result, answer_prediction=answer.result)


@question(figures=("answer-map",), params=(LONGEST, WINDOW))
def answer_map(opened: Opened, options: Options) -> Answer[AnswerPrediction]:
    """Scores of all spans in a part of the context, start by end."""
    answer = answers(opened, options.only(LONGEST, task=options.task))
    _, count, best = _windows(opened, options)
    window = max(options.whole(WINDOW.key, count + 1, best) - 1, 0)
    drawn = {"answer_window": window, "longest_answer": _longest(options)}
    return answer.of(answer.result, answer_prediction=answer.result, **drawn)


@question(figures=("answers-change",), params=(LONGEST, EDITED, EDITED_PAIR))
def answers_change(opened: Opened, options: Options) -> Answer[tuple[AnswerPrediction, AnswerPrediction]]:
    """Answers before and after an edit."""
    first = _answers(opened, options, options.text(), options.pair)
    second = _answers(opened, options, *edited_texts(options))
    both = _both(first, second)
    return both.of(both.result, answer_prediction=first.result, edited_answers=second.result)


def _windows(opened: Opened, options: Options) -> tuple[int, int, int]:
    prediction = answers(opened, options.only(LONGEST, task=options.task)).result
    return 1, len(prediction.windows), prediction.answers[0].window + 1


def _classes(opened: Opened, options: Options, read: Answer[Tokens]) -> Answer[ClassPrediction]:
    key = (__name__, "class_prediction", options.task, read.result.text, read.result.pair)
    head = opened.head(options.task)
    prediction = opened.get_or_compute(key, lambda: class_predictions(head, [read.result])[0])
    return read.of(prediction, prediction.notices)


def _tags(opened: Opened, options: Options, text: str, pair: str | None) -> Answer[TagPrediction]:
    return tagged_tokens(opened, Options((text,), pair, options.task))


def _answers(opened: Opened, options: Options, text: str, context: str | None) -> Answer[AnswerPrediction]:
    head, longest = opened.head(options.task), _longest(options)
    prediction = predicted_answers(head, opened.tokenizer, text, context or "", max_answer_tokens=longest)
    texts = (prediction.question, prediction.context)
    return Answer(prediction, ((opened.source.name, opened.source.revision),), texts, prediction.notices)


def _longest(options: Options) -> int:
    return options.whole(LONGEST.key, LONGEST_ANSWER + 1, MAX_ANSWER_TOKENS) or 1


def _both(first: Answer[T], second: Answer[T]) -> Answer[tuple[T, T]]:
    """Combine two answers about the same model."""
    notices = tuple(dict.fromkeys((*first.notices, *second.notices)))
    return Answer((first.result, second.result), first.models, (*first.texts, *second.texts), notices)
