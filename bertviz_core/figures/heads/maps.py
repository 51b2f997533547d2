"""Maps of heads: one product beside many, and the norms of all heads of all layers."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import even_axes, token_axis, token_labels
from bertviz_core.figures.base.quantised_cells import MOST_CELLS, pool_step, pooled, scale_limit, signed_axis, steps
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, sequential
from bertviz_core.figures.heads.weight_matrix import HEIGHT, SYMBOLS
from bertviz_core.heads.results import BLOCKS, Block, FusedVsPerHead
from bertviz_core.trace.results import Tokens

MOST_NAMES = 14
"""Names of heads that fit side by side."""
BETWEEN = 0.03
"""Space between two of the four maps, as a share of the width."""


def product_maps(products: FusedVsPerHead, names: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """All heads' vectors of all tokens twice: above from one product, below from one per head, on one scale."""
    heads, seq, dim = products.fused.shape
    limit = scale_limit(products.fused.reshape(-1, dim))
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    figure.update_layout(coloraxis=signed_axis(limit, "value", theme), margin={"r": 16, "t": 106, "b": 8})
    step = pool_step(products.fused.size, MOST_CELLS // 2)
    for row, values in enumerate((products.fused, products.per_head)):
        cells = steps(pooled(values.transpose(1, 0, 2).reshape(seq, heads * dim), step), limit)
        places = {"x0": (step - 1) / 2, "dx": step, "y0": (step - 1) / 2, "dy": step}
        axes = {"xaxis": "x", "yaxis": "y2" if row else "y"}
        figure.add_heatmap(z=cells, coloraxis="coloraxis", hoverinfo="skip", **places, **axes)
    ticks = {**token_axis(names, 170), "range": [seq - 0.5, -0.5], "showgrid": False}
    figure.update_layout(yaxis={**ticks, "domain": [0.55, 1]}, yaxis2={**ticks, "domain": [0, 0.45], "anchor": "x"})
    notes = [
        _note("<b>one product, then cut</b>", 0, 1.06, theme.text, "left"),
        _note(f"<b>{heads} products, side by side</b>", 0, 0.45, theme.text, "left"),
    ]
    # All at once: plotly looks through all of them anew at each one added.
    figure.update_layout(shapes=_cut_lines(heads, dim, theme), annotations=[*notes, *_head_names(heads, dim, theme)])
    title_below = "row of the matrix: dimension of the output"
    figure.update_xaxes(title=title_below, range=[-0.5, heads * dim - 0.5], showgrid=False, anchor="y2")
    return even_axes(figure, theme)


def norm_maps(norms: Float[np.ndarray, "layers heads blocks"], title: str, theme: Theme) -> go.Figure:
    """Four maps of layers by heads on one scale: the norm of every head's block of W_q, W_k, W_v, W_o."""
    layers, heads, _ = norms.shape
    figure = go.Figure(layout=layout(theme, escape(title), height=max(330, min(HEIGHT, 160 + 30 * layers))))
    low, high = float(np.nanmin(norms)), float(np.nanmax(norms))
    bar = {"title": {"text": "Frobenius norm", "side": "right"}, "thickness": 14}
    scale = {"colorscale": sequential(theme), "cmin": low if low < high else 0, "cmax": high or 1, "colorbar": bar}
    figure.update_layout(coloraxis=scale, margin={"t": 92, "b": 8, "r": 16})
    width, notes = (1 - 3 * BETWEEN) / len(BLOCKS), []
    for index, block in enumerate(BLOCKS):
        number = "" if index == 0 else str(index + 1)
        figure.add_heatmap(
            z=norms[:, :, index].astype(np.float32),
            x=list(range(heads)),
            y=list(range(layers)),
            xaxis=f"x{number}",
            yaxis=f"y{number}",
            coloraxis="coloraxis",
            xgap=1,
            ygap=1,
            hovertemplate=f"{subscript(SYMBOLS[block])}, layer %{{y}}, head %{{x}}: %{{z:.4f}}<extra></extra>",
        )
        left = index * (width + BETWEEN)
        columns = {"domain": [left, left + width], "anchor": f"y{number}", "dtick": max(1, -(-heads // 6))}
        rows = {"showticklabels": index == 0, "anchor": f"x{number}", "dtick": max(1, -(-layers // 14))}
        figure.update_layout(
            {
                f"xaxis{number}": {**columns, "title": "head", "showgrid": False, "range": [-0.5, heads - 0.5]},
                f"yaxis{number}": {**rows, "showgrid": False, "range": [layers - 0.5, -0.5]},
            }
        )
        notes.append(_note(f"<b>{subscript(SYMBOLS[block])}</b> {block}", left + width / 2, 1, theme.text, "center"))
    return even_axes(figure.update_layout(yaxis={"title": "layer"}, annotations=notes), theme)


def subscript(symbol: str) -> str:
    """W_q as plotly draws a subscript."""
    letter, _, below = symbol.partition("_")
    return f"{letter}<sub>{below}</sub>" if below else letter


def _cut_lines(heads: int, dim: int, theme: Theme) -> list[dict[str, Any]]:
    line = {"type": "line", "y0": 0, "y1": 1, "line": {"color": theme.text, "width": 1}}
    places = [head * dim - 0.5 for head in range(1, heads)]
    return [{**line, "x0": place, "x1": place, "yref": axis} for place in places for axis in ("y domain", "y2 domain")]


def _head_names(heads: int, dim: int, theme: Theme) -> list[dict[str, Any]]:
    note = {"y": 1, "yref": "paper", "yanchor": "bottom", "font": {"color": theme.muted}, "showarrow": False}
    return [
        {**note, "text": f"head {head}" if head == 0 else str(head), "x": head * dim + (dim - 1) / 2}
        for head in range(0, heads, -(-heads // MOST_NAMES))
    ]


def _note(words: str, x: float, y: float, colour: str, anchor: str) -> dict[str, Any]:
    font = {"size": TEXT_SIZE, "color": colour}
    place = {"x": x, "xref": "paper", "xanchor": anchor, "y": y, "yref": "paper", "yanchor": "bottom"}
    return {"text": words, "showarrow": False, "font": font, **place}


@figure("products", "heads_products", "one product beside one per head (--layer)", ("product",))
def products_figure(
    products: FusedVsPerHead, tokens: Tokens, layer: int, multiplied: Block, model_name: str
) -> FigureSpec:
    """One product that is cut beside one product per head."""
    heads, seq, dim = products.fused.shape
    title = f"x times {SYMBOLS[multiplied]} of layer {layer}: one product, and {heads} - {model_name}"
    alt = f"{title}: two maps of {seq} tokens by {heads * dim} numbers, equal to the last digits"
    return FigureSpec(title, alt, partial(product_maps, products, token_labels(tokens), title))


@figure("heads", "heads_norms", "norms of the heads' blocks of all layers")
def head_norms_figure(head_norms: Float[np.ndarray, "layers heads blocks"], model_name: str) -> FigureSpec:
    """Norms of the blocks of all heads of all layers."""
    title = f"Norms of the heads' blocks, {len(head_norms)} layers - {model_name}"
    return FigureSpec(title, f"{title}: four maps of layers by heads", partial(norm_maps, head_norms, title))
