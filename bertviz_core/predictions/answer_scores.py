"""Answers to a list of questions, scored as the evaluation script of SQuAD 2 does (Rajpurkar et al. 2018)."""

import json
import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from bertviz_core.errors import Progress, TextError, no_progress
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS, predicted_answers
from bertviz_core.predictions.results import AnswerList, AnswerPrediction, NullCurve
from bertviz_core.predictions.run import HeadModel
from bertviz_core.sentences.analysis.thresholds import wilson_interval
from bertviz_core.text import counted, quoted
from bertviz_core.trace.tokenization import TextTokenizer

PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")
GARDEN = (
    "The Linden Garden was laid out in 1874 by Clara Holm, a botanist from Bergen. It has 312 kinds of trees and two "
    "glasshouses. The larger glasshouse burned down in 1931 and was rebuilt three years later. Entry is free on "
    "Sundays."
)
FERRY = (
    "The ferry Aurora crosses the bay in forty minutes and carries 80 cars. It leaves every two hours, the last time "
    "at nine in the evening. In storms the bus takes over, by the long road around the bay."
)
EXAMPLES = (
    ("Who laid out the Linden Garden?", GARDEN, '["Clara Holm", "Clara Holm, a botanist from Bergen"]'),
    ("When was the Linden Garden laid out?", GARDEN, "1874"),
    ("How many kinds of trees does the garden have?", GARDEN, "312"),
    ("What burned down in 1931?", GARDEN, '["The larger glasshouse", "glasshouse"]'),
    ("On which day is entry free?", GARDEN, '["Sundays", "on Sundays"]'),
    ("How much does a ticket for the garden cost?", GARDEN, ""),
    ("Who rebuilt the glasshouse?", GARDEN, ""),
    ("In which year did Clara Holm die?", GARDEN, ""),
    ("How long does the crossing take?", FERRY, '["forty minutes", "in forty minutes"]'),
    ("How many cars does the ferry carry?", FERRY, '["80", "80 cars"]'),
    ("What takes over in storms?", FERRY, '["the bus", "bus"]'),
    ("What is the name of the ferry?", FERRY, "Aurora"),
    ("Who is the captain of the Aurora?", FERRY, ""),
    ("When was the ferry built?", FERRY, ""),
    ("What does the bus cost?", FERRY, ""),
    ("How deep is the bay?", FERRY, ""),
)
"""Questions with contexts and gold answers, written for this project; seven of them have no answer there."""


def normalized(text: str) -> str:
    """A text in lower case without punctuation, articles and further white space, as the script compares answers."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def token_f1(gold: str, answer: str) -> float:
    """F1 of the words that two answers share; 1 where neither has a word."""
    expected, words = normalized(gold).split(), normalized(answer).split()
    shared = (Counter(expected) & Counter(words)).total()
    if not expected or not words:
        return float(expected == words)
    return 2 * shared / (len(expected) + len(words))


def best_scores(gold: Sequence[str], answer: str) -> tuple[bool, float]:
    """Exact match and F1 with the nearest gold answer; without one with "", the answer that there is none."""
    expected = [each for each in gold if normalized(each)] or [""]
    return (
        any(normalized(each) == normalized(answer) for each in expected),
        max(token_f1(each, answer) for each in expected),
    )


def gold_answers(cell: str) -> tuple[str, ...]:
    """The gold answers in a cell: one, a JSON list, or JSON as SQuAD has it; () for a question without an answer."""
    if not cell.strip():
        return ()
    try:
        return _texts(json.loads(cell)) if cell.lstrip()[0] in "[{" else (cell,)
    except (ValueError, RecursionError):
        return (cell,)


def _texts(value: Any) -> tuple[str, ...]:
    """Texts of a list, or under the name "text"; raises ValueError for anything else."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, dict) and "text" in value:
        return _texts(value["text"])
    if isinstance(value, list):
        return tuple(text for each in value for text in _texts(each))
    raise ValueError("no text")


