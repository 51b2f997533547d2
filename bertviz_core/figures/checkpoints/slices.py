"""Figure of two models' answers by parts of the texts: the difference of the accuracies, or how often they agree."""

from functools import partial
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.figures.checkpoints.compared_answers import difference_bars, interval_words
from bertviz_core.predictions.probing.results import LEAST, SlicedAnswers, TextSlice
from bertviz_core.text import counted, shortened

ROW_HEIGHT, MARGINS = 34, 150
"""Pixels of a slice, and of everything around the slices."""
LONGEST_NAME = 28


def slice_rows(sliced: SlicedAnswers, title: str, theme: Theme) -> go.Figure:
    """Draw a row per slice: the difference of the accuracies with its interval, or the share of same answers."""
    shown = _shown(sliced)
    figure = go.Figure(layout=layout(theme, escape(title), height=MARGINS + ROW_HEIGHT * len(shown)))
    marker: dict[str, Any] = {"size": 11, "color": theme.text}
    scores = [each.accuracy for each in shown if each.accuracy is not None]
    if scores:
        points, bars = difference_bars(scores, theme)
        ends = [end for each in scores for end in (each.difference, each.low, each.high) if not isnan(end)]
        end = round_limit(max(1.0, *(abs(100 * each) for each in ends)) * 1.05)
        marker["symbol"] = ["circle-open" if isnan(each.low) else "circle" for each in scores]
        zero = {"color": theme.muted, "width": 1.5, "dash": "dash"}
        figure.add_shape(type="line", x0=0, x1=0, y0=0, y1=1, yref="y domain", line=zero, layer="below")
        x_axis = {"title": "accuracy, second − first, points; bar: 95 % interval", "range": [-end, end]}
    else:
        points, bars = [100 * each.agreement for each in shown], None
        x_axis = {"title": "same answer of both models, %", "range": [-2, 102]}
    figure.add_scatter(
        x=points,
        y=list(range(len(shown))),
        mode="markers",
        marker=marker,
        error_x=bars,
        customdata=[escape(_words(each)) for each in shown],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
    )
    names = [f"{escape(shortened(each.name, LONGEST_NAME))} · {each.compared or len(each.places):,}" for each in shown]
    ticks = {"tickvals": list(range(len(shown))), "ticktext": names, "showgrid": False}
    figure.update_layout(xaxis=x_axis, yaxis={**ticks, "range": [len(shown) - 0.5, -0.5]})
    return even_axes(figure, theme)


def _shown(sliced: SlicedAnswers) -> tuple[TextSlice, ...]:
    """The slices that can be drawn: those with gold labels if there are any, otherwise all."""
    return tuple(each for each in sliced.slices if each.accuracy is not None) or sliced.slices


def _words(each: TextSlice) -> str:
    if each.accuracy is None:
        return f"{each.name}: the same answer to {each.agreement:.1%} of {counted(len(each.places), 'text')}"
    scores = f"accuracy {each.accuracy.first:.1%} and {each.accuracy.second:.1%}"
    if isnan(each.accuracy.low):
        return f"{each.name}: {scores}, over {counted(each.compared, 'text')}, too few for an interval"
    return f"{each.name}: {scores}, {interval_words(each.accuracy)}, over {counted(each.compared, 'text')}"


SCORES = {
    "first accuracy": "first",
    "second accuracy": "second",
    "difference": "difference",
    "low": "low",
    "high": "high",
}
"""Columns -> fields of the accuracies of a slice."""


def slices_frame(sliced_answers: SlicedAnswers) -> pd.DataFrame:
    """One row per slice: name, texts, same answer, and with gold labels both accuracies, difference, mended, broken."""
    slices = sliced_answers.slices
    columns: dict[str, object] = {"slice": [each.name for each in slices]}
    columns |= {"texts": [len(each.places) for each in slices], "same answer": [each.agreement for each in slices]}
    if sliced_answers.compared.gold is not None:
        columns |= {name: [getattr(each, name) for each in slices] for name in ("compared", "mended", "broken")}
        for name, field in SCORES.items():
            columns[name] = [np.nan if each.accuracy is None else getattr(each.accuracy, field) for each in slices]
    return pd.DataFrame(columns)


@figure(
    "slices-compared",
    "checkpoint_slices",
    "answers of two models by parts of the texts (--set other=, slices=length, word:WORD or column; texts as for "
    "answers-compared, for a column each followed by its value)",
    table=slices_frame,
)
def slices_compared_figure(sliced_answers: SlicedAnswers) -> FigureSpec:
    """Plot the slices of the texts: the difference of the accuracies with its 95 % interval, or the agreement."""
    compared = sliced_answers.compared
    title = f"Answers by {_divided(sliced_answers.by)} — {compared.first} and {compared.second}"
    rows = "; ".join(map(_words, _shown(sliced_answers)))
    about = ""
    if compared.gold is not None:
        samples = f"{compared.gold.resamples:,} samples"
        about = f" Interval: paired bootstrap over the {LEAST} texts or more of a slice, {samples}; fewer: open circle"
    draw = partial(slice_rows, sliced_answers, title)
    return FigureSpec(title, f"{title}: {rows}", draw, f"{title}: {rows}.{about}")


def _divided(by: str) -> str:
    return {"length": "length of the text", "column": "value of the column"}.get(by, "occurrence of a word")
