"""Horizontal bars of scores that may be negative, with the numbers at their right."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.marks import add_bars, add_words
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout
from bertviz_core.text import decimals

NUMBER_SIZE = TEXT_SIZE - 1
PLOT = 0.5
"""Minimum share of the figure's width for the plot."""


def named_score_bars(
    names: Sequence[str],
    scores: Float[np.ndarray, " rows"],
    hover: Sequence[str],
    colour: str,
    unit: str,
    title: str,
    theme: Theme,
    places: int = 4,
    row: int = 25,
) -> go.Figure:
    """Draw bars beside their names, the first at the top, in rows of this height; see `add_score_bars`."""
    figure = go.Figure(layout=layout(theme, escape(title), height=104 + row * max(len(names), 4)))
    add_score_bars(figure, scores, hover, colour, theme, places).update_xaxes(title=unit)
    rows = {"tickvals": list(range(len(names))), "ticktext": list(names), "showgrid": False}
    return figure.update_yaxes(rows, autorange="reversed")


def add_score_bars(
    figure: go.Figure,
    scores: Float[np.ndarray, " rows"],
    hover: Sequence[str],
    colour: str,
    theme: Theme,
    places: int = 4,
) -> go.Figure:
    """Add bars from the first score at the top to the last, each with its score, which follows the escaped hover."""
    values = np.asarray(scores, dtype=np.float32)
    words = [decimals(value, places) for value in values.tolist()]
    hovers = {"customdata": list(hover), "showlegend": False}
    add_bars(figure, values, f"%{{customdata}} %{{x:.{places}f}}", colour, **hovers)
    spots, rows = np.maximum(values, 0), np.arange(len(scores), dtype=np.int32)
    add_words(figure, spots, rows, [f" {word}" for word in words], NUMBER_SIZE, theme.text, showlegend=False)
    low, high = min(float(values.min(initial=0)), 0.0), max(float(values.max(initial=0)), 0.0)
    span = high - low or 1.0
    label = max((text_width(word, NUMBER_SIZE) for word in words), default=0.0) + 12
    room = span * label / max(PLOT * theme.pixels - label, label)
    figure.update_xaxes(range=[low - 0.03 * span * (low < 0), high + room], showgrid=False)
    return figure.update_layout(bargap=0.3)
