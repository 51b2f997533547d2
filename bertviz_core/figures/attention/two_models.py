"""Draw the attention of a head in two models with the difference, and which heads changed most."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from plotly.subplots import make_subplots

from bertviz_core.attention.results import OF_LAYERS, AttentionComparison, AttentionMap
from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.figures.attention.maps import APART, KINDS, PART_HEIGHT, STACKED, UNITS, WORDS, axis_labels, divide
from bertviz_core.figures.base.axes import even_axes, label_width, shortened_label, token_axis, token_text
from bertviz_core.figures.base.marks import add_heading
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import (
    TEXT_SIZE,
    THICKNESS,
    Theme,
    colour_bar,
    diverging,
    escape,
    layout,
    round_limit,
    sequential,
)
from bertviz_core.figures.checkpoints.comparison import divergence_map
from bertviz_core.figures.predictions.classes import signed_difference
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import digits

DIFFERENCE = "second − first"
AROUND = 190
"""Pixels above and below the maps of one row, for title, headings and tokens."""
HEADING = 22
"""Pixels of a map's name below the title."""
BAR, BESIDE_MAPS = 90, 40
"""Pixels of the colour bar beside the difference; between two maps, and beside the first for its tokens, about."""


LABEL_ROOM = 40
"""Pixels of upright labels for which there is room between two stacked maps; longer ones move them apart."""


