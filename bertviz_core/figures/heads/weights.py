"""Weights of heads as maps."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int8

from bertviz_core.figures.base.axes import (
    LABEL_PIXELS,
    even_axes,
    mark_second_text,
    second_text_start,
    token_axis,
    token_labels,
)
from bertviz_core.figures.base.marks import add_bars, add_heading
from bertviz_core.figures.base.panels import Panel, PanelGrid, head_panels
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import (
    TEXT_SIZE,
    THICKNESS,
    Theme,
    diverging,
    escape,
    layout,
    round_limit,
    sequential,
    tick_words,
)
from bertviz_core.heads.results import BLOCKS, Block, FusedVsPerHead, HeadProjections
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import counted
from bertviz_core.trace.results import Tokens

Matrix = Float[np.ndarray, "rows columns"]
MOST_CELLS = 650_000
"""Maximum number of cells; larger maps show the value of largest magnitude of each square of cells."""
SHARE_IN_RANGE = 99.8
"""Percentage of the cells within the scale, which limits the effect of outliers."""
STEPS = 127


def pool_step(cells: int, most: int = MOST_CELLS) -> int:
    """Return the side of the pooling squares for a map of this size; 1 for no pooling."""
    step = 1
    while cells / step**2 > most:
        step += 1
    return step


def pooled(matrix: Matrix, step: int) -> Float[np.ndarray, "squares_down squares_across"]:
    """Return the value of largest magnitude in each square, with its sign."""
    if step == 1:
        return matrix
    rows, columns = (-(-size // step) * step for size in matrix.shape)
    padded = np.zeros((rows, columns), dtype=np.float32)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    squares = padded.reshape(rows // step, step, columns // step, step)
    high, low = squares.max(axis=(1, 3)), squares.min(axis=(1, 3))
    extremes: np.ndarray = np.where(high >= -low, high, low)
    return extremes


def scale_limit(matrix: Matrix) -> float:
    """Return the round magnitude at which the colour scale ends."""
    sizes = np.abs(matrix[np.isfinite(matrix)])
    if not sizes.size:
        return 1.0
    return round_limit(float(np.percentile(sizes, SHARE_IN_RANGE)) or float(sizes.max()))


def steps(cells: Matrix, limit: float) -> Int8[np.ndarray, "rows columns"]:
    """Quantise cells to integer steps from -limit to limit; NaN as 0."""
    stepped: np.ndarray = (np.clip(np.nan_to_num(cells / limit), -1, 1) * STEPS).round().astype(np.int8)
    return stepped


def signed_axis(limit: float, title: str, theme: Theme) -> dict[str, Any]:
    """Return a colour axis for such steps, with ticks in real units."""
    shares = (-1, -0.5, 0, 0.5, 1)
    words = tick_words([share * limit for share in shares])
    words[0], words[-1] = f"≤ {words[0]}", f"≥ {words[-1]}"
    bar = {
        "title": {"text": title, "side": "right"},
        "thickness": THICKNESS,
        "ticklabeloverflow": "allow",
        "tickvals": [share * STEPS for share in shares],
        "ticktext": words,
    }
    return {"colorscale": diverging(theme), "cmin": -STEPS, "cmax": STEPS, "colorbar": bar}


Cut = Literal["whole", "cut", "apart"]
SYMBOLS: dict[Block, str] = {"query": "W_q", "key": "W_k", "value": "W_v", "output": "W_o"}
HEIGHT = 480
GAP = 0.4
"""Distance between two separated blocks, as a share of a block."""
MOST_NAMES, MOST_NUMBERS = 24, 32
"""Maximum number of head labels in a column, and of numbers in a row."""
BARS, BETWEEN = 0.14, 0.03
"""Share of the figure for the bars of the heads' norms beside the matrix, and for the space before them."""
BAR_NUMBER = 44
"""Width in pixels of a number at the end of a bar."""
BESIDE = 200
"""Width in pixels of the labels and the scale beside the matrix."""


class _Part(NamedTuple):
    """Rows or columns that share an axis."""

    low: int
    high: int
    domain: tuple[float, float]
    """Position along the figure, from the top or the left."""


