"""Draw maps of heads: one product per head, and the norms of all heads of all layers."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import LABEL_PIXELS, even_axes, token_axis, token_labels
from bertviz_core.figures.base.panels import Panel, PanelGrid, head_panels
from bertviz_core.figures.base.second_text import mark_second_text, second_text_start
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, sequential
from bertviz_core.figures.heads.quantised_cells import MOST_CELLS, pool_step, pooled, scale_limit, signed_axis, steps
from bertviz_core.figures.heads.weight_matrix import HEIGHT, SYMBOLS, subscript, subscripted
from bertviz_core.heads.results import BLOCKS, Block, FusedVsPerHead
from bertviz_core.text import counted
from bertviz_core.trace.results import Tokens

MOST_NAMES = 14
"""Maximum number of head names side by side."""
ROW, MOST_ROWS = 26, 250
"""Height of a layer's row, and maximum height of a map, in pixels."""
EDGES = (46, 56)
"""Pixels at the left and right of the maps."""
BETWEEN, BELOW = 0.1, 88
"""Distance between maps: side by side for a colour bar, as a share of the width; stacked for titles and labels, in
pixels."""
EACH, BOTH, TALLEST = 0.45, 102, 640
"""Share of one of two maps of products; pixels beside their rows, and maximum height of the figure."""
ABOVE = (84, 40)
"""Pixels above and below all maps."""