def compared_heatmaps(comparison: AttentionComparison, title: str, theme: Theme) -> go.Figure:
    """Draw both maps on one scale from 0, and their difference around 0: side by side, stacked on a phone."""
    maps = (comparison.first, comparison.second)
    top = max(float(each.weights.max(initial=0)) for each in maps) or 1.0
    count, change = (2 if comparison.difference is None else 3), comparison.difference
    across = 1 if theme.slim else count
    labels = [label_width(token_text(key), TEXT_SIZE - 1) for each in maps for key in each.keys.labels]
    longer = max(0.0, max(labels, default=0.0) - LABEL_ROOM) if theme.slim else 0.0  # where they stand upright
    height = count * (STACKED + round(longer)) if theme.slim else PART_HEIGHT
    spacing = {"vertical_spacing": (APART + longer) / height if theme.slim else 0.0}
    spacing |= {"horizontal_spacing": 0.03 if change is not None else 0.12}
    figure = make_subplots(rows=count // across, cols=across, shared_yaxes=change is not None and across > 1, **spacing)
    figure.update_layout(layout(theme, escape(title), height=height))
    width = (theme.pixels - BAR) / across - BESIDE_MAPS
    for place, each in enumerate((*maps, *(() if change is None else (comparison.second,)))):
        where = {"row": place // across + 1, "col": place % across + 1}
        of_difference = place == len(maps)
        if of_difference and change is not None:
            _add_difference(figure, change, UNITS[each.options.weights], theme, where)
        else:
            _add_map(figure, each, top, theme, where)
        heading = DIFFERENCE if of_difference else f"{('first', 'second')[place]}: {comparison.models[place]}"
        _name_map(figure, place, shortened_label(escape(heading), width, TEXT_SIZE))
        tokens = comparison.tokens[min(place, 1)]
        special = np.flatnonzero(tokens.special).tolist()
        scale = DIFFERENCE if of_difference else f"{WORDS[each.options.weights]}, 0 to {top:.3g}"
        names = [axis_labels(axis, special) for axis in (each.queries, each.keys)]
        figure.update_xaxes(token_axis(names[1], round(width)), title=scale, tickangle=-90, showgrid=False, **where)
        rows = token_axis(names[0], STACKED - APART if theme.slim else PART_HEIGHT - AROUND)
        figure.update_yaxes(rows, autorange="reversed", showgrid=False, **where)
        second = tokens.second_start
        divide(figure, each.queries.second_entry(second), each.keys.second_entry(second), theme, **where)
    even_axes(figure, theme)
    figure.layout.margin.t += HEADING
    return figure.update_layout(template=go.layout.Template(), paper_bgcolor=theme.paper, plot_bgcolor=theme.paper)


def _add_map(figure: go.Figure, attention_map: AttentionMap, top: float, theme: Theme, where: dict[str, int]) -> None:
    hover = "query %{y}, key %{x}: %{z:.5f}<extra></extra>"
    cells = attention_map.weights.astype(np.float32)
    figure.add_heatmap(
        z=cells, zmin=0, zmax=top, colorscale=sequential(theme), showscale=False, hovertemplate=hover, **where
    )


def _add_difference(
    figure: go.Figure, change: Float[np.ndarray, "queries keys"], unit: str, theme: Theme, where: dict[str, int]
) -> None:
    limit = round_limit(float(np.nanmax(np.abs(change), initial=0)))
    domain = figure.layout["yaxis" + (str(len(figure.data) + 1) if figure.data else "")].domain
    bar: dict[str, Any] = {**colour_bar(unit, -limit, limit), "thickness": THICKNESS, "lenmode": "fraction"}
    bar |= {"len": domain[1] - domain[0], "y": domain[0], "yanchor": "bottom"}
    scale = {"zmin": -limit, "zmax": limit, "colorscale": diverging(theme), "colorbar": bar}
    hover = f"query %{{y}}, key %{{x}}: %{{z:.5f}}<extra>{DIFFERENCE}</extra>"
    figure.add_heatmap(z=change.astype(np.float32), hovertemplate=hover, **scale, **where)


def _name_map(figure: go.Figure, place: int, name: str) -> None:
    """Write the name of a map above its left corner."""
    number = str(place + 1) if place else ""
    add_heading(figure, name, 0, 1, xref=f"x{number} domain", yref=f"y{number} domain")


def compared_title(comparison: AttentionComparison) -> str:
    """Return the title: the kind of weights, layer and head of both models, and their names."""
    maps = (comparison.first, comparison.second)
    weights = comparison.first.options.weights
    of_layer = weights in OF_LAYERS
    places = [f"layer {each.layer}" + ("" if of_layer else f", head {each.head}") for each in maps]
    names = comparison.models[0] if comparison.same_model else " and ".join(comparison.models)
    if places[0] == places[1]:
        return f"{KINDS[weights]} of {places[0]} — {names}"
    return f"{KINDS[weights]} — {comparison.models[0]}, {places[0]}, and {comparison.models[1]}, {places[1]}"


def attention_comparison_frame(attention_comparison: AttentionComparison) -> "pd.DataFrame":
    """One row per query and key: its weight in both models and the difference.

    Where rows or columns are not the same, the rows of the first model come first, and the other's weight is empty.
    """
    change = attention_comparison.difference
    if change is not None:
        frame = _cells(attention_comparison.first).rename(columns={"weight": "first"})
        return frame.assign(second=attention_comparison.second.weights.ravel().astype(float), difference=change.ravel())
    sides = (("first", attention_comparison.first), ("second", attention_comparison.second))
    return pd.concat(
        [_cells(each).rename(columns={"weight": side}) for side, each in sides], ignore_index=True
    )  # fmt: skip


def _cells(attention_map: AttentionMap) -> "pd.DataFrame":
    queries, keys = (
        [f"{place} {label}" for place, label in enumerate(axis.labels)]
        for axis in (attention_map.queries, attention_map.keys)
    )
    columns = {"query": np.repeat(queries, len(keys)), "key": np.tile(keys, len(queries))}
    return pd.DataFrame({**columns, "weight": attention_map.weights.ravel().astype(float)})


def changed_heads_frame(run_comparison: Behaviour) -> "pd.DataFrame":
    """One row per head with the divergence of its attention in nats, the largest first."""
    values = divergences_of(run_comparison)
    layers, heads = np.indices(values.shape)
    frame = pd.DataFrame({"layer": layers.ravel(), "head": heads.ravel(), "divergence": values.ravel().astype(float)})
    return frame.sort_values("divergence", ascending=False, kind="stable").reset_index(drop=True)


def divergences_of(run_comparison: Behaviour) -> np.ndarray:
    """The divergence of every head, of two runs that have as many layers and heads."""
    if run_comparison.divergences is None:
        raise ValueError("no divergences")
    return run_comparison.divergences


@figure("attention-compared", "attention_compared", table=attention_comparison_frame)
def attention_compared_figure(attention_comparison: AttentionComparison) -> FigureSpec:
    """What one head looks at in two models (--layer, --head, --words, --set other=, other_layer=, other_head=)."""
    compared, change = attention_comparison, attention_comparison.difference
    title = compared_title(compared)
    caption, alt = title, f"{title}: two maps of queries by keys"
    if change is not None and change.size:
        query, key = np.unravel_index(int(np.nanargmax(np.abs(change))), change.shape)
        names = compared.first.queries.labels[query], compared.first.keys.labels[key]
        largest = signed_difference(float(change[query, key]))
        alt = f"{title}: two maps and their difference, largest from {names[0]} to {names[1]}: {largest}"
        caption = f"{title}. Third map: {DIFFERENCE}."
    return FigureSpec.of(title, alt, caption, compared_heatmaps, compared)


@figure("attention-changed", "attention_changed", table=changed_heads_frame)
def attention_changed_figure(run_comparison: Behaviour) -> FigureSpec:
    """How far the attention of every head is apart in two models (--set other=)."""
    values = divergences_of(run_comparison)
    names = tuple(dict.fromkeys((run_comparison.first, run_comparison.second)))
    title = f"How far each head's attention is apart — {' and '.join(names)}"
    layer, head = np.unravel_index(int(values.argmax()), values.shape)
    largest = float(values[layer, head])
    most = f"largest for layer {layer}, head {head}: {digits(largest, 2)} nats" if largest else "0 for every head"
    caption = f"{title}. Jensen-Shannon divergence, mean over the queries; {most}."
    return FigureSpec.of(title, f"{title}: {most}", caption, divergence_map, values)