def projection_heatmap(
    matrix: Matrix, block: Block, heads: int, size: int, head: int, cut: Cut, title: str, theme: Theme
) -> go.Figure:
    """Draw a projection's weights with outputs as rows: W_q, W_k, W_v are divided into heads by rows, W_o by columns.

    The file has no mark at the boundaries of heads. With drawn boundaries, bars beside the blocks show the norm of each
    head's weights. A block has `size` rows or columns; the remainder belongs to no head.
    """
    by_rows = block != "output"
    limit, step = scale_limit(matrix), pool_step(matrix.size)
    figure = go.Figure(layout=layout(theme, subscripted(escape(title)), height=HEIGHT))
    figure.update_layout(coloraxis=signed_axis(limit, "weight", theme), margin={"r": 16, "t": 56, "b": 8})
    parts = _parts(matrix.shape[0 if by_rows else 1], heads, size, cut)
    for index, part in enumerate(parts):
        span = slice(part.low, part.high)
        cells = steps(pooled(matrix[span] if by_rows else matrix[:, span], step), limit)
        _add_part(figure, cells, part, index, step, by_rows)
        _part_axis(figure, part, index, _ticks(part, heads, size, head, cut, by_rows), by_rows)
    last = f"y{len(parts)}" if len(parts) > 1 else "y"
    ends = [-0.5, matrix.shape[1] - 0.5]
    across = {"showgrid": False, "range": ends, "title": "column: dimension of the input", "anchor": last}
    if not by_rows:
        across = {"showgrid": False, "range": [len(matrix) - 0.5, -0.5], "title": "row: dimension of the output"}
    if cut != "whole" and not theme.narrow:
        across["domain"] = [0, 1 - _bars(theme) - BETWEEN]
    figure.update_layout({"xaxis" if by_rows else "yaxis": across})
    if cut != "whole":
        figure.update_layout(shapes=_lines(parts, heads, size, head, by_rows, theme))
    figure = even_axes(figure, theme)
    if cut != "whole" and not theme.narrow:
        _add_norms(figure, head_norms(matrix, heads, size, by_rows), _places(parts, heads, size), head, by_rows, theme)
    return figure


def _bars(theme: Theme) -> float:
    """Return the share of the figure for the bars: at least as much as their numbers take."""
    return max(BARS, 2 * BAR_NUMBER / (theme.pixels - BESIDE))


def head_norms(matrix: Matrix, heads: int, size: int, by_rows: bool) -> Float[np.ndarray, " heads"]:
    """Return the Frobenius norm of each head's rows or columns."""
    owned = matrix if by_rows else matrix.T
    return np.asarray(np.linalg.norm(owned[: heads * size].reshape(heads, -1).astype(np.float64), axis=1))


def _places(parts: Sequence[_Part], heads: int, size: int) -> list[float]:
    """Return the centre of each head's block along the figure, from the top or the left."""
    whole = parts[0] if len(parts) == 1 else None
    if whole is not None:
        return [(each + 0.5) * size / whole.high for each in range(heads)]
    return [sum(part.domain) / 2 for part in parts[:heads]]


