"""How pictures of attention are read: their titles and units, a scale with round ticks, where a second text begins."""

from math import floor, log10
from typing import Any

import plotly.graph_objects as go

from bertviz_core.attention.results import AttentionMap, MapOptions
from bertviz_core.figures.base.style import TEXT_SIZE, Theme

WORDS = {"attention": "attention weight", "rollout": "rollout share", "value-weighted": "value-weighted norm"}
UNITS = {"attention": "weight", "rollout": "share", "value-weighted": "norm"}
KINDS = {"attention": "Attention", "value-weighted": "Value-weighted attention", "rollout": "Attention rollout"}


def attention_title(attention_map: AttentionMap, model: str) -> str:
    """What a map is, for a slide."""
    kind = KINDS[attention_map.options.weights]
    if attention_map.head is None:
        return f"{kind} up to layer {attention_map.layer} — {model}"
    return f"{kind} of layer {attention_map.layer}, head {attention_map.head} — {model}"


def all_heads_title(options: MapOptions, model: str) -> str:
    """What the maps of all heads are, for a slide."""
    of = "up to each layer" if options.weights == "rollout" else "of all heads"
    return f"{KINDS[options.weights]} {of} — {model}"


def round_ticks(top: float, most: int = 6) -> list[float]:
    """Round values from 0 to the top in even steps of 1, 2 or 5 times a power of ten."""
    if top <= 0:
        return [0.0]
    power = 10.0 ** floor(log10(top))
    step = next(step * power for step in (0.1, 0.2, 0.5, 1, 2) if top / (step * power) <= most)
    return [place * step for place in range(floor(top / step + 1e-9) + 1)]


def colour_bar(unit: str, top: float, full: float, root: bool = False) -> dict[str, Any]:
    """A bar with round ticks for cells that go from 0 to `full` and stand for 0 to `top`.

    Args:
        unit: what the values are.
        top: largest value.
        full: what a cell of the largest value holds.
        root: whether cells hold the square root of their share.
    """
    values = round_ticks(top)
    shares = [value / (top or 1.0) for value in values]
    return {
        "title": {"text": unit, "side": "right"},
        "tickvals": [full * (share**0.5 if root else share) for share in shares],
        "ticktext": [f"{value:.6g}" for value in values],
        "tickfont": {"size": TEXT_SIZE - 1},
        "thickness": 16,
    }


def divide(figure: go.Figure, first_row: int | None, first_column: int | None, theme: Theme, **where: int) -> go.Figure:
    """The figure with dashed lines before this row and column of the second text of a pair."""
    line = {"color": theme.text, "width": 1.5, "dash": "dash"}
    if first_row is not None:
        figure.add_hline(y=first_row - 0.5, line=line, **where)
    if first_column is not None:
        figure.add_vline(x=first_column - 0.5, line=line, **where)
    return figure
