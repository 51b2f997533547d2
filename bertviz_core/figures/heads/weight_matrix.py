"""Draw a projection's weight matrix: whole, divided into heads, or its blocks apart."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.heads.quantised_cells import Matrix, pool_step, pooled, scale_limit, signed_axis, steps
from bertviz_core.heads.results import Block, HeadProjections

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
    head's weights.

    Args:
        matrix: the whole matrix.
        block: name of the projection.
        heads: number of blocks.
        size: rows (or columns) of a block; the remainder belongs to no head.
        head: index of the outlined block.
        cut: whether to draw the matrix whole, with boundaries, or with separate blocks.
        title: title of the figure.
        theme: theme of the figure.
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
    along = [1 - place if by_rows else place for place in places]
    room = BAR_NUMBER if not by_rows else TEXT_SIZE + 4
    shown = len(norms) * room <= (theme.pixels - 160 if not by_rows else HEIGHT - 80)
    figure.add_bar(
        **({"y": along, "x": norms, "orientation": "h"} if by_rows else {"x": along, "y": norms}),
        width=0.7 / max(len(norms), 1),
        marker={"color": colours},
        text=[f"{norm:.2f}" for norm in norms] if shown else None,
        textposition="outside",
        textangle=0,
        cliponaxis=False,
        customdata=list(range(len(norms))),
        hovertemplate=f"head %{{customdata}}: norm %{{{'x' if by_rows else 'y'}:.4f}}<extra></extra>",
        xaxis="x99",
        yaxis="y99",
    )
    share = _bars(theme)
    room_of_bars = share * (theme.pixels - BESIDE)
    longest = room_of_bars / (room_of_bars - BAR_NUMBER) if by_rows else 1.45
    bars, hidden = (
        {"domain": [1 - share, 1], "range": [0, longest * float(norms.max(initial=0)) or 1]},
        {"visible": False, "tickfont": {"size": TEXT_SIZE - 1}},
    )
    place = {"range": [0, 1], **hidden}
    across, own = ({**bars, **hidden}, place) if by_rows else (place, {**bars, **hidden})
    figure.update_layout(xaxis99={**across, "anchor": "y99"}, yaxis99={**own, "anchor": "x99"})
    spot = {"x": 1 - share, "y": 1, "xanchor": "left", "yanchor": "bottom"}
    spot = spot if by_rows else {"x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom"}
    words = {"text": "norm of each head", "font": {"color": theme.muted}, "showarrow": False}
    figure.add_annotation(**words, xref="paper", yref="paper", **spot)


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
    number = "" if index == 0 else str(index + 1)
    first = (step - 1) / 2
    rows, columns = (part.low, 0) if by_rows else (0, part.low)
    figure.add_heatmap(
        z=cells,
        y0=rows + first,
        dy=step,
        x0=columns + first,
        dx=step,
        coloraxis="coloraxis",
        hovertemplate="row %{y}, column %{x}<extra></extra>",
        **{"yaxis" if by_rows else "xaxis": f"{'y' if by_rows else 'x'}{number}"},
    )


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


def _matrix_frame(projections: HeadProjections, block: Block) -> pd.DataFrame:
    """The whole matrix."""
    matrix = projections.matrix(block)
    return pd.DataFrame(matrix, columns=[str(index) for index in range(matrix.shape[1])])


def block_frame(projections: HeadProjections, head: int, block: Block) -> pd.DataFrame:
    """The block of a head."""
    own = projections.blocks(block)[block_place(projections, head, block)]
    return pd.DataFrame({"row": range(len(own)), **{str(index): column for index, column in enumerate(own.T)}})


@figure("matrix", "heads_matrix", "weights of a projection (--layer, --head)", reported=True, table=_matrix_frame)
def matrix_figure(projections: HeadProjections, layer: int, head: int, block: Block, cut: Cut) -> FigureSpec:
    """Plot one projection of a layer, with the rows or columns of one head marked."""
    blocks, matrix = projections.blocks(block), projections.matrix(block)
    place, size = block_place(projections, head, block), blocks.shape[2 if block == "output" else 1]
    title = f"{SYMBOLS[block]} of layer {layer}: {CUT_TITLES[cut].format(heads=len(blocks))} — {projections.model}"
    alt = f"{title}: weights on a symmetric scale, {matrix.shape[0]} rows by {matrix.shape[1]} columns"
    return FigureSpec(title, alt, partial(projection_heatmap, matrix, block, len(blocks), size, place, cut, title))


def block_place(parts: HeadProjections, head: int, block: Block) -> int:
    """Return the index of a head's block; several heads may share one."""
    return head // (parts.num_heads // len(parts.blocks(block)))
