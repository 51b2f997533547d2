"""Titles, units and colour bars of attention figures."""

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
ROOT_ROOM = 0.88
"""Largest share of a bar of roots at which a tick below its upper end has room."""
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
"""Connection of an attention map and its layer in a title, for readings that combine all heads."""


def attention_title(attention_map: AttentionMap, model: str) -> str:
    """Return the title of a map."""
    kind = KINDS[attention_map.options.weights]
    if attention_map.head is None:
        return f"{kind} {WHERE[attention_map.options.weights]} layer {attention_map.layer} — {model}"
    return f"{kind} of layer {attention_map.layer}, head {attention_map.head} — {model}"


def all_heads_title(options: MapOptions, model: str) -> str:
    """Return the title of the maps of all heads."""
    of = f"{WHERE[options.weights]} each layer" if options.weights in OF_LAYERS else "of all heads"
    return f"{KINDS[options.weights]} {of} — {model}"


def one_map(draw: Callable[..., go.Figure], description: str, attention_map: AttentionMap, trace: Trace) -> FigureSpec:
    """Build the figure of one map.

    Args:
        draw: draws a map, given the positions of special tokens, a title and a theme.
        description: alternative text.
        attention_map: the map.
        trace: run of the map.
    """
    title = attention_title(attention_map, trace.model)
    special = np.flatnonzero(trace.tokens.special).tolist()
    drawn = partial(draw, attention_map, special, title, second=trace.tokens.second_start)
    return FigureSpec(title, f"{title}: {description}", drawn)


def attention_bar(unit: str, top: float, full: float, root: bool = False) -> dict[str, Any]:
    """Return a bar with labelled ends for cells from 0 to `full` that represent 0 to `top`.

    Args:
        unit: unit of the values.
        top: largest value.
        full: cell value of the largest value.
        root: whether cells contain the square root of their share.
    """
    bar = colour_bar(unit, 0, top, (0, full))
    if root:
        places = [(full * place) ** 0.5 for place in bar["tickvals"]]
        # Roots are dense at the upper end, whose label needs room.
        clear = [at for at, place in enumerate(places) if place <= ROOT_ROOM * full or at == len(places) - 1]
        bar["tickvals"] = [places[at] for at in clear]
        bar["ticktext"] = [bar["ticktext"][at] for at in clear]
    return bar


def divide(figure: go.Figure, first_row: int | None, first_column: int | None, theme: Theme, **where: int) -> go.Figure:
    """Add dashed lines before the first row and column of the second text."""
    line = {"color": theme.text, "width": 1.5, "dash": "dash"}
    if first_row is not None:
        figure.add_hline(y=first_row - 0.5, line=line, **where)
    if first_column is not None:
        figure.add_vline(x=first_column - 0.5, line=line, **where)
    return figure
