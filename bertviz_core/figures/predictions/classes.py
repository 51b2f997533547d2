"""Draw the classes of a text as bars of probabilities or numbers."""

from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.base.text_width import lined_label, text_width
from bertviz_core.predictions.results import ClassPrediction, Scoring
from bertviz_core.text import decimals, escape_controls

ClassOrder = Literal["by size", "as in the model"]
ORDERS: tuple[ClassOrder, ...] = ("by size", "as in the model")
"""Order by descending number, or by class index."""
MOST = 30
"""Maximum number of drawn classes; the table contains all."""
ROW, AROUND, FEWEST = 34, 116, 2
"""Pixels: height of a bar, margins for title and axis; minimum number of bars, so that axis labels fit."""
GAP = 0.3
"""Gap between rows, as a share of a row."""
HALF, NEAR, ROUND = 0.5, 0.01, 1e-6
"""Probability threshold of a class; margin within which labels count as crossing its line; numerical zero."""
NAMES = 0.32
"""Maximum share of the width for class names."""
SAYS: dict[Scoring, str] = {
    "softmax": "probability (softmax: all together make 1)",
    "sigmoid": "probability of each class by itself (sigmoid)",
    "number": "value (a regression: no probability)",
}
"""Axis title for each scoring."""


def class_numbers(prediction: ClassPrediction) -> Float[np.ndarray, " labels"]:
    """Return the drawn number of each class: its probability, or the output itself for a regression."""
    return prediction.logits if prediction.probabilities is None else prediction.probabilities


def class_rows(prediction: ClassPrediction, order: ClassOrder) -> list[int]:
    """Return the indices of the drawn classes, at most the MOST greatest, in this order."""
    greatest = np.argsort(-class_numbers(prediction), kind="stable")[:MOST].tolist()
    return [int(row) for row in (greatest if order == "by size" else sorted(greatest))]


def class_bars(prediction: ClassPrediction, order: ClassOrder, title: str, theme: Theme) -> go.Figure:
    """Draw one bar per class, followed by its number."""
    rows = class_rows(prediction, order)
    values = class_numbers(prediction)[rows]
    figure = go.Figure(
        layout=layout(theme, escape(title), height=AROUND + ROW * max(len(rows), FEWEST), showlegend=False)
    )
    words = [number_words(value, prediction.scoring) for value in values.tolist()]
    add_lying_bars(figure, values, words, theme.colours["task head"], "", theme)
    return name_bars(figure, [prediction.labels[row] for row in rows], values, words, prediction.scoring, theme)


def add_lying_bars(
    figure: go.Figure, values: Float[np.ndarray, " rows"], words: list[str], colour: str, name: str, theme: Theme
) -> None:
    """Add bars from top to bottom, followed by text.

    Args:
        figure: figure to add the bars to.
        values: lengths of the bars.
        words: text after each.
        colour: colour of all bars.
        name: name in the legend.
        theme: theme with the colour of the text.
    """
    figure.add_bar(
        x=values.astype(np.float32),
        y=np.arange(len(values), dtype=np.int32),
        orientation="h",
        marker={"color": colour},
        text=[f" {word}" for word in words],
        textposition="outside",
        textfont={"size": TEXT_SIZE - 1, "color": theme.text},
        cliponaxis=False,
        name=name,
        hoverinfo="skip",
    )