def _add_norms(
    figure: go.Figure,
    norms: Float[np.ndarray, " heads"],
    places: Sequence[float],
    head: int,
    by_rows: bool,
    theme: Theme,
) -> None:
    """Add bars of the heads' norms on their own axes, each beside its block."""
    colours = [theme.colours["attention"] if each == head else theme.muted for each in range(len(norms))]
    along = {"y": [1 - place for place in places]} if by_rows else {"x": list(places)}
    room = BAR_NUMBER if not by_rows else TEXT_SIZE + 4
    shown = len(norms) * room <= (theme.pixels - 160 if not by_rows else HEIGHT - 80)
    numbers = {"text": [f"{norm:.2f}" for norm in norms] if shown else None, "textposition": "outside", "textangle": 0}
    where = {"xaxis": "x99", "yaxis": "y99", "width": 0.7 / max(len(norms), 1), "customdata": list(range(len(norms)))}
    hover = f"head %{{customdata}}: norm %{{{'x' if by_rows else 'y'}:.4f}}"
    add_bars(figure, norms, hover, colours, by_rows, cliponaxis=False, **along, **numbers, **where)
    share = _bars(theme)
    room_of_bars = share * (theme.pixels - BESIDE)
    longest = room_of_bars / (room_of_bars - BAR_NUMBER) if by_rows else 1.45
    hidden = {"visible": False, "tickfont": {"size": TEXT_SIZE - 1}}
    bars = {"domain": [1 - share, 1], "range": [0, longest * float(norms.max(initial=0)) or 1], **hidden}
    place = {"range": [0, 1], **hidden}
    across, own = (bars, place) if by_rows else (place, bars)
    figure.update_layout(xaxis99={**across, "anchor": "y99"}, yaxis99={**own, "anchor": "x99"})
    add_heading(figure, "norm of each head", 1 - share if by_rows else 0, 1, font={"color": theme.muted})


def subscript(symbol: str) -> str:
    """Format W_q with a plotly subscript."""
    letter, _, below = symbol.partition("_")
    return f"{letter}<sub>{below}</sub>" if below else letter


def subscripted(title: str) -> str:
    """Format the first matrix symbol of a title with a subscript."""
    for symbol in SYMBOLS.values():
        before, found, behind = title.partition(f"{symbol} ")
        if found and " — " not in before:
            return f"{before}{subscript(symbol)} {behind}"
    return title


def _parts(total: int, heads: int, size: int, cut: Cut) -> list[_Part]:
    """Return the parts with their own axes: everything, or each head's block and the remainder."""
    if cut != "apart":
        return [_Part(0, total, (0.0, 1.0))]
    bounds = [(head * size, (head + 1) * size) for head in range(heads)]
    bounds += [(heads * size, total)] if total > heads * size else []
    gap = GAP * size
    length, parts = total + gap * (len(bounds) - 1), []
    for index, (low, high) in enumerate(bounds):
        shift = index * gap
        parts.append(_Part(low, high, ((low + shift) / length, (high + shift) / length)))
    return parts


def _add_part(figure: go.Figure, cells: Any, part: _Part, index: int, step: int, by_rows: bool) -> None:
    number, first = "" if index == 0 else str(index + 1), (step - 1) / 2
    rows, columns = (part.low, 0) if by_rows else (0, part.low)
    places = {"y0": rows + first, "dy": step, "x0": columns + first, "dx": step}
    axis = {"yaxis": f"y{number}"} if by_rows else {"xaxis": f"x{number}"}
    hover = "row %{y}, column %{x}<extra></extra>"
    figure.add_heatmap(z=cells, coloraxis="coloraxis", hovertemplate=hover, **places, **axis)


def _part_axis(figure: go.Figure, part: _Part, index: int, ticks: dict[str, Any], by_rows: bool) -> None:
    number = "" if index == 0 else str(index + 1)
    low, high = part.domain
    if by_rows:
        axis = {"domain": [max(0.0, 1 - high), 1 - low], "range": [part.high - 0.5, part.low - 0.5], "anchor": "x"}
    else:
        axis = {"domain": [low, min(1.0, high)], "range": [part.low - 0.5, part.high - 0.5], "anchor": "y"}
    name = f"{'yaxis' if by_rows else 'xaxis'}{number}"
    figure.update_layout({name: {**axis, **ticks, "showgrid": False}})


