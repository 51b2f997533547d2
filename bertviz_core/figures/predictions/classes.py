"""Classes of a text as bars: probabilities, or the numbers of a head that says numbers; before and after an edit."""

from functools import partial
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.letters import shortened_label, text_width
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, escape, layout
from bertviz_core.predictions.results import ClassPrediction, Scoring
from bertviz_core.text import escape_controls

ClassOrder = Literal["by size", "as in the model"]
ORDERS: tuple[ClassOrder, ...] = ("by size", "as in the model")
"""Whether the greatest class stands first, or the first of the model."""
MOST = 30
"""Classes that are drawn; the table has all."""
ROW, PAIR_ROW, AROUND = 34, 52, 116
"""Pixels of a bar, of two bars, and of title and axis."""
NAMES = 0.32
"""Share of the width that names of classes take at most."""
SAYS: dict[Scoring, str] = {
    "softmax": "probability (softmax: all classes together make 1)",
    "sigmoid": "probability of each class by itself (sigmoid)",
    "number": "value (a regression: no probability)",
}
"""What the axis says of the numbers."""
BEFORE, AFTER = "the text", "edited"


def class_numbers(prediction: ClassPrediction) -> np.ndarray:
    """What is drawn of each class: its probability, or the output itself where that is none."""
    return prediction.logits if prediction.probabilities is None else prediction.probabilities


def class_rows(prediction: ClassPrediction, order: ClassOrder) -> list[int]:
    """Indices of the classes that are drawn, at most the MOST greatest, in this order."""
    greatest = np.argsort(-class_numbers(prediction), kind="stable")[:MOST].tolist()
    return [int(row) for row in (greatest if order == "by size" else sorted(greatest))]


def class_bars(prediction: ClassPrediction, order: ClassOrder, title: str, theme: Theme) -> go.Figure:
    """A bar for every class, its number behind it.

    Args:
        prediction: the classes.
        order: of the bars, from top to bottom.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    rows = class_rows(prediction, order)
    values = class_numbers(prediction)[rows]
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + ROW * len(rows), showlegend=False))
    words = [_written(value, prediction.scoring) for value in values.tolist()]
    _add_bars(figure, values, words, theme.colours["task head"], "", theme)
    return _finish(figure, prediction, rows, [values], words, theme)


def compared_class_bars(before: ClassPrediction, after: ClassPrediction, title: str, theme: Theme) -> go.Figure:
    """Two bars for every class, of the text and of its edited version, with the difference; largest change first.

    Args:
        before: of the text.
        after: of the edited text, by the same head.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    first, second = class_numbers(before), class_numbers(after)
    rows = [int(row) for row in np.argsort(-np.abs(second - first), kind="stable")[:MOST]]
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + 30 + PAIR_ROW * len(rows)))
    old = [_written(value, before.scoring) for value in first[rows].tolist()]
    new = [
        f"{_written(value, before.scoring)} ({_signed(change)})"
        for value, change in zip(second[rows].tolist(), (second - first)[rows].tolist(), strict=True)
    ]
    _add_bars(figure, first[rows], old, HUES[6], BEFORE, theme)
    _add_bars(figure, second[rows], new, theme.colours["task head"], AFTER, theme)
    figure.update_layout(barmode="group", legend={"traceorder": "normal"})
    return _finish(figure, before, rows, [first[rows], second[rows]], [*old, *new], theme)


def _add_bars(figure: go.Figure, values: np.ndarray, words: list[str], colour: str, name: str, theme: Theme) -> None:
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


