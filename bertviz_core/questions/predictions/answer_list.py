"""The questions what a model answers to a list of questions, and from which null score on it should answer none."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from bertviz_core.errors import Named, TextError
from bertviz_core.predictions.answer_scores import EXAMPLES, answer_list
from bertviz_core.predictions.probing.calibration import MOST_TEXTS, sampled
from bertviz_core.predictions.results import AnswerList
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.predictions.labelled_texts import PAIRED
from bertviz_core.questions.predictions.predict import LONGEST, chosen_longest
from bertviz_core.questions.predictions.two_models import WITH_GOLD, TextColumns, answered_columns, labelled_columns
from bertviz_core.questions.question import Answer, AnswerCost, Job, long_question, question
from bertviz_core.resources import retained_nbytes
from bertviz_core.text import counted, quoted

TASK = "question-answering"
NULL_THRESHOLD = Param(
    "null_threshold",
    "text",
    "the null score minus that of the best span above which a question has no answer; 0 by default",
    label="No answer above",
)
QUESTION_COLUMN, CONTEXT_COLUMNS = "question", ("context", "passage", "paragraph", "document")
ANSWER_COLUMNS = ("answers", "answer", "gold", "label")
"""Default names of columns, in order of preference."""
ROWS = (LONGEST, PAIRED, WITH_GOLD)


def answer_options(
    questions: Sequence[str], contexts: Sequence[str], gold: Sequence[str] | None = None, **values: str
) -> Options:
    """Options for questions with contexts and gold answers; further values by their keys, "" for the default."""
    options = labelled_columns(questions, gold, contexts, TASK)
    return replace(options, values={**options.values, **{key: value for key, value in values.items() if value}})


def gold_cell(gold: str | Sequence[str]) -> str:
    """The gold answers to a question as `gold_answers` reads them: one, several, or "" or () for none."""
    answers = [gold] if isinstance(gold, str) else list(gold)
    return json.dumps(answers, ensure_ascii=False) if any(answers) else ""


def _rows(opened: Opened, options: Options) -> tuple[TextColumns, list[int] | None]:
    """The questions with contexts and gold answers, and the places of a sample of a long list."""
    if not options.texts:
        questions, contexts, gold = zip(*EXAMPLES, strict=True)
        return TextColumns(questions, contexts, gold, None), None
    rows = answered_columns(options, opened.source.config)
    if rows.pairs is None:
        raise TextError("Every question needs a context; give one after each question, or one for all with ",
                        Named("pair"), ".")  # fmt: skip
    places = sampled(len(rows.texts))
    columns = [each if each is None or places is None else tuple(each[at] for at in places) for each in rows[:3]]
    return TextColumns(columns[0] or (), columns[1], columns[2], None), places


def _cost(opened: Opened, options: Options) -> AnswerCost:
    opened.head(TASK)  # load before the work begins
    return AnswerCost(len(_rows(opened, options)[0].texts), nbytes=retained_nbytes(options.texts))


@long_question(_cost, params=ROWS, noun="questions")
def listed_answers(opened: Opened, options: Options, job: Job[AnswerList]) -> Answer[AnswerList]:
    """The best span, the null score and the scores of every question of a list, the example list by default."""
    rows, places = _rows(opened, options)
    head, longest = opened.head(TASK), chosen_longest(options)
    result = answer_list(head, opened.tokenizer, rows.texts, rows.pairs or (), rows.gold, longest, job)
    if places is not None:
        of = counted(len(options.texts) // (2 + (rows.gold is not None)), "question")
        notice = f"A random sample of {MOST_TEXTS:,} of {of} is answered (seed 0)."
        listed = result.rows.tolist()
        result = replace(
            result, rows=result.rows * 0 + [places[at - 1] + 1 for at in listed], notices=(notice, *result.notices)
        )
    return replace(answered(opened, result, result.notices), texts=rows.texts)


@question(figures=("null-threshold",), params=(NULL_THRESHOLD, *ROWS))
def scored_answers(opened: Opened, options: Options) -> Answer[AnswerList]:
    """The answers to a list of questions at a threshold of the null score, of the example list by default."""
    threshold = _threshold(options)
    known = listed_answers(opened, listed_options(options))
    result = replace(known.result, threshold=threshold)
    return known.of(result, answer_list=result)


def listed_options(options: Options) -> Options:
    """Of these options those of the answers, which are kept for every threshold."""
    return replace(options.only(*ROWS, task=TASK), pair=options.pair)


def _threshold(options: Options) -> float:
    typed = options.get(NULL_THRESHOLD.key, "0").strip().replace("\N{MINUS SIGN}", "-")
    try:
        value = float(typed)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        what = f"={quoted(typed, 20)} here; give a number, such as 0 or -1.5."
        raise TextError("There is no ", Named(NULL_THRESHOLD.key), what)
    return value
