"""Draw the predictions of two models for one text: two bars in each row, and their difference."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.base.text_width import shortened_label
from bertviz_core.figures.predictions.change import LEGEND, PAIR_ROW, signed
from bertviz_core.figures.predictions.classes import AROUND, MOST, add_lying_bars, name_bars, number_words
from bertviz_core.predictions.results import ComparedKind, PredictionComparison, Scoring
from bertviz_core.text import escape_controls, shortened

TITLES: Mapping[ComparedKind, str] = {
    "classes": "Classes in two models",
    "tags": "Tags in two models",
    "entities": "Entities in two models",
    "answers": "Answers of two models",
    "words": "Words at “{where}” in two models",
    "surprise": "Surprise in two models",
    "lens": "Best word at “{where}” in every layer of two models",
}
"""What the rows are -> start of the title."""
AXES: Mapping[ComparedKind, str] = {
    "classes": "probability",
    "tags": "probability of the tag",
    "entities": "mean probability of the tag",
    "answers": "score: p(start) p(end)",
    "words": "probability",
    "surprise": "surprise, nats",
    "lens": "probability of the best word",
}
"""What the rows are -> title of the axis of numbers."""
ROW_NAMES: Mapping[ComparedKind, str] = {
    "classes": "class",
    "tags": "word",
    "entities": "entity",
    "answers": "answer",
    "words": "word",
    "surprise": "part of the text",
    "lens": "hidden state",
}
"""What the rows are -> heading of their names."""
OUTSIDE = "O"
"""Tag of words outside all entities."""
ABSENT = "–"
"""Shown in place of a number that a model does not have."""
LONGEST, LEGEND_NAME = 28, 0.42
"""Most characters of an answer beside a bar; share of the width for a model's name in the legend."""


def drawn_rows(comparison: PredictionComparison) -> list[int]:
    """Indices of the drawn rows, at most MOST.

    Classes are sorted by the greater of both numbers; words with tags are those with a tag in either model, if there
    are any. Other rows keep their order, and the largest changes are drawn where there are too many.
    """
    numbers = np.fmax(comparison.first_numbers, comparison.second_numbers)
    if comparison.kind == "classes":
        return [int(row) for row in np.argsort(-np.nan_to_num(numbers, nan=-np.inf), kind="stable")[:MOST]]
    rows = list(range(len(comparison.names)))
    if comparison.kind == "tags":
        sides = zip(comparison.first_answers, comparison.second_answers, strict=True)
        rows = [row for row, tags in enumerate(sides) if set(tags) - {OUTSIDE}] or rows
    if len(rows) <= MOST:
        return rows
    change = np.where(np.isnan(comparison.difference), np.inf, np.abs(comparison.difference))[rows]
    return sorted(rows[int(place)] for place in np.argsort(-change, kind="stable")[:MOST])


def compared_bars(comparison: PredictionComparison, title: str, theme: Theme) -> go.Figure:
    """Draw two bars per row, one for each model, with the difference beside the second."""
    rows = drawn_rows(comparison)
    scoring: Scoring = "softmax" if comparison.unit in ("probability", "score") else "number"
    beside = [[_beside(comparison, row, side, scoring) for row in rows] for side in (0, 1)]
    figure = two_model_bars(
        (comparison.first, comparison.second),
        [comparison.names[row] for row in rows],
        (comparison.first_numbers[rows], comparison.second_numbers[rows]),
        (beside[0], beside[1]),
        title,
        theme,
        scoring,
        comparison.kind in ("classes", "tags", "entities"),
    )
    return figure.update_xaxes(title={"text": "value" if comparison.unit == "value" else AXES[comparison.kind]})