def null_curve(
    difference: Float[np.ndarray, " questions"],
    has_answer: Bool[np.ndarray, " questions"],
    exact: Bool[np.ndarray, " questions"],
    f1: Float[np.ndarray, " questions"],
) -> NullCurve:
    """Scores of every threshold that divides the questions otherwise than its neighbours.

    Args:
        difference: null score minus score of the best span of each question.
        has_answer: whether each question has an answer in its context.
        exact: whether each best span equals a gold answer.
        f1: F1 of each best span.
    """
    thresholds, places = np.unique(difference, return_inverse=True)

    def totals(scores: np.ndarray) -> np.ndarray:
        gains = np.bincount(places, weights=scores - ~has_answer)
        sums: np.ndarray = np.concatenate(([0.0], gains.cumsum())) + (~has_answer).sum()
        return sums

    matches = totals(exact.astype(np.float64)).round().astype(np.int64)
    return NullCurve(
        thresholds=np.concatenate(([-np.inf], thresholds)),
        exact=matches / len(difference),
        f1=totals(f1) / len(difference),
        exact_interval=wilson_interval(matches, len(difference)),
    )


def answer_list(
    head: HeadModel,
    tokenizer: TextTokenizer,
    questions: Sequence[str],
    contexts: Sequence[str],
    gold: Sequence[str] | None = None,
    longest: int = MAX_ANSWER_TOKENS,
    progress: Progress = no_progress,
) -> AnswerList:
    """The best span of each question in its context, its null score, and with gold answers the scores of both.

    Questions that cannot be read with their context are left out; a notice counts them.
    """
    read, refused = {}, []
    for at, (question, context) in enumerate(zip(questions, contexts, strict=True)):
        try:
            read[at] = predicted_answers(head, tokenizer, question, context, 1, longest)
        except TextError as error:
            refused.append((at, error))
        progress(at + 1, len(questions))
    if not read:
        raise refused[0][1] if refused else TextError("There is no question; give at least one with its context.")
    notices = [*head.notices]
    if refused:
        row, why = refused[0]
        notices.append(f"{counted(len(refused), 'question')} left out, the first in row {row + 1:,}: {why}")
    answers = list(read.values())
    if long := sum(len(each.windows) > 1 for each in answers):
        most = max(len(each.windows) for each in answers)
        notices.append(
            f"{counted(long, 'context')} longer than the model reads at once: up to {counted(most, 'window')} of one."
        )
    expected = None if gold is None else tuple(gold_answers(gold[at]) for at in read)
    notices += [] if expected is None else _about_gold(answers, expected)
    return _scored(head.name, list(read), answers, expected, notices)


def _about_gold(answers: Sequence[AnswerPrediction], gold: Sequence[Sequence[str]]) -> list[str]:
    """A sentence on gold answers that are not in their context."""
    pairs = zip(answers, gold, strict=True)
    outside = [(each.question, text) for each, texts in pairs for text in texts if text not in each.context]
    if not outside:
        return []
    question, text = outside[0]
    return [
        f"{counted(len(outside), 'gold answer')} not in the context as written, such as {quoted(text, 40)} to "
        f"{quoted(question, 60)}; only the other gold answers of such a question can be matched exactly."
    ]


def _scored(
    name: str,
    rows: Sequence[int],
    answers: Sequence[AnswerPrediction],
    gold: tuple[tuple[str, ...], ...] | None,
    notices: Sequence[str],
) -> AnswerList:
    nulls = [each.null_logit for each in answers if each.null_logit is not None]
    null_logits = np.array(nulls) if len(nulls) == len(answers) else None
    spans = tuple(each.answers[0] for each in answers)
    exact = f1 = curve = None
    if gold is not None:
        pairs = [best_scores(texts, span.text) for texts, span in zip(gold, spans, strict=True)]
        exact, f1 = np.array([each[0] for each in pairs]), np.array([each[1] for each in pairs])
    if null_logits is None:
        notices = [*notices, answers[0].null_words()]
    elif exact is not None and f1 is not None:
        difference = null_logits - np.array([span.logit for span in spans])
        curve = null_curve(difference, np.array([bool(texts) for texts in gold or ()]), exact, f1)
    return AnswerList(
        model=name,
        rows=np.array(rows) + 1,
        questions=tuple(each.question for each in answers),
        contexts=tuple(each.context for each in answers),
        gold=gold,
        spans=spans,
        null_logits=null_logits,
        exact=exact,
        f1=f1,
        curve=curve,
        notices=tuple(dict.fromkeys(notices)),
    )