def _ticks(part: _Part, heads: int, size: int, head: int, cut: Cut, by_rows: bool) -> dict[str, Any]:
    """Return row or column numbers for the whole matrix, or head names for a divided one."""
    if cut == "whole":
        return {"title": "row: dimension of the output" if by_rows else "column: dimension of the input"}
    every = -(-heads // (MOST_NAMES if by_rows else MOST_NUMBERS))
    inside = [each for each in range(heads) if part.low <= each * size < part.high]
    shown = [each for each in inside if each % every == 0 or each == head]
    if not inside:
        return {"tickvals": [(part.low + part.high - 1) / 2], "ticktext": ["other"]}
    names = [_name(each, size, head, by_rows) for each in shown]
    ticks: dict[str, Any] = {
        "tickvals": [each * size + (size - 1) / 2 for each in shown],
        "ticktext": names,
        "ticks": "",
    }
    if not by_rows and (cut == "cut" or inside[0] == heads // 2):
        ticks["title"] = f"head, {size} columns each"
    return ticks


def _name(each: int, size: int, head: int, by_rows: bool) -> str:
    words = f"head {each}: {each * size}-{(each + 1) * size - 1}" if by_rows else str(each)
    return f"<b>{words}</b>" if each == head else words


def _lines(
    parts: Sequence[_Part], heads: int, size: int, head: int, by_rows: bool, theme: Theme
) -> list[dict[str, Any]]:
    """Return boundaries between the heads, and an outline of the chosen one."""
    across = "x domain" if by_rows else "y domain"
    along = "y" if by_rows else "x"

    def box(low: float, high: float, axis: str, line: dict[str, Any]) -> dict[str, Any]:
        lower, upper = (axis, across) if by_rows else (across, axis)
        ends = {f"{along}0": low, f"{along}1": high, f"{'x' if by_rows else 'y'}0": 0, f"{'x' if by_rows else 'y'}1": 1}
        return {"type": "rect", "yref": lower, "xref": upper, "line": line, "fillcolor": "rgba(0,0,0,0)", **ends}

    cuts = range(1, heads + (parts[0].high > heads * size)) if len(parts) == 1 else ()
    thin = {"color": theme.text, "width": 1}
    lines = [box(each * size - 0.5, each * size - 0.5, along, thin) for each in cuts]
    index = head if len(parts) > 1 else 0
    axis = along if index == 0 else f"{along}{index + 1}"
    thick = {"color": theme.colours["attention"], "width": 3}
    return [*lines, box(head * size - 0.5, (head + 1) * size - 0.5, axis, thick)]


CUTS: dict[str, Cut] = {"cut into heads": "cut", "pulled apart": "apart", "one matrix": "whole"}
"""Label of a way to draw a matrix -> its key."""
CUT_TITLES: dict[Cut, str] = {"cut": "{heads} heads in it", "apart": "{heads} heads", "whole": "one matrix"}
LONGEST_IN_TITLE = 18


def _matrix_frame(projections: HeadProjections, block: Block) -> "pd.DataFrame":
    matrix = projections.matrix(block)
    return pd.DataFrame(matrix, columns=[str(index) for index in range(matrix.shape[1])])


def block_frame(projections: HeadProjections, head: int, block: Block) -> "pd.DataFrame":
    """The block of a head."""
    own = projections.blocks(block)[block_place(projections, head, block)]
    return pd.DataFrame({"row": range(len(own)), **{str(index): column for index, column in enumerate(own.T)}})


@figure("matrix", "heads_matrix", reported=True, table=_matrix_frame)
def matrix_figure(projections: HeadProjections, layer: int, head: int, block: Block, cut: Cut) -> FigureSpec:
    """Weights of a projection (--layer, --head)."""
    blocks, matrix = projections.blocks(block), projections.matrix(block)
    place, size = block_place(projections, head, block), blocks.shape[2 if block == "output" else 1]
    title = f"{SYMBOLS[block]} of layer {layer}: {CUT_TITLES[cut].format(heads=len(blocks))} — {projections.model}"
    alt = f"{title}: weights on a symmetric scale, {matrix.shape[0]} rows by {matrix.shape[1]} columns"
    return FigureSpec.of(title, alt, "", projection_heatmap, matrix, block, len(blocks), size, place, cut)


def block_place(parts: HeadProjections, head: int, block: Block) -> int:
    """Return the index of a head's block; several heads may share one."""
    return head // (parts.num_heads // len(parts.blocks(block)))


MAPS_MOST_NAMES = 14
"""Maximum number of head names side by side."""
ROW, MOST_ROWS = 26, 250
"""Height of a layer's row, and maximum height of a map, in pixels."""
EDGES = (46, 56)
"""Pixels at the left and right of the maps."""
MAPS_BETWEEN, BELOW = 0.1, 88
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
    grid = PanelGrid(
        columns, height, rows, tall, below, MAPS_BETWEEN, sum(EDGES), margin, every_line_named=True, hung=True
    )
    ticks = min(5, int(rows - 3 * TEXT_SIZE) // (2 * TEXT_SIZE))  # below the title of the bar
    bar = {"title": {"text": "norm", "side": "top"}}
    panels = [
        Panel(
            f"<b>{subscript(SYMBOLS[block])}</b> {block}",
            subscript(SYMBOLS[block]),
            cells,
            sequential(theme),
            (0.0, float(np.max(cells, where=np.isfinite(cells), initial=0.0)) or 1.0),
            "norm",
            ".1f",
            bar=bar,
            most_ticks=ticks,
        )
        for block, cells in zip(BLOCKS, np.moveaxis(norms.astype(np.float32), 2, 0), strict=True)
    ]
    return head_panels(panels, grid, title, theme)


def _cut_lines(heads: int, dim: int, theme: Theme) -> list[dict[str, Any]]:
    line = {"type": "line", "y0": 0, "y1": 1, "line": {"color": theme.text, "width": 1}}
    places = [head * dim - 0.5 for head in range(1, heads)]
    return [{**line, "x0": place, "x1": place, "yref": axis} for place in places for axis in ("y domain", "y2 domain")]


def _head_names(heads: int, dim: int, theme: Theme) -> list[dict[str, Any]]:
    note = {"y": 1, "yref": "paper", "yanchor": "bottom", "font": {"color": theme.muted}, "showarrow": False}
    return [
        {**note, "text": str(head), "x": head * dim + (dim - 1) / 2}
        for head in range(0, heads, -(-heads // MAPS_MOST_NAMES))
    ]


def _note(words: str, x: float, y: float, colour: str, anchor: str) -> dict[str, Any]:
    font = {"size": TEXT_SIZE, "color": colour}
    place = {"x": x, "xref": "paper", "xanchor": anchor, "y": y, "yref": "paper", "yanchor": "bottom"}
    return {"text": words, "showarrow": False, "font": font, **place}


def _products_frame(products: FusedVsPerHead, tokens: Tokens) -> "pd.DataFrame":
    """A row for each token: the vectors of all heads, from one product."""
    heads, seq, dim = products.fused.shape
    columns = [f"head {head}, {index}" for head in range(heads) for index in range(dim)]
    frame = pd.DataFrame(products.fused.transpose(1, 0, 2).reshape(seq, -1), columns=columns)
    frame.insert(0, "token", list(tokens.tokens))
    return frame


def _norms_frame(head_norms: Float[np.ndarray, "layers heads blocks"]) -> "pd.DataFrame":
    rows = [(layer, head, *row) for layer, rows in enumerate(head_norms.tolist()) for head, row in enumerate(rows)]
    return pd.DataFrame(rows, columns=["layer", "head", *(SYMBOLS[block] for block in BLOCKS)])


@figure("products", "heads_products", reported=True, table=_products_frame)
def products_figure(
    products: FusedVsPerHead, tokens: Tokens, layer: int, multiplied: Block, model_name: str
) -> FigureSpec:
    """One product beside one per head (--layer)."""
    heads, seq, dim = products.fused.shape
    title = f"x times {SYMBOLS[multiplied]} of layer {layer}: one product, and {heads} products — {model_name}"
    alt = f"{title}: two maps of {seq} tokens by {heads * dim} numbers, equal to the last digits"
    return FigureSpec.of(title, alt, "", product_maps, products, token_labels(tokens), second_text_start(tokens))


@figure("heads", "heads_norms", reported=True, table=_norms_frame)
def head_norms_figure(head_norms: Float[np.ndarray, "layers heads blocks"], model_name: str) -> FigureSpec:
    """Norms of the heads' blocks of all layers."""
    title = f"How large each head's weights are: norms in {counted(len(head_norms), 'layer')} — {model_name}"
    return FigureSpec.of(title, f"{title}: four maps of layers by heads", "", norm_maps, head_norms)