def two_model_bars(
    models: tuple[str, str],
    names: list[str],
    numbers: tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]],
    beside: tuple[list[str], list[str]],
    title: str,
    theme: Theme,
    scoring: Scoring = "number",
    whole: bool = False,
) -> go.Figure:
    """Draw two bars per row, one for each model, in grey and in the colour of task heads.

    Args:
        models: names of the models.
        names: labels of the rows, from top to bottom.
        numbers: lengths of the bars of each model; NaN for none.
        beside: text after each bar.
        title: title of the figure.
        theme: theme of the figure.
        scoring: meaning of the numbers.
        whole: whether the axis of probabilities extends to 1.
    """
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + LEGEND + PAIR_ROW * max(len(names), 1)))
    colours, lengths = (HUES[6], theme.colours["task head"]), [np.nan_to_num(each) for each in numbers]
    for side, place in enumerate(("first", "second")):
        name = shortened_label(escape(f"{place}: {models[side]}"), LEGEND_NAME * theme.pixels, TEXT_SIZE)
        add_lying_bars(figure, lengths[side], [escape(each) for each in beside[side]], colours[side], name, theme)
    figure.update_layout(barmode="group", legend={"traceorder": "normal"})
    return name_bars(figure, names, np.concatenate(lengths), [*beside[0], *beside[1]], scoring, theme, whole)


def signed_difference(change: float) -> str:
    """A difference with its sign, 0 without one; – where there is none."""
    return ABSENT if np.isnan(change) else signed(change)


def comparison_frame(prediction_comparison: PredictionComparison) -> pd.DataFrame:
    """One row per class, word, answer, part of the text or hidden state: both numbers and their difference."""
    compared = prediction_comparison
    columns: dict[str, Any] = {ROW_NAMES[compared.kind]: list(compared.names)}
    if compared.kind == "entities":
        tags = zip(compared.first_answers, compared.second_answers, strict=True)
        columns |= {"tag": [one or other for one, other in tags], "found by": _finders(compared)}
    elif compared.kind in ("tags", "lens"):
        columns |= {"first answer": compared.first_answers, "second answer": compared.second_answers}
    numbers = {"first": compared.first_numbers, "second": compared.second_numbers, "difference": compared.difference}
    return pd.DataFrame({**columns, **{name: values.astype(float) for name, values in numbers.items()}})


def _finders(compared: PredictionComparison) -> list[str]:
    """Which model finds each entity."""
    sides = zip(np.isnan(compared.first_numbers), np.isnan(compared.second_numbers), strict=True)
    return ["only the second" if not_one else "only the first" if not_other else "both" for not_one, not_other in sides]


@figure(
    "predictions-compared",
    "predictions_compared",
    "what two models predict for a text (--set other=, view=words|surprise|lens|entities; --pair, --task)",
    table=comparison_frame,
)
def predictions_compared_figure(prediction_comparison: PredictionComparison) -> FigureSpec:
    """Plot the predictions of two models for one text, row by row, with the differences."""
    compared, rows = prediction_comparison, drawn_rows(prediction_comparison)
    models = compared.first if compared.same_model else f"{compared.first} and {compared.second}"
    left = len(compared.names) - len(rows)
    part = f", {len(rows):,} of {len(compared.names):,} rows" if left and compared.kind != "tags" else ""
    title = f"{TITLES[compared.kind].format(where=compared.where)}{part} — {models}"
    scoring: Scoring = "number" if compared.unit == "value" else "softmax"
    listed = "; ".join(
        f"{escape_controls(compared.names[row])} {_beside(compared, row, 0, scoring)}, "
        f"{_beside(compared, row, 1, scoring)}"
        for row in rows
    )
    caption = f"{title}. Grey: the first model; in brackets: second − first"
    return FigureSpec(title, f"{title}: {listed}", partial(compared_bars, compared, title), caption)


def _beside(compared: PredictionComparison, row: int, side: int, scoring: Scoring) -> str:
    """Text beside a bar: answer, number, and for the second model the difference."""
    answer = (compared.first_answers, compared.second_answers)[side][row]
    numbers: Float[np.ndarray, " rows"] = (compared.first_numbers, compared.second_numbers)[side]
    value, change = float(numbers[row]), float(compared.difference[row])
    number = ABSENT if np.isnan(value) else number_words(value, scoring)
    words = f"{shortened(escape_controls(answer), LONGEST)} {number}" if answer else number
    return words if side == 0 or np.isnan(change) else f"{words} ({signed(change)})"
