"""Titles, units and colour bars that the figures of attention share."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.attention.results import OF_LAYERS, AttentionMap, MapOptions, Weights
from bertviz_core.figures.base.colour_bars import colour_bar
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.trace.results import Trace

WORDS: dict[Weights, str] = {
    "attention": "attention weight",
    "value-weighted": "value-weighted norm",
    "rollout": "rollout share",
    "value-zeroing": "value zeroing share",
}
UNITS: dict[Weights, str] = {
    "attention": "weight",
    "value-weighted": "norm",
    "rollout": "share",
    "value-zeroing": "share",
}
KINDS: dict[Weights, str] = {
    "attention": "Attention",
    "value-weighted": "Value-weighted attention",
    "rollout": "Attention rollout",
    "value-zeroing": "Value zeroing",
}
WHERE: dict[Weights, str] = {"rollout": "up to", "value-zeroing": "in"}
"""How a title joins a reading of all heads together with its layer."""


def attention_title(attention_map: AttentionMap, model: str) -> str:
    """Title of a map."""
    kind = KINDS[attention_map.options.weights]
    if attention_map.head is None:
        return f"{kind} {WHERE[attention_map.options.weights]} layer {attention_map.layer} — {model}"
    return f"{kind} of layer {attention_map.layer}, head {attention_map.head} — {model}"


def all_heads_title(options: MapOptions, model: str) -> str:
    """Title of the maps of all heads."""
    of = f"{WHERE[options.weights]} each layer" if options.weights in OF_LAYERS else "of all heads"
    return f"{KINDS[options.weights]} {of} — {model}"


def one_map(draw: Callable[..., go.Figure], seen: str, attention_map: AttentionMap, trace: Trace) -> FigureSpec:
    """A figure of one map.

    Args:
        draw: makes it of the map, the places of special tokens, a title and a theme.
        seen: what is seen in it.
        attention_map: the map.
        trace: the run that it is of.
    """
    title = attention_title(attention_map, trace.model)
    special = np.flatnonzero(trace.tokens.special).tolist()
    drawn = partial(draw, attention_map, special, title, second=trace.tokens.second_start)
    return FigureSpec(title, f"{title}: {seen}", drawn)


def attention_bar(unit: str, top: float, full: float, root: bool = False) -> dict[str, Any]:
    """A bar with round ticks for cells that go from 0 to `full` and stand for 0 to `top`.

    Args:
        unit: what the values are.
        top: largest value.
        full: what a cell of the largest value holds.
        root: whether cells hold the square root of their share.
    """
    bar = colour_bar(unit, 0, top, (0, full))
    if root:
        bar["tickvals"] = [(full * place) ** 0.5 for place in bar["tickvals"]]
    return bar


def divide(figure: go.Figure, first_row: int | None, first_column: int | None, theme: Theme, **where: int) -> go.Figure:
    """Add dashed lines before the first row and column of the second text."""
    line = {"color": theme.text, "width": 1.5, "dash": "dash"}
    if first_row is not None:
        figure.add_hline(y=first_row - 0.5, line=line, **where)
    if first_column is not None:
        figure.add_vline(x=first_column - 0.5, line=line, **where)
    return figure
