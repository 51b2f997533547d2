"""Maps of hidden states: values, one number per token and layer, similarities with a slider over the layers."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import token_axis, token_labels
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, diverging, escape, layout, sequential
from bertviz_core.trace.results import Trace

EXACT_CELLS = 100_000
"""Up to here every cell goes over the wire as float32; beyond, as int16 steps of the range."""
HEIGHT = 520


class CodedValues(NamedTuple):
    """Values as they go over the wire."""

    cells: Float[np.ndarray, "seq window"]
    """float32, or int16 where there are many."""
    top: float
    """The cell that stands for the largest value; the scale goes from its negative to it."""
    ticks: dict[str, Any]
    """Of the colour bar, in real units."""


def bytes_per_cell(cells: int) -> int:
    """4 where every cell is drawn as it is, 2 where there are too many for that."""
    return 4 if cells <= EXACT_CELLS else 2


def coded_values(values: Float[np.ndarray, "seq window"]) -> CodedValues:
    """Hidden states as a heatmap draws them, with the settings of their scale."""
    limit = float(np.abs(values).max(initial=0)) or 1.0
    if bytes_per_cell(values.size) == 4:
        return CodedValues(values.astype(np.float32), limit, _ticks(limit, limit))
    return CodedValues((values / limit * 32767).round().astype(np.int16), 32767, _ticks(limit, 32767))


def values_heatmap(
    values: Float[np.ndarray, "seq window"], names: Sequence[str], first: int, title: str, theme: Theme
) -> go.Figure:
    """Hidden states of one entry, tokens by dimensions, 0 at the middle of a symmetric scale.

    Args:
        values: one row per token.
        names: labels of the tokens.
        first: number of the first dimension drawn.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    seq, window = values.shape
    coded = coded_values(values)
    exact = coded.cells.dtype == np.float32
    figure = go.Figure(layout=_heatmap_layout(title, theme, seq))
    figure.add_heatmap(
        x=np.arange(first, first + window, dtype=np.int32),
        y=np.arange(seq, dtype=np.int32),
        z=coded.cells,
        zmin=-coded.top,
        zmax=coded.top,
        colorscale=diverging(theme),
        colorbar=_colorbar("value", coded.ticks),
        hovertemplate="token %{y}, dimension %{x}" + (": %{z:.6f}" if exact else "") + "<extra></extra>",
    )
    figure.update_xaxes(title="dimension", showgrid=False)
    figure.update_yaxes(token_axis(names, HEIGHT - 130), autorange="reversed")
    # Margins given, not measured: measuring lays the picture out twice, and this one is redrawn at every switch.
    longest = max((len(name) for name in names), default=1)
    figure.update_layout(margin={"l": 30 + 8 * min(longest, 20), "r": 16, "b": 56}, xaxis_automargin=False)
    return figure.update_yaxes(automargin=False)


