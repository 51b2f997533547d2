"""Questions about what a head answers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from bertviz_core.errors import Named, TextError, UnsupportedModelError
from bertviz_core.figures.predictions.classes import ORDERS, ClassOrder
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS, predicted_answers
from bertviz_core.predictions.classes import class_predictions, entities, tag_predictions, term_ledger
from bertviz_core.predictions.masked_lm import logit_lens, predicted_words
from bertviz_core.predictions.results import (
    STRATEGIES,
    AnswerPrediction,
    ClassPrediction,
    LogitLens,
    PseudoLikelihood,
    Strategy,
    TagPrediction,
    TermLedger,
    TermWeights,
    WordPrediction,
)
from bertviz_core.predictions.run import HeadModel, stored_tasks
from bertviz_core.predictions.scoring import pseudo_likelihood
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.predictions.masked_lm import own_weights
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR, edited_texts, edited_tokens, tokens
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import Tokens

Prediction = (
    WordPrediction
    | PseudoLikelihood
    | LogitLens
    | TermWeights
    | TermLedger
    | ClassPrediction
    | TagPrediction
    | AnswerPrediction
)
"""Result of a head: one type for each task, and for each view of a masked-LM head."""
TextAndPair = tuple[str, str | None]
VIEWS = ("words", "surprise", "lens", "terms")
VIEW = choice("view", VIEWS, "what to compute with a masked-LM head")
TOP = Param("top", "whole", "words, terms or answers that are listed")
MASK = Param("mask", "text", "positions that are masked, with commas between them")
JOIN = Param("join", "choice", "how tagged tokens become entities, simple by default", STRATEGIES)
FEW, MOST = 5, 10**9


def predictions(opened: Opened, options: Options, texts: Sequence[TextAndPair]) -> list[Answer[Prediction]]:
    """Predict for each text or pair; classes and tags are computed in batches.

    `drawn` of each answer contains what the tokenizer decodes for its result: `spelled` words, `entities`.

    Args:
        options: task, view, top, mask, join.
        texts: texts and second texts; for question answering the question and its context.
    """
    view, strategy = chosen_view(options), chosen_join(options)
    head = fitting_head(opened, options)
    top, masked = options.whole(TOP.key, MOST, FEW), positions(options)
    if head.task == "question-answering":
        read_by = head, opened.tokenizer
        return [_of_spans(opened, predicted_answers(*read_by, text, pair or "", top)) for text, pair in texts]
    read = [opened.tokens(text, pair) for text, pair in texts]
    if head.task == "token-classification":
        tagged = zip(tag_predictions(head, read), read, strict=True)
        return [
            _answer(opened, each, tokens, entities=entities(each, opened.tokenizer, strategy))
            for each, tokens in tagged
        ]
    if head.task != "masked-lm":
        return [_answer(opened, *each) for each in zip(class_predictions(head, read), read, strict=True)]
    if view == "words":
        return [_words(opened, head, tokens, masked, top) for tokens in read]
    if view == "surprise":
        return [_answer(opened, pseudo_likelihood(head, opened.tokenizer, tokens), tokens) for tokens in read]
    if view == "lens":
        return [_lens(opened, head, tokens, masked, top) for tokens in read]
    return [_terms(opened, text, pair, top) for text, pair in texts]


def fitting_head(opened: Opened, options: Options) -> HeadModel:
    """The head of the task, if it supports the selected view."""
    view, head = chosen_view(options), opened.head(options.task)
    if view != "words" and head.task != "masked-lm":
        what = f" {view} asks for a masked-LM head; this one is for {head.task}."
        raise UnsupportedModelError(Named(VIEW.key), what)
    return head


def positions(options: Options) -> list[int]:
    """Parse the positions to mask."""
    mask = options.get(MASK.key)
    parts = [part.strip() for part in mask.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        what = f" {escape_controls(mask[:40])!r} is no list of positions; write such as 3,5."
        raise TextError(Named(MASK.key), what)
    return [int(part) for part in parts]


def chosen_view(options: Options) -> str:
    """The selected view of a masked-LM head."""
    view = options.get(VIEW.key, VIEWS[0])
    if view not in VIEWS:
        raise _unknown(VIEW, view)
    return view


def chosen_join(options: Options) -> Strategy:
    """The strategy to merge tagged tokens into entities."""
    value = options.get(JOIN.key, "simple")
    strategy = next((name for name in STRATEGIES if name == value), None)
    if strategy is None:
        raise _unknown(JOIN, value)
    return strategy


def _unknown(param: Param, value: str) -> TextError:
    what = f" {escape_controls(value[:20])!r}; choose {', '.join(param.options)}."
    return TextError("There is no ", Named(param.key), what)


def _answer(opened: Opened, result: Prediction, tokens: Tokens, **drawn: object) -> Answer[Prediction]:
    notices: tuple[str, ...] = getattr(result, "notices", ())
    return replace(answered(opened, result, notices, **drawn), texts=(tokens.text, tokens.pair))


def _words(opened: Opened, head: HeadModel, tokens: Tokens, masked: Sequence[int], top: int) -> Answer[Prediction]:
    words = predicted_words(head, opened.tokenizer, tokens, masked, top)
    return _answer(opened, words, tokens, spelled=[opened.tokenizer.spelled(ids) for ids in words.top_ids.tolist()])


def _lens(opened: Opened, head: HeadModel, tokens: Tokens, masked: Sequence[int], top: int) -> Answer[Prediction]:
    lens = logit_lens(head, opened.tokenizer, tokens, masked, top)
    spelled = [[opened.tokenizer.spelled(ids) for ids in layer] for layer in lens.top_ids.tolist()]
    return _answer(opened, lens, tokens, spelled=spelled)


def _terms(opened: Opened, text: str, pair: str | None, top: int) -> Answer[Prediction]:
    first = own_weights(opened, text)
    drawn: dict[str, Any] = {"spelled": opened.tokenizer.spelled(first.ids[:top].tolist())}
    if pair is None:
        return _answer(opened, first, first.tokens, **drawn)
    second = own_weights(opened, pair)
    ledger = term_ledger(first, second)
    drawn |= {"first": first, "second": second, "pair_spelled": opened.tokenizer.spelled(second.ids[:top].tolist())}
    drawn["shared_spelled"] = opened.tokenizer.spelled(ledger.ids[:top].tolist())
    answer: Answer[Prediction] = answered(opened, ledger, (*first.notices, *second.notices), **drawn)
    return replace(answer, texts=(first.tokens.text, second.tokens.text))


def _of_spans(opened: Opened, prediction: AnswerPrediction) -> Answer[Any]:
    texts = (prediction.question, prediction.context)
    return replace(answered(opened, prediction, prediction.notices), texts=texts)


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
    "head_of", "choice", "the task of the head", label="Head", values=lambda opened, _: stored_tasks(opened.source)
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
    answer = _task_heads_answers(opened, options, options.text(), options.pair)
    return answer.of(answer.result, answer_prediction=answer.result)


@question(figures=("answer-map",), params=(LONGEST, WINDOW))
def answer_map(opened: Opened, options: Options) -> Answer[AnswerPrediction]:
    """Scores of all spans in a part of the context, start by end."""
    answer = answers(opened, options.only(LONGEST, task=options.task))
    _, count, best = _windows(opened, options)
    window = max(options.whole(WINDOW.key, count + 1, best) - 1, 0)
    drawn = {"answer_window": window, "longest_answer": chosen_longest(options)}
    return answer.of(answer.result, answer_prediction=answer.result, **drawn)


@question(figures=("answers-change",), params=(LONGEST, EDITED, EDITED_PAIR))
def answers_change(opened: Opened, options: Options) -> Answer[tuple[AnswerPrediction, AnswerPrediction]]:
    """Answers before and after an edit."""
    first = _task_heads_answers(opened, options, options.text(), options.pair)
    second = _task_heads_answers(opened, options, *edited_texts(options))
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


def _task_heads_answers(opened: Opened, options: Options, text: str, context: str | None) -> Answer[AnswerPrediction]:
    head, longest = opened.head(options.task), chosen_longest(options)
    made: Answer[AnswerPrediction] = _of_spans(
        opened, predicted_answers(head, opened.tokenizer, text, context or "", max_answer_tokens=longest)
    )
    return made


def chosen_longest(options: Options) -> int:
    """The most tokens of an answer."""
    return options.whole(LONGEST.key, LONGEST_ANSWER + 1, MAX_ANSWER_TOKENS) or 1


def _both(first: Answer[T], second: Answer[T]) -> Answer[tuple[T, T]]:
    """Combine two answers about the same model."""
    notices = tuple(dict.fromkeys((*first.notices, *second.notices)))
    return Answer((first.result, second.result), first.models, (*first.texts, *second.texts), notices)
