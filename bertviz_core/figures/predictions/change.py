"""Draw how an edit of the text changes a prediction: classes, words, entities, answers."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, Theme, escape, layout
from bertviz_core.figures.predictions.answers import answer_frame, answer_text, listed_answers, question_line
from bertviz_core.figures.predictions.classes import (
    AROUND,
    MOST,
    add_lying_bars,
    class_numbers,
    class_words,
    name_bars,
    number_words,
)
from bertviz_core.figures.predictions.marked_text import marked_text
from bertviz_core.figures.predictions.tags import entity_frame, listed_entities, tagged_parts
from bertviz_core.predictions.results import (
    AnswerPrediction,
    ClassPrediction,
    Entity,
    Scoring,
    TagPrediction,
    WordShift,
)
from bertviz_core.text import decimals, shortened

BEFORE, AFTER = "The text", "Edited"
PAIR_ROW, ONE_ROW, LEGEND = 52, 34, 30
"""Pixels: height of two bars, of one bar, and of the legend."""
ROUNDING = 1e-7
"""Rounding error of probabilities: float32 has 24 binary digits."""
LONGEST = 24
"""Most characters of a token in a title."""


def paired_bars(
    names: list[str],
    before: Float[np.ndarray, " rows"],
    after: Float[np.ndarray, " rows"],
    scoring: Scoring,
    title: str,
    whole: bool,
    theme: Theme,
) -> go.Figure:
    """Draw two bars per name, for the text and its edited version, with the difference; one bar if all are equal.

    Without differences, rows are sorted by descending number, else they keep their order.

    Args:
        names: labels of the rows, from top to bottom.
        before: numbers of the text.
        after: numbers of the edited text.
        scoring: meaning of the numbers.
        title: title of the figure.
        whole: whether the axis of probabilities extends to 1.
        theme: theme of the figure.
    """
    edited = not np.array_equal(before, after)
    if not edited:
        order = np.argsort(-before, kind="stable")
        names, before = [names[row] for row in order.tolist()], before[order]
    height = AROUND + (LEGEND + PAIR_ROW * len(names) if edited else ONE_ROW * len(names))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    old = [number_words(value, scoring) for value in before.tolist()]
    new = [
        f"{number_words(value, scoring)} ({signed(change)})"
        for value, change in zip(after.tolist(), (after - before).tolist(), strict=True)
    ]
    add_lying_bars(figure, before, old, HUES[6], BEFORE, theme)
    if not edited:
        return name_bars(figure.update_layout(showlegend=False), names, before, old, scoring, theme, whole)
    add_lying_bars(figure, after, new, theme.colours["task head"], AFTER, theme)
    figure.update_layout(barmode="group", legend={"traceorder": "normal"})
    return name_bars(figure, names, np.concatenate([before, after]), [*old, *new], scoring, theme, whole)


def signed(change: float) -> str:
    """Format a signed difference; one below the precision of float32 is 0 without a sign."""
    return "0" if abs(change) < ROUNDING else f"{'+' if change > 0 else '−'}{decimals(abs(change), 3)}"


def _number_frame(column: str, names: Sequence[str], before: np.ndarray, after: np.ndarray) -> pd.DataFrame:
    """Both numbers of every row, and their difference."""
    numbers = {each.lower(): values for each, values in ((BEFORE, before), (AFTER, after))}
    return pd.DataFrame({column: list(names), **numbers, "change": after - before})


def _class_frame(class_prediction: ClassPrediction, edited_classes: ClassPrediction) -> pd.DataFrame:
    numbers = class_numbers(class_prediction), class_numbers(edited_classes)
    return _number_frame("class", class_prediction.labels, *numbers)


def _shift_frame(word_shift: WordShift) -> pd.DataFrame:
    return _number_frame("word", word_shift.words, word_shift.before, word_shift.after)


def _of_versions(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The rows of both versions, with a column that names the version."""
    named = {BEFORE.lower(): before, AFTER.lower(): after}
    return pd.concat(named, names=["version"]).reset_index(0).reset_index(drop=True)


