"""Figures of two checkpoints: values of one tensor in both, and differences of the models on one text."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.checkpoints.results import (
    Behaviour,
    ChangeHistograms,
    CheckpointComparison,
    Histogram,
    TensorChange,
    TensorGrid,
)
from bertviz_core.checkpoints.tables import change_frame, changes_frame, cosines_frame, divergences_frame
from bertviz_core.figures.base.axes import even_axes, token_axis, token_labels
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout, sequential
from bertviz_core.figures.checkpoints.weights import PLACES, tensor_map

ROW_HEIGHT, LEAST_ROWS, MOST_ROWS, AROUND = 30, 190, 380, 130
"""Pixels: height of a row of a map, minimum and maximum height of all rows, margins for title and axis."""
BESIDE_MAP = 150
"""Pixels for names and colour bar."""
GAP = 0.12
STANDOFF = 22
"""Pixels between the layer numbers and the axis title."""
LEAST_DISTANCE = 1e-3
"""Minimum distance of the ends of a cosine scale: values nearer to 1 are rounding errors."""


def histogram_pair(histograms: ChangeHistograms, models: tuple[str, str], title: str, theme: Theme) -> go.Figure:
    """Draw one tensor in two checkpoints: values on the left, differences on the right."""
    figure = go.Figure(layout=layout(theme, escape(title), height=380, bargap=0))
    for model, histogram, colour, dash in zip(
        models,
        (histograms.first, histograms.second),
        (theme.colours["embeddings"], theme.colours["task head"]),
        ("solid", "dot"),
        strict=True,
    ):
        x, y = _outline(histogram)
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            name=escape(model),
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate="%{y:,} values around %{x:.4g}<extra></extra>",
        )
    edges = histograms.difference.edges
    figure.add_bar(
        x=(edges[1:] + edges[:-1]) / 2,
        y=histograms.difference.counts,
        width=float(edges[1] - edges[0]),
        xaxis="x2",
        yaxis="y2",
        marker={"color": theme.colours["feed_forward"], "line": {"width": 0}},
        showlegend=False,
        hovertemplate="%{y:,} differences around %{x:.4g}<extra></extra>",
    )
    half = (1 - GAP) / 2
    figure.update_layout(
        xaxis={"domain": [0, half], "title": "value"},
        yaxis={"title": "count", "rangemode": "tozero"},
        xaxis2={"domain": [1 - half, 1], "title": "second − first", "anchor": "y2"},
        yaxis2={"anchor": "x2", "rangemode": "tozero"},
    )
    return even_axes(figure, theme)


def divergence_map(divergences: Float[np.ndarray, "layers heads"], title: str, theme: Theme) -> go.Figure:
    """Draw the Jensen-Shannon divergence of every head, on a scale from 0 to the largest."""
    layers, heads = divergences.shape
    rows = min(ROW_HEIGHT * layers, MOST_ROWS)
    top = float(divergences.max(initial=0)) or float(np.log(2))
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + max(rows, LEAST_ROWS)))
    figure.update_layout(plot_bgcolor=theme.grid)
    room, hover = (theme.pixels - BESIDE_MAP, max(rows, LEAST_ROWS)), "layer %{y}, head %{x}: %{z:.6f} nats"
    cells, scale = divergences.astype(np.float32), sequential(theme)
    add_cells(figure, cells, ".2g", scale, (0.0, top), room, "divergence in nats", hover)
    figure.update_xaxes(title="head", showgrid=False, dtick=max(1, -(-heads // 24)))
    title_beside = {"text": "layer", "standoff": STANDOFF}
    return figure.update_yaxes(title=title_beside, showgrid=False, autorange="reversed", dtick=max(1, -(-layers // 14)))


def state_names(states: int) -> list[str]:
    """Return the names of the hidden states: embeddings, then the output of each layer."""
    return ["embeddings", *(f"after layer {layer}" for layer in range(states - 1))]


def token_cosine_map(
    cosines: Float[np.ndarray, "states seq"], names: Sequence[str], title: str, theme: Theme
) -> go.Figure:
    """Draw the cosine of every token's vectors in two models, one row per entry of hidden_states.

    The scale begins at a round number below the smallest cosine, since related models differ little, and ends at 1.
    """
    states, seq = cosines.shape
    rows = max(min(ROW_HEIGHT * states, MOST_ROWS), LEAST_ROWS)
    low = 1 - round_limit(max(1 - float(cosines.min(initial=1)), LEAST_DISTANCE))
    entries = state_names(states)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + 30 + rows))
    room = (theme.pixels - BESIDE_MAP - 60, rows)
    places, hover = (
        [[[name, entry] for name in names] for entry in entries],
        "%{customdata[0]}, %{customdata[1]}: %{z:.4f}",
    )
    cells, scale = cosines.astype(np.float32), sequential(theme)
    add_cells(figure, cells, ".4f", scale, (low, 1.0), room, "cosine", hover, customdata=places)
    figure.update_xaxes(token_axis(names, int(room[0]), theme=theme), tickangle=-90 if seq > 12 else 0)
    step = max(1, -(-states * 18 // rows))
    ticks = {"tickvals": list(range(0, states, step)), "ticktext": entries[::step]}
    return figure.update_yaxes(showgrid=False, autorange="reversed", **ticks)


def _outline(histogram: Histogram) -> tuple[np.ndarray, np.ndarray]:
    """Return the upper outline of a histogram as a line."""
    x = np.repeat(histogram.edges, 2)
    return x, np.concatenate([[0], np.repeat(histogram.counts, 2), [0]])


@figure("changes", "checkpoint_changes", "how far each tensor moved to another checkpoint", table=changes_frame)
def changes_figure(change_grid: TensorGrid, comparison: CheckpointComparison, logarithmic: bool) -> FigureSpec:
    """Plot the change of each tensor."""
    title = f"Relative change — {comparison.first} to {comparison.second}"
    draw = partial(tensor_map, change_grid, title, "relative change", logarithmic=logarithmic)
    return FigureSpec(title, f"{title}: {PLACES}", draw)


@figure("change", "checkpoint_change", "one tensor in two checkpoints", table=change_frame)
def change_figure(
    value_histograms: ChangeHistograms, tensor_change: TensorChange, comparison: CheckpointComparison
) -> FigureSpec:
    """Plot one tensor in both checkpoints."""
    title = f"{tensor_change.name} — {comparison.first} and {comparison.second}"
    names = (f"first: {comparison.first}", f"second: {comparison.second}")
    alt = f"{title}: values in both, and their differences"
    return FigureSpec(title, alt, partial(histogram_pair, value_histograms, names, title))


def most_changed(comparison: CheckpointComparison) -> str:
    """Return the default tensor: the one with the largest change."""
    parameters = [each for each in comparison.tensors if not each.location.is_buffer]
    finite = [each for each in parameters if math.isfinite(each.relative_change) and each.first_norm > 0]
    return max(finite or parameters or comparison.tensors, key=lambda each: each.relative_change).name


@figure("cosines", "checkpoint_cosines", "two models' hidden states of a text", table=cosines_frame)
def cosines_figure(state_behaviour: Behaviour) -> FigureSpec:
    """Plot the cosine of both models' hidden states, token by token.

    Raises:
        ValueError: the comparison contains none.
    """
    if state_behaviour.cosines is None:
        raise ValueError("no cosines")
    title = f"Cosine of hidden states — {state_behaviour.first} to {state_behaviour.second}"
    draw = partial(token_cosine_map, state_behaviour.cosines, token_labels(state_behaviour.tokens), title)
    return FigureSpec(title, f"{title}, a row per layer", draw)


@figure("divergences", "checkpoint_divergences", "two models' attention on a text", table=divergences_frame)
def divergences_figure(attention_behaviour: Behaviour) -> FigureSpec:
    """Plot the divergence of both models' attention, head by head.

    Raises:
        ValueError: the comparison contains none.
    """
    if attention_behaviour.divergences is None:
        raise ValueError("no divergences")
    title = f"Divergence of attention — {attention_behaviour.first} to {attention_behaviour.second}"
    draw = partial(divergence_map, attention_behaviour.divergences, title)
    return FigureSpec(title, f"{title}, layers by heads", draw)
