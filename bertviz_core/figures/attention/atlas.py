"""Draw the attention of all heads as small maps, one row per layer and one column per head, on one scale."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, UInt

from bertviz_core.attention.results import OF_LAYERS, AttentionAtlas
from bertviz_core.figures.attention.reading import WORDS, all_heads_title, attention_bar
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout, sequential
from bertviz_core.trace.results import Trace

HEIGHT, MARGINS, WIDTH = 860, 130, 820
"""Maximum height of the figure, margins around the maps, and approximate width of the plot, in pixels."""
MOST_CELLS = 600_000
"""Maximum number of cells; larger maps are max-pooled again."""
LIFTED = 48
"""Length above which colours follow the square root, since weights are small, as in the attention view."""
LEVELS = 255


def atlas_heatmap(atlas: AttentionAtlas, title: str, theme: Theme) -> go.Figure:
    """Draw the maps of all heads on one scale, from 0 to the largest weight."""
    maps = _pooled(atlas.thumbnails)
    layers, heads, rows, columns = maps.shape
    lifted = len(atlas.queries) > LIFTED
    top = float(maps.max(initial=0)) or 1.0
    cells = _side_by_side(maps, top, lifted)
    height = MARGINS + min(HEIGHT - MARGINS, max(120, round(WIDTH * layers / heads)))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    figure.add_heatmap(
        z=cells,
        zmin=0,
        zmax=LEVELS,
        colorscale=sequential(theme),
        colorbar=attention_bar(WORDS[atlas.options.weights], top, LEVELS, lifted),
        hoverinfo="skip",
    )
    line = {"color": theme.muted, "width": 1}
    down = [{"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain"} for x in np.arange(heads + 1) * columns - 0.5]
    across = [{"y0": y, "y1": y, "x0": 0, "x1": 1, "xref": "x domain"} for y in np.arange(layers + 1) * rows - 0.5]
    # All at once: add_vline checks every earlier line again.
    figure.update_layout(shapes=[{"type": "line", "line": line, **ends} for ends in (*down, *across)])
    names = [str(head) for head in range(heads)] if atlas.options.weights not in OF_LAYERS else ["all"]
    figure.update_xaxes(_middles(names, columns), title="head", range=[-0.5, heads * columns - 0.5], showgrid=False)
    figure.update_yaxes(_middles([str(layer) for layer in range(layers)], rows), title="layer", showgrid=False)
    return figure.update_yaxes(range=[layers * rows - 0.5, -0.5])


def _pooled(maps: Float[np.ndarray, "layers heads rows columns"]) -> Float[np.ndarray, "layers heads rows2 columns2"]:
    """Max-pool the maps if there are too many cells."""
    layers, heads, rows, columns = maps.shape
    factor = 1
    while layers * heads * -(-rows // factor) * -(-columns // factor) > MOST_CELLS and factor < max(rows, columns):
        factor += 1
    if factor == 1:
        return maps
    down, across = np.arange(0, rows, factor), np.arange(0, columns, factor)
    return np.maximum.reduceat(np.maximum.reduceat(maps, down, axis=2), across, axis=3)


def _side_by_side(
    maps: Float[np.ndarray, "layers heads rows columns"], top: float, lifted: bool
) -> UInt[np.ndarray, "high wide"]:
    """Arrange all maps in one array of 256 shades."""
    layers, heads, rows, columns = maps.shape
    shares = np.clip(maps.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns) / np.float32(top), 0, 1)
    return ((np.sqrt(shares) if lifted else shares) * LEVELS).round().astype(np.uint8)


def _middles(names: list[str], size: int) -> dict[str, object]:
    """Return ticks at the centre of every map, thinned if there are many."""
    step = max(1, -(-len(names) // 24))
    return {
        "tickmode": "array",
        "tickvals": [place * size + (size - 1) / 2 for place in range(0, len(names), step)],
        "ticktext": names[::step],
    }


@figure("atlas", "attention_atlas", "what all heads look at (--words)", reported=True)
def atlas_figure(atlas: AttentionAtlas, trace: Trace) -> FigureSpec:
    """Plot all heads, one small map each."""
    layers, heads = atlas.thumbnails.shape[:2]
    title = all_heads_title(atlas.options, trace.model)
    alt = f"{title}: {layers} layers by {heads} heads, in each cell a map of queries by keys"
    return FigureSpec(title, alt, partial(atlas_heatmap, atlas, title))
