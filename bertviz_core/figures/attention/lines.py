"""Draw one head's attention as lines from queries to keys."""

from collections.abc import Collection
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.attention.results import AttentionMap
from bertviz_core.figures.attention.heatmap import axis_labels
from bertviz_core.figures.attention.reading import UNITS, one_map
from bertviz_core.figures.base.axes import token_axis
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout
from bertviz_core.trace.results import Trace

ROW, LEAST, MOST, AROUND = 24, 320, 1400, 120
"""Pixels: height of a token's row, minimum and maximum height of the figure, and margins."""
STEPS = 24
"""Number of shades: lines of similar weight are drawn together."""
LONG_TEXT = 48
"""Number of tokens above which more weak lines are left out, as in the attention view."""


def attention_lines(
    attention_map: AttentionMap, special: Collection[int], title: str, theme: Theme, second: int | None = None
) -> go.Figure:
    """Draw one line per cell with more than a small share of the largest weight.

    Args:
        attention_map: the map.
        special: positions of special tokens, drawn in italics.
        title: title of the figure.
        theme: theme of the figure.
        second: position of the first token of the second text, for a pair.
    """
    most = max(attention_map.weights.shape)
    top, least = float(attention_map.weights.max(initial=0)) or 1.0, 0.1 if most > LONG_TEXT else 0.02
    height = min(MOST, max(LEAST, AROUND + ROW * most))
    figure = go.Figure(layout=layout(theme, escape(title), height=height, showlegend=False))
    share = attention_map.weights / np.float32(top)
    steps = np.where(share > least, np.minimum(share * STEPS, STEPS - 1).astype(np.int64), -1)
    first_hue = theme.colours["embeddings"]  # the first of the heads' hues in this theme
    for step in range(STEPS):
        queries, keys = np.nonzero(steps == step)
        if len(queries):
            figure.add_scatter(**_run(queries, keys, (step + 1) / STEPS, first_hue))
    figure.add_scatter(x=[None], y=[None], yaxis="y2", mode="markers", hoverinfo="skip")  # an axis needs a trace
    for axis, (x0, x1) in ((attention_map.queries, (0, 0.06)), (attention_map.keys, (0.94, 1))):
        place = axis.second_entry(second)
        if place is not None:
            dashes = {"color": theme.text, "width": 1.5, "dash": "dash"}
            figure.add_shape(type="line", x0=x0, x1=x1, y0=place - 0.5, y1=place - 0.5, line=dashes)
    rows = {"range": [most - 0.5, -0.5], "showgrid": False, "zeroline": False, "automargin": True}
    left, right = (
        token_axis(axis_labels(axis, special), height - AROUND) for axis in (attention_map.queries, attention_map.keys)
    )
    beside = {"font": {"size": TEXT_SIZE}, "standoff": 12}
    words = f"{UNITS[attention_map.options.weights]}, lines from {least * top:.2g} to {top:.3g}"
    return figure.update_layout(
        xaxis={"range": [0, 1], "showticklabels": False, "showgrid": False, "fixedrange": True, "title": words},
        yaxis={**rows, **left, "title": {"text": "Query (attending)", **beside}},
        yaxis2={
            **rows,
            **right,
            "title": {"text": "Key (attended to)", **beside},
            "overlaying": "y",
            "side": "right",
            "tickfont": {"size": TEXT_SIZE - 1},
        },
    )


def _run(queries: np.ndarray, keys: np.ndarray, strength: float, colour: str) -> dict[str, Any]:
    """Build one trace from lines of similar weight, separated by gaps."""
    gap = np.full(len(queries), np.nan, dtype=np.float32)
    return {
        "x": np.tile(np.array([0, 1, np.nan], dtype=np.float32), len(queries)),
        "y": np.stack([queries, keys, gap], axis=1).astype(np.float32).ravel(),
        "mode": "lines",
        "line": {"color": colour, "width": 0.6 + 3.4 * strength},
        "opacity": strength,
        "hoverinfo": "skip",
    }


@figure("lines", "attention_figure", "one head as lines (--layer, --head, --words)", reported=True)
def lines_figure(attention_map: AttentionMap, trace: Trace) -> FigureSpec:
    """Plot one attention map as lines from queries to keys."""
    return one_map(attention_lines, "lines from queries to keys", attention_map, trace)