def _tag_frame(
    tag_prediction: TagPrediction,
    tag_entities: Sequence[Entity],
    edited_tags: TagPrediction,
    edited_entities: Sequence[Entity],
) -> pd.DataFrame:
    return _of_versions(entity_frame(tag_prediction, tag_entities), entity_frame(edited_tags, edited_entities))


def _answer_frame(answer_prediction: AnswerPrediction, edited_answers: AnswerPrediction) -> pd.DataFrame:
    return _of_versions(answer_frame(answer_prediction), answer_frame(edited_answers))


@figure(
    "classes-change",
    "predictions_classes_change",
    "classes before and after an edit (--set edited=TEXT)",
    table=_class_frame,
)
def classes_change_figure(class_prediction: ClassPrediction, edited_classes: ClassPrediction) -> FigureSpec:
    """Plot the classes of a text and of its edited version, largest change first."""
    first, second = class_numbers(class_prediction), class_numbers(edited_classes)
    rows = [int(row) for row in np.argsort(-np.abs(second - first), kind="stable")[:MOST]]
    names = [class_prediction.labels[row] for row in rows]
    title = f"Classes before and after the edit — {class_prediction.model}"
    listed = ", ".join(
        f"{class_words(class_prediction, row)}, edited {class_words(edited_classes, row)}" for row in rows
    )
    draw = partial(paired_bars, names, first[rows], second[rows], class_prediction.scoring, title, True)
    return FigureSpec(title, f"{title}: {listed}", draw, f"{title}. In brackets: the difference")


@figure(
    "words-change",
    "predictions_words_change",
    "words at a mask before and after an edit (--set edited=TEXT, guess)",
    table=_shift_frame,
)
def words_change_figure(word_shift: WordShift, guessed_token: str, model_name: str) -> FigureSpec:
    """Plot the words at one masked position of a text and of its edited version, largest change first."""
    where = f'the mask at "{shortened(guessed_token, LONGEST)}", position {word_shift.position}'
    title = f"Words at {where}, before and after the edit — {model_name}"
    numbers = zip(word_shift.words, word_shift.before.tolist(), word_shift.after.tolist(), strict=True)
    listed = ", ".join(f"{word} {decimals(before, 3)}, edited {decimals(after, 3)}" for word, before, after in numbers)
    draw = partial(paired_bars, list(word_shift.words), word_shift.before, word_shift.after, "softmax", title, False)
    return FigureSpec(title, f"{title}: {listed}", draw, f"{title}. In brackets: the difference")


@figure(
    "tags-change",
    "predictions_tags_change",
    "entities before and after an edit (--set edited=TEXT)",
    table=_tag_frame,
)
def tags_change_figure(
    tag_prediction: TagPrediction,
    tag_entities: Sequence[Entity],
    edited_tags: TagPrediction,
    edited_entities: Sequence[Entity],
) -> FigureSpec:
    """Plot the entities of a text and of its edited version, one below the other."""
    title = f"Entities before and after the edit — {tag_prediction.model}"
    parts = tagged_parts(tag_prediction, tag_entities, BEFORE)
    read = [(each.tokens.text, each.tokens.pair) for each in (tag_prediction, edited_tags)]
    if read[0] != read[1]:
        parts = [*parts, *tagged_parts(edited_tags, edited_entities, AFTER)]
    alt = f"{title}: {listed_entities(tag_entities)}; edited: {listed_entities(edited_entities)}"
    return FigureSpec(title, alt, partial(marked_text, parts, title))


@figure(
    "answers-change",
    "predictions_answers_change",
    "answers before and after an edit (--set edited=TEXT, edited_pair=TEXT)",
    table=_answer_frame,
)
def answers_change_figure(answer_prediction: AnswerPrediction, edited_answers: AnswerPrediction) -> FigureSpec:
    """Plot the answers to a question and to its edited version, one below the other."""
    title = f"Answers before and after the edit — {answer_prediction.model}"
    both = [(BEFORE, answer_prediction), (AFTER, edited_answers)]
    read = [(each.question, each.context) for _, each in both]
    if read[0] == read[1]:
        del both[1]
    parts = [(f"{name}: {question_line(each)}", each) for name, each in both]
    alt = f"{title}: {listed_answers(answer_prediction)}; edited: {listed_answers(edited_answers)}"
    return FigureSpec(title, alt, partial(answer_text, parts, title))