def _finish(
    figure: go.Figure,
    prediction: ClassPrediction,
    rows: list[int],
    values: list[np.ndarray],
    words: list[str],
    theme: Theme,
) -> go.Figure:
    """Names of the rows, and an axis on which the numbers behind the bars have room."""
    most = NAMES * theme.pixels
    names = [shortened_label(class_name(prediction, row), most, TEXT_SIZE - 1) for row in rows]
    axis = {"tickvals": list(range(len(rows))), "ticktext": names, "range": [len(rows) - 0.5, -0.5], "showgrid": False}
    low, high = 0.0, 1.0
    if prediction.probabilities is None:
        low = min(0.0, *(float(each.min(initial=0)) for each in values))
        high = max(0.0, *(float(each.max(initial=0)) for each in values)) or (1.0 if low == 0 else 0.0)
    label = max(text_width(f" {word}", TEXT_SIZE - 1) for word in words)
    room = (high - low) * label / max(0.5 * theme.pixels - label, label)
    ends = [low - (room if low < 0 else 0), high + room]
    ticks: dict[str, Any] = {"nticks": 3 if theme.slim else 6}
    if prediction.probabilities is not None:
        ticks = {"tickvals": [0, 1] if theme.narrow else [0, 0.5, 1] if theme.slim else [0, 0.25, 0.5, 0.75, 1]}
    figure.update_yaxes(axis).update_xaxes(range=ends, title={"text": SAYS[prediction.scoring]}, **ticks)
    if prediction.scoring == "sigmoid":
        figure.add_vline(x=0.5, line={"color": theme.muted, "width": 1.5, "dash": "dash"})
    return figure.update_layout(bargap=0.3)


def class_name(prediction: ClassPrediction, row: int) -> str:
    """A class as a figure names it."""
    return escape(escape_controls(" ".join(prediction.labels[row].split())))


def _written(value: float, scoring: Scoring) -> str:
    return f"{value:.4f}".replace("-", "−") if scoring == "number" else f"{value:.3f}"


def _signed(change: float) -> str:
    return f"{change:+.3f}".replace("-", "−")


def _plain(prediction: ClassPrediction, row: int) -> str:
    name = escape_controls(" ".join(prediction.labels[row].split()))
    return f"{name} {_written(float(class_numbers(prediction)[row]), prediction.scoring)}"


@figure("classes", "predictions_classes", "classes of a text or pair (--pair, --task)", ("order",))
def classes_figure(class_prediction: ClassPrediction, class_order: ClassOrder) -> FigureSpec:
    """What a classifier says of a text or a pair, class by class."""
    what = "pair" if class_prediction.tokens.pair is not None else "text"
    many = f", the {MOST} greatest of {count:,}" if (count := len(class_prediction.labels)) > MOST else ""
    head = "Value" if class_prediction.scoring == "number" else "Classes"
    title = f"{head} of the {what}{many} — {class_prediction.model}"
    return _of_one(class_prediction, class_order, title)


@figure("next-sentence", "predictions_next", "whether the second text follows the first (--pair, --task)")
def next_sentence_figure(class_prediction: ClassPrediction) -> FigureSpec:
    """What the next-sentence head says of a pair."""
    return _of_one(class_prediction, "as in the model", f"Does it follow? — {class_prediction.model}")


def _of_one(prediction: ClassPrediction, order: ClassOrder, title: str) -> FigureSpec:
    alt = f"{title}: {', '.join(_plain(prediction, row) for row in class_rows(prediction, order))}"
    says = SAYS[prediction.scoring]
    caption = f"{title}. {says[0].upper()}{says[1:]}"
    return FigureSpec(title, alt, partial(class_bars, prediction, order, title), caption)


@figure(
    "classes-change",
    "predictions_classes_change",
    "classes before and after an edit (--set edited=TEXT)",
    ("edited", "edited_pair"),
)
def classes_change_figure(class_prediction: ClassPrediction, edited_classes: ClassPrediction) -> FigureSpec:
    """The classes of a text and of its edited version, side by side."""
    rows = range(min(len(class_prediction.labels), MOST))
    title = f"Classes before and after the edit — {class_prediction.model}"
    pairs = ", ".join(f"{_plain(class_prediction, row)}, edited {_plain(edited_classes, row)}" for row in rows)
    draw = partial(compared_class_bars, class_prediction, edited_classes, title)
    return FigureSpec(title, f"{title}: {pairs}", draw, f"{title}. In brackets: the difference")