def layer_map(
    values: Float[np.ndarray, "rows seq"], names: Sequence[str], first_layer: int, title: str, unit: str, theme: Theme
) -> go.Figure:
    """One number per token and layer; cosines on a scale that ends at 1, lengths on one that begins at 0."""
    rows, seq = values.shape
    cosines = unit == "cosine"
    low = min(0.0, float(values.min(initial=0))) if cosines else 0.0
    figure = go.Figure(layout=_heatmap_layout(title, theme, rows))
    figure.add_heatmap(
        x=list(range(seq)),
        y=list(range(first_layer, first_layer + rows)),
        z=values.astype(np.float32),
        zmin=low,
        zmax=1.0 if cosines else float(values.max(initial=0)) or 1.0,
        colorscale=sequential(theme),
        colorbar={"title": {"text": unit, "side": "right"}, "thickness": 14},
        customdata=np.broadcast_to(np.array(names, dtype=object), (rows, seq)).tolist(),
        hovertemplate=f"%{{customdata}}, layer %{{y}}: %{{z:{'.4f' if cosines else '.3f'}}}<extra></extra>",
    )
    figure.update_xaxes(token_axis(names, 860), tickangle=-90 if seq > 12 else 0)
    figure.update_yaxes(title="layer", showgrid=False, dtick=max(1, rows // 14))
    return figure


def similarity_scrubber(
    cosines: Float[np.ndarray, "states seq seq"], names: Sequence[str], layer: int, title: str, theme: Theme
) -> go.Figure:
    """Cosine of every token to every other; a slider below runs through the layers inside the browser."""
    states, seq, _ = cosines.shape
    exact = cosines.size <= 250_000
    drawn = cosines.astype(np.float32) if exact else (cosines * 127).round().astype(np.int8)
    figure = go.Figure(layout=_heatmap_layout(title, theme, seq))
    figure.add_heatmap(
        x=list(range(seq)),
        y=list(range(seq)),
        z=drawn[layer],
        zmin=-1 if exact else -127,
        zmax=1 if exact else 127,
        colorscale=diverging(theme),
        colorbar=_colorbar("cosine", _ticks(1.0, 1 if exact else 127)),
        customdata=[[f"{row} · {column}" for column in names] for row in names] if exact else None,
        hovertemplate="%{customdata}: %{z:.4f}<extra></extra>" if exact else None,
        hoverinfo=None if exact else "skip",
    )
    figure.frames = [go.Frame(data=[go.Heatmap(z=drawn[state])], name=str(state)) for state in range(states)]
    figure.update_xaxes(token_axis(names, 560), tickangle=-90 if seq > 8 else 0)
    figure.update_yaxes(token_axis(names, HEIGHT - 60), autorange="reversed")
    figure.update_layout(sliders=[_scrubber(states, layer, theme)], height=HEIGHT + 130)
    return figure


def _heatmap_layout(title: str, theme: Theme, rows: int) -> go.Layout:
    return layout(theme, escape(title), height=max(300, min(HEIGHT, 150 + 34 * rows)))


def _colorbar(title: str, ticks: dict[str, Any]) -> dict[str, Any]:
    return {"title": {"text": title, "side": "right"}, "thickness": 14, "ticklabeloverflow": "allow", **ticks}


def _ticks(limit: float, top: float) -> dict[str, Any]:
    """Ticks of a colour bar in real units, whatever the numbers drawn are: top is what stands for the limit."""
    shares = (-1, -0.5, 0, 0.5, 1)
    return {"tickvals": [share * top for share in shares], "ticktext": [f"{share * limit:.3g}" for share in shares]}


def _scrubber(states: int, layer: int, theme: Theme) -> dict[str, Any]:
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    steps = [{"label": str(state), "method": "animate", "args": [[str(state)], still]} for state in range(states)]
    return {
        "active": layer,
        "steps": steps,
        "currentvalue": {"prefix": "layer ", "font": {"size": TEXT_SIZE + 1}},
        "bordercolor": theme.muted,
        "bgcolor": theme.neutral,
        "activebgcolor": theme.colours["embeddings"],
        "tickcolor": theme.muted,
        "font": {"size": TEXT_SIZE - 1, "color": theme.text},
        "pad": {"t": 90},
        "x": 0,
        "len": 1,
    }


LENGTH, BEFORE, INPUT = "length", "against the layer before", "against its own input"
"""What one number per token and layer can be."""


@figure("hidden", "representations_values", "hidden states of one entry (--layer, --first, --window)")
def values_figure(trace: Trace, state: int, first_dimension: int, window: int) -> FigureSpec:
    """Hidden states of one entry, a window of dimensions wide."""
    values = trace.hidden_states[state][:, first_dimension : first_dimension + window]
    last = first_dimension + values.shape[1] - 1
    title = f"Hidden states of layer {state}, dimensions {first_dimension} to {last} - {trace.model}"
    alt = f"{title}: tokens by dimensions, symmetric scale"
    return FigureSpec(title, alt, partial(values_heatmap, values, token_labels(trace.tokens), first_dimension, title))


@figure("norms", "representations_change", "one number per token and layer (--map length, before, input)")
def change_figure(token_measures: Float[np.ndarray, "rows seq"], trace: Trace, measure: str) -> FigureSpec:
    """One number per token and layer.

    Args:
        token_measures: the numbers; where there are fewer rows than hidden states, those of the last ones.
        trace: the run.
        measure: LENGTH, BEFORE or INPUT.
    """
    words = "Length of each token's vector" if measure == LENGTH else f"Cosine {measure}"
    title = f"{words}, layer by layer - {trace.model}"
    unit, first = ("norm" if measure == LENGTH else "cosine"), len(trace.hidden_states) - len(token_measures)
    draw = partial(layer_map, token_measures, token_labels(trace.tokens), first, title, unit)
    return FigureSpec(title, f"{title}: tokens by layers", draw)


@figure("similarity", "representations_similarity", "cosine of every token to every other (--layer)", ("tokens",))
def token_similarity_figure(
    token_cosines: Float[np.ndarray, "states seq seq"], trace: Trace, first_token: int, state: int
) -> FigureSpec:
    """Every token against every other, with a slider over the layers.

    Args:
        token_cosines: of a run of tokens.
        trace: the run.
        first_token: position of the first of them.
        state: where the slider stands.
    """
    names = token_labels(trace.tokens)[first_token : first_token + token_cosines.shape[1]]
    title = f"Cosine of every token to every other - {trace.model}"
    alt = f"{title}, with a slider over the layers"
    return FigureSpec(title, alt, partial(similarity_scrubber, token_cosines, names, state, title))