def name_bars(
    figure: go.Figure,
    names: list[str],
    values: Float[np.ndarray, " bars"],
    words: list[str],
    scoring: Scoring,
    theme: Theme,
    whole: bool = True,
) -> go.Figure:
    """Label the rows of a figure, and extend the axis for the text after the bars.

    Args:
        figure: figure with the bars.
        names: labels of the rows, from top to bottom.
        values: lengths of all bars.
        words: text after them.
        scoring: meaning of the numbers.
        theme: theme with the width of the figure.
        whole: whether the axis of probabilities extends to 1.
    """
    ticks: dict[str, Any] = {"nticks": 3 if theme.slim else 6}
    low, high = 0.0, 1.0
    if scoring == "number" or not whole:
        low, high = min(0.0, float(values.min(initial=0))), max(0.0, float(values.max(initial=0)))
        high = high if low < high else 1.0
    else:
        ticks = {"tickvals": [0, 1] if theme.narrow else [0, 0.5, 1] if theme.slim else [0, 0.25, 0.5, 0.75, 1]}
    widths = np.array([text_width(f" {word}", TEXT_SIZE - 1) for word in words])
    label = float(widths.max(initial=0))
    room = (high - low) * label / max(0.5 * theme.pixels - label, label)
    says = {"range": [low - (room if low < 0 else 0), high + room], "title": {"text": SAYS[scoring]}}
    rows = {"tickvals": list(range(len(names))), "range": [len(names) - 0.5, -0.5], "showgrid": False}
    shown = [lined_label(_line(name), NAMES * theme.pixels, TEXT_SIZE - 1) for name in names]
    figure.update_yaxes(rows, ticktext=shown).update_xaxes(says, **ticks)
    if scoring == "sigmoid":
        line = {"color": theme.muted, "width": 1.5, "dash": "dash"}
        for top, bottom in clear_stretches(values, values + room * widths / max(label, 1.0), len(names)):
            figure.add_shape(type="line", x0=HALF, x1=HALF, y0=top, y1=bottom, line=line)
    return figure.update_layout(bargap=GAP)


def clear_stretches(
    starts: Float[np.ndarray, " bars"], ends: Float[np.ndarray, " bars"], rows: int
) -> list[tuple[float, float]]:
    """Return the intervals of the row axis, from top to bottom, in which a line at HALF crosses no text.

    Args:
        starts: start of the text after each bar; first bars of all rows, then second bars.
        ends: end of each text.
        rows: number of rows.
    """
    bars = max(len(starts) // max(rows, 1), 1)
    thick = (1 - GAP) / bars
    places = sorted(
        (place % rows - thick * (bars / 2 - place // rows), place)
        for place in range(len(starts))
        if starts[place] - NEAR <= HALF <= ends[place] + NEAR
    )
    edges = [-0.5, *(edge for top, _ in places for edge in (top, top + thick)), rows - 0.5]
    return [(top, bottom) for top, bottom in zip(edges[::2], edges[1::2], strict=True) if bottom - top > ROUND]


def _line(name: str) -> str:
    """Format an untrusted name as a label of one line."""
    return escape(escape_controls(" ".join(name.split())))


def number_words(value: float, scoring: Scoring) -> str:
    """Format the number after a bar."""
    return decimals(value, 4 if scoring == "number" else 3)


def class_words(prediction: ClassPrediction, row: int) -> str:
    """Describe a class and its number."""
    name = escape_controls(" ".join(prediction.labels[row].split()))
    return f"{name} {number_words(float(class_numbers(prediction)[row]), prediction.scoring)}"


def _frame(class_prediction: ClassPrediction) -> pd.DataFrame:
    """Every class in the model's order."""
    labels, shares = list(class_prediction.labels), class_prediction.probabilities
    if shares is None:
        return pd.DataFrame({"class": labels, "value": class_prediction.logits})
    return pd.DataFrame({"class": labels, "probability": shares, "logit": class_prediction.logits})


@figure("classes", "predictions_classes", "classes of a text or pair (--pair, --task)", reported=True, table=_frame)
def classes_figure(class_prediction: ClassPrediction, class_order: ClassOrder) -> FigureSpec:
    """Plot a text classifier's prediction, class by class."""
    what = "pair" if class_prediction.tokens.pair is not None else "text"
    many = f", the {MOST} greatest of {count:,}" if (count := len(class_prediction.labels)) > MOST else ""
    head = "Value" if class_prediction.scoring == "number" else "Classes"
    title = f"{head} of the {what}{many} — {class_prediction.model}"
    return _of_one(class_prediction, class_order, title)


@figure(
    "next-sentence",
    "predictions_next",
    "whether the second text follows the first (--pair, --task)",
    reported=True,
    table=_frame,
)
def next_sentence_figure(class_prediction: ClassPrediction) -> FigureSpec:
    """Plot the next-sentence prediction for a pair."""
    return _of_one(class_prediction, "as in the model", f"Does the second text follow? — {class_prediction.model}")


def _of_one(prediction: ClassPrediction, order: ClassOrder, title: str) -> FigureSpec:
    alt = f"{title}: {', '.join(class_words(prediction, row) for row in class_rows(prediction, order))}"
    says = SAYS[prediction.scoring]
    caption = f"{title}. {says[0].upper()}{says[1:]}"
    return FigureSpec(title, alt, partial(class_bars, prediction, order, title), caption)
