"""What the view Answers over a list shows: scores, the curve over the threshold, the questions, and one of them."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from bertviz_core.errors import TextError
from bertviz_core.figures.predictions.answer_list import answer_frame, best_words, null_threshold_figure, squad_words
from bertviz_core.predictions.results import AnswerList
from bertviz_core.predictions.tables import squad_scores
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.predictions.answer_list import (
    NULL_THRESHOLD,
    gold_cell,
    listed_answers,
    listed_options,
    scored_answers,
)
from bertviz_core.questions.predictions.predict import LONGEST
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.view import (
    Ask,
    Button,
    Figure,
    Link,
    Metric,
    Metrics,
    Notices,
    Part,
    Row,
    Section,
    Table,
    TableFiles,
    Text,
)
from bertviz_core.questions.views.answered import open_text
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.text import counted, decimals, escape_markdown, quoted

TITLE = "Answers over a list"
EXAMPLE, TYPED, FILE = SOURCES = ("an example", "my own list", "file")
ASKED_FROM = choice("asked_from", SOURCES, "where the questions come from", "Questions")
TYPED_QUESTIONS = Param(
    "asked", "text", "questions, one on each line: question, tab, context, and after a tab the gold answer"
)
ASKED_OPENED = Param("asked_opened", "position", "the open question of the list, from 1", label="Open question")
NO_QUESTIONS = (
    "Under **Questions**, write a question, a tab and its context on each line, and after a second tab the gold answer "
    "(several with | between them, nothing for none), or choose a file."
)
EXPLANATION = (
    "The score of a span is its start logit plus its end logit, the *null score* that of the first token, of a long "
    "context the least of all windows; both are those of **Answers**. A question whose null score exceeds the score of "
    "its best span by more than the threshold is said to have no answer, which counts where the model was trained with "
    "questions that have none (SQuAD 2; Rajpurkar et al. 2018). *Exact match* compares the answer with the gold "
    "answers without capitals, punctuation, articles and further spaces; *F1* is that of the words that both share, "
    "with the nearest gold answer. A question without gold answers scores 1 for no answer and 0 otherwise. The best "
    "threshold is chosen and measured on the same questions, so other questions score lower with it; the band is "
    "Wilson's 95% interval of the exact match."
)


class AskedRows(NamedTuple):
    """Questions with their contexts and, if there are any, their gold answers."""

    questions: tuple[str, ...]
    contexts: tuple[str, ...]
    gold: tuple[str, ...] | None


def typed_questions(table: SentenceTable) -> AskedRows:
    """Parse lines of the form question, tab, context, and if any line has one, a tab and its gold answers."""
    rows = [line.split("\t") for line in table.sentences]
    for number, row in zip(table.rows.tolist(), rows, strict=True):
        if len(row) not in (2, 3):
            line = quoted("\t".join(row), 60)
            raise TextError(
                f"Line {number} has {counted(len(row) - 1, 'tab')}: {line}. Write the question, a tab, its context, "
                "and if you like a tab and the gold answer."
            )
    cells = [gold_cell([part.strip() for part in row[2].split("|")]) if row[2:] else "" for row in rows]
    gold = tuple(cells) if any(len(row) == 3 for row in rows) else None
    return AskedRows(tuple(row[0] for row in rows), tuple(row[1] for row in rows), gold)


def asked_parts(of: Options, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The scores of the listed questions, with the threshold as a control."""
    of = replace(of, values={**of.values, LONGEST.key: options.get(LONGEST.key)})
    known = ask(listed_answers, listed_options(of))
    yield Notices([each for each in known.notices if each not in opened.head(of.task).notices], "caption")
    yield Section((NULL_THRESHOLD,), partial(_scored, of))


def _scored(of: Options, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    if typed := options.get(NULL_THRESHOLD.key):
        of = replace(of, values={**of.values, NULL_THRESHOLD.key: typed})
    answer = ask(scored_answers, of)
    result, scores = answer.result, squad_scores(answer.result)
    if scores:
        yield Metrics(
            [
                Metric(what, f"{scores[f'{key}exact']:.1%} / {scores[f'{key}f1']:.1%}", "Exact match / F1.")
                for key, what in (("", "All"), ("HasAns_", "With an answer"), ("NoAns_", "Without an answer"))
                if f"{key}total" in scores
            ]
        )
    if result.curve is not None:
        yield Text(escape_markdown(best_words(result)))
        best = [(what, scores[f"best_{key}_thresh"]) for key, what in (("exact", "exact match"), ("f1", "F1"))]
        yield Row(
            [
                Button(f"Take {decimals(at, 3)}, best {what}", f"best_{what}", {NULL_THRESHOLD.key: repr(at)})
                for what, at in best
                if at is not None
            ]
        )
        name = f"null threshold {opened.name}"
        yield Figure.of(null_threshold_figure, answer, name, **explained(EXPLANATION, scored_answers, opened, of))
    elif scores:
        yield Text(escape_markdown(squad_words(result)))
    else:
        yield Text("Gold answers beside the questions give exact match, F1 and the best threshold.", "caption")
    frame = answer_frame(result)
    formats = dict.fromkeys(("logit", "null logit", "null difference", "F1"), "%.3f") | {"exact match": "%.0f"}
    yield Table(frame, "The questions with their answers", formats=formats, key="asked_table",
                opens=ASKED_OPENED.key)  # fmt: skip
    yield TableFiles(lambda: frame, "predictions_answer_list", f"answers {opened.name}")
    opens = replace(ASKED_OPENED, bounds=lambda *_: (1, len(frame), 1))
    yield Section((opens,), partial(_question, result))


def _question(result: AnswerList, opened: Opened, _: Any, options: Options) -> Iterator[Part]:
    """One question with its context, its best span and what else was expected."""
    at = int(options.get(ASKED_OPENED.key)) - 1
    question, context, span = result.questions[at], result.contexts[at], result.spans[at]
    words = [f"best span **{escape_markdown(span.text)}** ({decimals(span.logit, 3)})"]
    if result.null_logits is not None:
        words.append(f"null score {decimals(float(result.null_logits[at]), 3)}")
    words.append("answered" if result.answered[at] else "no answer")
    if result.gold is not None:
        expected = ", ".join(map(escape_markdown, result.gold[at])) or "none"
        words.append(f"gold answers: **{expected}**")
    link = {"model": opened.name, "text": question, "pair": context, "view": "Answers"}
    links = [Link.to("Open in Answers", "predictions", link)]
    yield from open_text(question, context, ", ".join(words), "predictions_asked_open", links)