def product_maps(
    products: FusedVsPerHead, names: Sequence[str], second_text: int | None, title: str, theme: Theme
) -> go.Figure:
    """Draw all heads' vectors of all tokens twice: from one product above, from one per head below, on one scale."""
    heads, seq, dim = products.fused.shape
    limit = scale_limit(products.fused.reshape(-1, dim))
    height = max(HEIGHT, min(TALLEST, BOTH + math.ceil(seq * LABEL_PIXELS / EACH)))
    figure = go.Figure(layout=layout(theme, subscripted(escape(title)), height=height))
    figure.update_layout(coloraxis=signed_axis(limit, "value", theme), margin={"r": 16, "t": 92, "b": 8})
    step = pool_step(products.fused.size, MOST_CELLS // 2)
    for row, values in enumerate((products.fused, products.per_head)):
        cells = steps(pooled(values.transpose(1, 0, 2).reshape(seq, heads * dim), step), limit)
        places = {"x0": (step - 1) / 2, "dx": step, "y0": (step - 1) / 2, "dy": step}
        axes = {"xaxis": "x", "yaxis": "y2" if row else "y"}
        figure.add_heatmap(z=cells, coloraxis="coloraxis", hoverinfo="skip", **places, **axes)
    ticks = {**token_axis(names, round((height - BOTH) * EACH)), "range": [seq - 0.5, -0.5], "showgrid": False}
    figure.update_layout(yaxis={**ticks, "domain": [1 - EACH, 1]}, yaxis2={**ticks, "domain": [0, EACH], "anchor": "x"})
    notes = [
        _note("<b>one product, cut into heads</b>", 0, 1.06, theme.text, "left"),
        _note(f"<b>{heads} products, side by side</b>", 0, EACH, theme.text, "left"),
    ]
    # All at once: plotly validates all of them at each addition.
    figure.update_layout(shapes=_cut_lines(heads, dim, theme), annotations=[*notes, *_head_names(heads, dim, theme)])
    title_below = "row of the matrix: dimension of the output"
    figure.update_xaxes(title=title_below, range=[-0.5, heads * dim - 0.5], showgrid=False, anchor="y2")
    if second_text is not None:
        figure.update_layout(coloraxis={"colorbar": {"xpad": 30}})
    for axis in ("y", "y2"):
        mark_second_text(figure, second_text, seq, theme, axis, "x")
    return even_axes(figure, theme)


def norm_maps(norms: Float[np.ndarray, "layers heads blocks"], title: str, theme: Theme) -> go.Figure:
    """Draw four maps of layers by heads, each from 0: norms of every head's block of W_q, W_k, W_v, W_o."""
    columns = 1 if theme.slim else 2
    lines, rows = len(BLOCKS) // columns, max(120, min(MOST_ROWS, ROW * len(norms)))
    height = sum(ABOVE) + lines * rows + (lines - 1) * BELOW
    below = BELOW / (height - sum(ABOVE))
    tall = (1 - (lines - 1) * below) / lines
    margin = {"t": ABOVE[0], "b": ABOVE[1], "r": EDGES[1], "l": EDGES[0]}
    grid = PanelGrid(columns, height, rows, tall, below, BETWEEN, sum(EDGES), margin, every_line_named=True, hung=True)
    ticks = min(5, int(rows - 3 * TEXT_SIZE) // (2 * TEXT_SIZE))  # below the title of the bar
    bar = {"title": {"text": "norm", "side": "top"}}
    panels = [
        Panel(
            f"<b>{subscript(SYMBOLS[block])}</b> {block}",
            subscript(SYMBOLS[block]),
            norms[:, :, index].astype(np.float32),
            sequential(theme),
            (0.0, _highest(norms[:, :, index].astype(np.float32))),
            "norm",
            ".1f",
            bar=bar,
            most_ticks=ticks,
        )
        for index, block in enumerate(BLOCKS)
    ]
    return head_panels(panels, grid, title, theme)


def _highest(values: Float[np.ndarray, "layers heads"]) -> float:
    """Return the largest norm of a map; 1 if there is none above 0."""
    return float(values[np.isfinite(values)].max(initial=0.0)) or 1.0


def _cut_lines(heads: int, dim: int, theme: Theme) -> list[dict[str, Any]]:
    line = {"type": "line", "y0": 0, "y1": 1, "line": {"color": theme.text, "width": 1}}
    places = [head * dim - 0.5 for head in range(1, heads)]
    return [{**line, "x0": place, "x1": place, "yref": axis} for place in places for axis in ("y domain", "y2 domain")]


def _head_names(heads: int, dim: int, theme: Theme) -> list[dict[str, Any]]:
    note = {"y": 1, "yref": "paper", "yanchor": "bottom", "font": {"color": theme.muted}, "showarrow": False}
    return [
        {**note, "text": str(head), "x": head * dim + (dim - 1) / 2}
        for head in range(0, heads, -(-heads // MOST_NAMES))
    ]


def _note(words: str, x: float, y: float, colour: str, anchor: str) -> dict[str, Any]:
    font = {"size": TEXT_SIZE, "color": colour}
    place = {"x": x, "xref": "paper", "xanchor": anchor, "y": y, "yref": "paper", "yanchor": "bottom"}
    return {"text": words, "showarrow": False, "font": font, **place}


def _products_frame(products: FusedVsPerHead, tokens: Tokens) -> pd.DataFrame:
    """A row for each token: the vectors of all heads, from one product."""
    heads, seq, dim = products.fused.shape
    columns = [f"head {head}, {index}" for head in range(heads) for index in range(dim)]
    frame = pd.DataFrame(products.fused.transpose(1, 0, 2).reshape(seq, -1), columns=columns)
    frame.insert(0, "token", list(tokens.tokens))
    return frame


def _norms_frame(head_norms: Float[np.ndarray, "layers heads blocks"]) -> pd.DataFrame:
    rows = [(layer, head, *row) for layer, rows in enumerate(head_norms.tolist()) for head, row in enumerate(rows)]
    return pd.DataFrame(rows, columns=["layer", "head", *(SYMBOLS[block] for block in BLOCKS)])


@figure("products", "heads_products", "one product beside one per head (--layer)", reported=True, table=_products_frame)
def products_figure(
    products: FusedVsPerHead, tokens: Tokens, layer: int, multiplied: Block, model_name: str
) -> FigureSpec:
    """Plot one split product beside one product per head."""
    heads, seq, dim = products.fused.shape
    title = f"x times {SYMBOLS[multiplied]} of layer {layer}: one product, and {heads} products — {model_name}"
    alt = f"{title}: two maps of {seq} tokens by {heads * dim} numbers, equal to the last digits"
    draw = partial(product_maps, products, token_labels(tokens), second_text_start(tokens), title)
    return FigureSpec(title, alt, draw)


@figure("heads", "heads_norms", "norms of the heads' blocks of all layers", reported=True, table=_norms_frame)
def head_norms_figure(head_norms: Float[np.ndarray, "layers heads blocks"], model_name: str) -> FigureSpec:
    """Plot the norms of the blocks of all heads of all layers."""
    title = f"How large each head's weights are: norms in {counted(len(head_norms), 'layer')} — {model_name}"
    return FigureSpec(title, f"{title}: four maps of layers by heads", partial(norm_maps, head_norms, title))
