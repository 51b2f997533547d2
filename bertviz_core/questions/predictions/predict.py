"""What `predict` answers: the predictions of a task head for one or many texts."""

from collections.abc import Sequence
from typing import Any

from bertviz_core.errors import Named, TextError, UnsupportedModelError
from bertviz_core.predictions.answers import predicted_answers
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
from bertviz_core.predictions.run import HeadModel
from bertviz_core.predictions.scoring import pseudo_likelihood
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.predictions.masked_lm import own_weights
from bertviz_core.questions.question import Answer
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
"""A text, and its second text or None."""
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
        opened: the model.
        options: task, view, top, mask, join.
        texts: texts and second texts; for question answering the question and its context.

    Raises:
        TextError: a view, join, position or number is invalid, or a text has too many characters.
        UnsupportedModelError: the head does not support the view.
    """
    view, strategy = chosen_view(options), chosen_join(options)
    head = fitting_head(opened, options)
    top, masked = options.whole(TOP.key, MOST, FEW), positions(options)
    if head.task == "question-answering":
        return [_answers(opened, head, text, pair, top) for text, pair in texts]
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
    return [_terms(opened, head, text, pair, top) for text, pair in texts]


def fitting_head(opened: Opened, options: Options) -> HeadModel:
    """The head of the task, if it supports the selected view.

    Raises:
        UnsupportedModelError: the head does not support the view.
        BertvizError: the checkpoint has no such head.
    """
    view, head = chosen_view(options), opened.head(options.task)
    if view != "words" and head.task != "masked-lm":
        what = f" {view} asks for a masked-LM head; this one is for {head.task}."
        raise UnsupportedModelError(Named(VIEW.key), what)
    return head


def positions(options: Options) -> list[int]:
    """Parse the positions to mask.

    Raises:
        TextError: they are not comma-separated integers.
    """
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
    """The answer for one text."""
    notices: tuple[str, ...] = getattr(result, "notices", ())
    models = ((opened.source.name, opened.source.revision),)
    return Answer(result, models, (tokens.text, tokens.pair), notices, drawn)


def _words(opened: Opened, head: HeadModel, tokens: Tokens, masked: Sequence[int], top: int) -> Answer[Prediction]:
    words = predicted_words(head, opened.tokenizer, tokens, masked, top)
    return _answer(opened, words, tokens, spelled=[opened.tokenizer.spelled(ids) for ids in words.top_ids.tolist()])


def _lens(opened: Opened, head: HeadModel, tokens: Tokens, masked: Sequence[int], top: int) -> Answer[Prediction]:
    lens = logit_lens(head, opened.tokenizer, tokens, masked, top)
    spelled = [[opened.tokenizer.spelled(ids) for ids in layer] for layer in lens.top_ids.tolist()]
    return _answer(opened, lens, tokens, spelled=spelled)


def _terms(opened: Opened, head: HeadModel, text: str, pair: str | None, top: int) -> Answer[Prediction]:
    first = own_weights(opened, head, opened.tokens(text, None))
    drawn: dict[str, Any] = {"spelled": opened.tokenizer.spelled(first.ids[:top].tolist())}
    if pair is None:
        return _answer(opened, first, first.tokens, **drawn)
    second = own_weights(opened, head, opened.tokens(pair, None))
    ledger = term_ledger(first, second)
    drawn |= {"first": first, "second": second, "pair_spelled": opened.tokenizer.spelled(second.ids[:top].tolist())}
    drawn["shared_spelled"] = opened.tokenizer.spelled(ledger.ids[:top].tolist())
    models, texts = ((opened.source.name, opened.source.revision),), (first.tokens.text, second.tokens.text)
    return Answer(ledger, models, texts, (*first.notices, *second.notices), drawn)


def _answers(opened: Opened, head: HeadModel, text: str, pair: str | None, top: int) -> Answer[Prediction]:
    prediction = predicted_answers(head, opened.tokenizer, text, pair or "", top)
    models, texts = ((opened.source.name, opened.source.revision),), (prediction.question, prediction.context)
    return Answer(prediction, models, texts, prediction.notices)
