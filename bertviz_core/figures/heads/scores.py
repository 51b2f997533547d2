"""How a score of attention comes about."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import (
    ROOM,
    even_axes,
    mark_second_text,
    second_text_start,
    token_axis,
    token_labels,
)
from bertviz_core.figures.base.marks import add_bars, add_heading
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, diverging, escape, layout, text_on
from bertviz_core.figures.heads.weights import LONGEST_IN_TITLE
from bertviz_core.heads.results import CellBreakdown, ScoreBreakdown
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import decimals, escape_controls, isolated, shortened
from bertviz_core.trace.results import Trace

WIDTH, ROW, DOWN = 0.9, 0.86, 0.76
"""Size of a box, in columns and rows of the chain; of one in a vertical chain, along its direction."""
STEP = 82
"""Height in pixels of a step of a vertical chain."""
AXES = {"xref": "x3", "yref": "y3"}
LONGEST_WORD = 7
"""Maximum length of a token in a box of a narrow page."""
ADDED = {"relative position": "position", "mask": "mask"}
TURNED = {"rotated": ("turned",), "changed": ("changed",)}


class _Box(NamedTuple):
    lines: tuple[str, ...]
    colour: str


def add_chain(figure: go.Figure, cell: CellBreakdown, names: Sequence[str], bottom: float, theme: Theme) -> None:
    """Draw two rows of boxes, query above key, that join at the score and end at the weight, on the third pair of axes.

    On a phone the chain is vertical, with the query's boxes left of the key's.
    """
    columns, down = _columns(cell, names, theme), theme.narrow
    along, across = [-0.5, len(columns) - 0.5], [-0.5, 1.5]
    ranges = ([-0.5, 1.5], [0.5 - len(columns), 0.5]) if down else (along, across)
    figure.update_layout(
        xaxis3={"domain": [0, 1], "range": ranges[0], "visible": False, "anchor": "y3"},
        yaxis3={"domain": [bottom, 1], "range": ranges[1], "visible": False, "anchor": "x3"},
    )
    # Axes without a trace are not drawn, nor are annotations on them.
    figure.add_scatter(x=[0], y=[0], mode="markers", marker={"opacity": 0}, hoverinfo="skip", xaxis="x3", yaxis="y3")
    length = DOWN if down else WIDTH
    boxes, notes = [], []
    for place, column in enumerate(columns):
        for box, row in zip(column, _rows(column), strict=True):
            boxes.append(_box(box, _spot(place, row, down), (ROW, DOWN) if down else (WIDTH, ROW)))
            notes.append(_words(box, _spot(place, row, down)))
        for start in _rows(columns[place - 1]) if place else ():
            stop = start if len(column) == 2 else 0.5
            ends = _spot(place - 1 + length / 2, start, down), _spot(place - length / 2, stop, down)
            notes.append(_arrow(*ends, theme))
    # All at once: plotly validates all of them at each addition.
    figure.update_layout(shapes=boxes, annotations=notes)


def chain_steps(cell: CellBreakdown) -> int:
    """Return the number of steps of the chain, from the vectors to the weight."""
    return 8 if cell.score.added_name else 7


def _spot(place: float, row: float, down: bool) -> tuple[float, float]:
    return (1 - row, -place) if down else (place, row)


def signed(value: float, count: int = 4) -> str:
    """Format a number with so many significant digits and a true minus sign."""
    if value == float("-inf"):
        return "−∞"
    return f"{value:.{count}g}".replace("-", "−")


def printed_digits(score: ScoreBreakdown) -> tuple[int, int]:
    """Fewest digits, at least four, of the factors and of the terms from which a reader gets the numbers printed."""
    terms = _digits(score.scaled, score.added, lambda one, other: one + other, score.score, 4)
    return _digits(score.total, score.scaling, lambda one, other: one * other, score.scaled, terms), terms


def _digits(first: float, second: float, joined: Callable[[float, float], float], result: float, count: int) -> int:
    for each in range(count, 9):
        one, other = (float(f"{value:.{each}g}") for value in (first, second))
        if signed(joined(one, other), count) == signed(result, count):
            return each
    return count


def _columns(cell: CellBreakdown, names: Sequence[str], theme: Theme) -> list[tuple[_Box, ...]]:
    score, weight = cell.score, float(cell.score.weights[cell.key_position])
    query, key = theme.colours["query"], theme.colours["key"]
    inputs, dim = (len(score.query_input), len(score.key_input)), len(score.query)
    turned: tuple[str, ...] = TURNED.get(score.positions, ())
    factors, terms = printed_digits(score)
    columns: list[tuple[_Box, ...]] = [
        (
            _Box(
                (f"x<sub>{cell.query_position}</sub>", _cut(names[cell.query_position]), f"({inputs[0]},)"),
                theme.neutral,
            ),
            _Box(
                (f"x<sub>{cell.key_position}</sub>", _cut(names[cell.key_position]), f"({inputs[1]},)"), theme.neutral
            ),
        ),
        (
            _Box(("W<sub>q</sub>", f"head {cell.head}", f"({dim}, {inputs[0]})"), query),
            _Box(("W<sub>k</sub>", f"head {cell.key_head}", f"({dim}, {inputs[1]})"), key),
        ),
        (_Box(("q", *turned, f"({dim},)"), query), _Box(("k", *turned, f"({dim},)"), key)),
        (_Box(("sum of", f"{dim} q k", f"<b>{signed(score.total, factors)}</b>"), theme.neutral),),
        (_Box((f"× {signed(score.scaling, factors)}", f"<b>{signed(score.scaled, terms)}</b>"), theme.neutral),),
    ]
    if score.added_name:
        what = "rest" if score.is_remainder else ADDED.get(score.added_name, "term")
        sign = signed(abs(score.added), terms) if score.added != float("-inf") else "∞"
        term = f"{'−' if score.added < 0 else '+'} {sign}"
        columns.append((_Box((what, term, f"<b>{signed(score.score)}</b>"), theme.neutral),))
    columns.append((_Box(("softmax", f"{len(score.weights)} keys"), theme.neutral),))
    columns.append((_Box(("weight", f"<b>{weight:.4f}</b>"), theme.colours["attention"]),))
    return columns


def _cut(name: str) -> str:
    """Cut a label to fit a box; labels with markup are unchanged."""
    return name if len(name) <= LONGEST_WORD or "&" in name or "<" in name else f"{name[: LONGEST_WORD - 1]}…"


def _rows(column: Sequence[_Box]) -> tuple[float, ...]:
    """Return the rows of a column's boxes: two are apart, one is in the middle."""
    return (1.0, 0.0) if len(column) == 2 else (0.5,)


def _box(box: _Box, spot: tuple[float, float], size: tuple[float, float]) -> dict[str, Any]:
    (x, y), (width, height) = spot, size
    corners = {"x0": x - width / 2, "x1": x + width / 2, "y0": y - height / 2, "y1": y + height / 2}
    return {"type": "rect", **AXES, "fillcolor": box.colour, "line": {"width": 0}, "layer": "below", **corners}


def _words(box: _Box, spot: tuple[float, float]) -> dict[str, Any]:
    font = {"size": TEXT_SIZE, "color": text_on(box.colour)}
    return {"x": spot[0], "y": spot[1], **AXES, "text": "<br>".join(box.lines), "showarrow": False, "font": font}


def _arrow(start: tuple[float, float], end: tuple[float, float], theme: Theme) -> dict[str, Any]:
    ends = {"x": end[0], "y": end[1], "ax": start[0], "ay": start[1], **AXES, "axref": "x3", "ayref": "y3"}
    style = {"arrowhead": 2, "arrowsize": 0.8, "arrowwidth": 1.5, "arrowcolor": theme.muted}
    return {**ends, "text": "", "showarrow": True, **style}


HEIGHT = 490
HEADROOM = 1.3
"""Axis range of the row of weights, as a multiple of the largest, with room for the name of the chosen key."""
CHART = 260
"""Height in pixels of a bar chart on a phone, and of the space above and below it."""
CHAIN = 0.54
"""Lower end of the chain as a share of the height; the bars are below it."""


def cell_arithmetic(
    cell: CellBreakdown, names: Sequence[str], second_text: int | None, title: str, theme: Theme
) -> go.Figure:
    """Draw the computation of a weight: the steps with shapes and numbers above, the products and the row below.

    On a phone everything is stacked.
    """
    places, score = _places(cell, theme), cell.score
    figure = go.Figure(layout=layout(theme, escape(title), height=places.height, showlegend=False))
    shown = {"unselected": {"marker": {"opacity": 1}}}
    vectors = {"customdata": np.stack([score.query, score.key], axis=1), **shown}
    hover = "%{x}: %{customdata[0]:.5f} × %{customdata[1]:.5f} = <b>%{y:.5f}</b>"
    add_bars(figure, score.products, hover, signs(score.products, theme), False, **vectors)
    colours = [theme.colours["attention"] if key == cell.key_position else theme.muted for key in range(len(names))]
    scores = [[name, decimals(one)] for name, one in zip(names, score.scores.tolist(), strict=True)]
    hover, second = (
        "%{x} %{customdata[0]}: score %{customdata[1]}, weight <b>%{y:.5f}</b>",
        {"xaxis": "x2", "yaxis": "y2"},
    )
    add_bars(figure, score.weights, hover, colours, False, customdata=scores, **second, **shown)
    add_chain(figure, cell, names, places.chain, theme)
    _name_bar(figure, cell, names, theme)
    across = theme.pixels * (places.row_across[1] - places.row_across[0]) - 40
    keys = {**token_axis(names, int(across)), "tickangle": -90 if len(names) * 60 > across else 0, "showgrid": False}
    below = f"dimension d of the head's {len(score.products)}"
    weights = [0, HEADROOM * (float(score.weights.max()) or 1.0)]
    figure.update_layout(
        xaxis={"domain": places.products_across, "title": below, "showgrid": False},
        yaxis={"domain": places.products_down},
        xaxis2={**keys, "domain": places.row_across, "anchor": "y2", "title": "key"},
        yaxis2={"domain": places.row_down, "anchor": "x2", "range": weights},
        bargap=0.15,
    )
    mark_second_text(figure, second_text, len(names), theme, "x2", "y2")
    sums = f"<b>products q<sub>d</sub> k<sub>d</sub></b>, sum {signed(score.total, printed_digits(score)[0])}"
    row = f"<b>weights of the row</b>, sum {float(score.weights.sum()):.3f}"
    raised = {"yshift": 0 if second_text is None else ROOM, "font": None}
    add_heading(figure, sums, places.products_across[0], places.products_down[1] + 0.01, font=None)
    add_heading(figure, row, places.row_across[0], places.row_down[1] + 0.01, **raised)
    return even_axes(figure, theme).update_yaxes(zeroline=True, zerolinecolor=theme.muted)


class _Places(NamedTuple):
    """Positions of the chain and both bar charts, as shares of the figure."""

    height: int
    chain: float
    """Lower end of the chain, which extends to the top."""
    products_across: list[float]
    products_down: list[float]
    row_across: list[float]
    row_down: list[float]


def _places(cell: CellBreakdown, theme: Theme) -> _Places:
    if not theme.narrow:
        return _Places(HEIGHT, CHAIN, [0, 0.46], [0, CHAIN - 0.13], [0.54, 1], [0, CHAIN - 0.13])
    chain = STEP * chain_steps(cell)
    whole = chain + 2 * CHART
    products, row = [(CHART + 90) / whole, (2 * CHART - 60) / whole], [0, (CHART - 60) / whole]
    return _Places(whole + 60, 2 * CHART / whole, [0, 1], products, [0, 1], row)


def _name_bar(figure: go.Figure, cell: CellBreakdown, names: Sequence[str], theme: Theme) -> None:
    """Label the chosen key's bar, with an arrow."""
    place, count = cell.key_position, len(names)
    weight, top = float(cell.score.weights[place]), HEADROOM * (float(cell.score.weights.max()) or 1.0)
    side = "left" if place < count / 4 else "right" if place >= count * 3 / 4 else "center"
    figure.add_annotation(
        x=place, y=weight, xref="x2", yref="y2", text=f"{names[place]} {weight:.4f}", xanchor=side,
        showarrow=True, arrowhead=2, arrowcolor=theme.text, ax=place, ay=0.98 * top, axref="x2", ayref="y2",
        yanchor="top", font={"size": TEXT_SIZE - 1},
    )  # fmt: skip


def head_output(cell: CellBreakdown, title: str, theme: Theme) -> go.Figure:
    """Draw the weighted values, the output of the head, and its norm beside the other heads'."""
    mix, narrow = cell.output, theme.slim
    figure = go.Figure(layout=layout(theme, escape(title), height=760 if narrow else 340, showlegend=False))
    chosen = [theme.colours["attention"] if x == cell.head else theme.muted for x in range(len(mix.head_norms))]
    through = f"<b>through W<sub>o</sub></b> ({len(mix.head_output)},)"
    charts = (
        (mix.mix, signs(mix.mix, theme), f"<b>mix of the values</b> ({len(mix.mix)},)", "dimension of the value"),
        (mix.head_output, signs(mix.head_output, theme), through, "dimension of the output"),
        (mix.head_norms, chosen, "<b>length of each head's output</b>", "head"),
    )
    for index, (values, colours, words, below) in enumerate(charts):
        number, place = "" if index == 0 else str(index + 1), index * 0.36
        look, axes = {"color": colours, "line": {"width": 0}}, {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        add_bars(figure, values, "%{x}: %{y:.5f}", look, False, **axes)
        left, across = (0, [0, 1]) if narrow else (place, [place, place + 0.28])
        top, down = (1 - place, [1 - place - 0.2, 1 - place]) if narrow else (1, [0, 1])
        side = {"domain": across, "anchor": f"y{number}", "title": below, "showgrid": False}
        figure.update_layout({f"xaxis{number}": side, f"yaxis{number}": {"anchor": f"x{number}", "domain": down}})
        add_heading(figure, words, left, top, font=None)
    return even_axes(figure, theme).update_layout(bargap=0.08, margin={"t": 82})


def signs(values: np.ndarray, theme: Theme) -> list[str]:
    """Return the colours of positive and negative numbers in the diverging scale."""
    scale = diverging(theme)
    return [str(scale[3][1] if value >= 0 else scale[1][1]) for value in values.tolist()]


def _cell_frame(cell: CellBreakdown) -> "pd.DataFrame":
    score = cell.score
    return pd.DataFrame(
        {"number": range(len(score.query)), "q": score.query, "k": score.key, "product": score.products}
    )


def row_frame(cell: CellBreakdown, trace: Trace) -> "pd.DataFrame":
    """The row of weights."""
    score = cell.score
    numbers = {"score": score.scores, "weight": score.weights, "in the map": score.model_weights}
    return pd.DataFrame({"position": range(len(trace.tokens)), "key": list(trace.tokens.tokens), **numbers})


def _mix_frame(cell: CellBreakdown) -> "pd.DataFrame":
    output = cell.output.head_output
    return pd.DataFrame({"number": range(len(output)), "part of the output": output})


@figure("cell", "heads_cell", reported=True, table=_cell_frame)
def cell_figure(cell: CellBreakdown, trace: Trace) -> FigureSpec:
    """One cell by hand (--layer, --head)."""
    query, key = cell.query_position, cell.key_position
    looking, looked = (
        shortened(escape_controls(trace.tokens.tokens[place]), LONGEST_IN_TITLE) for place in (query, key)
    )
    words = f"Layer {cell.layer}, head {cell.head}: {{}} ({query}) looks at {{}} ({key}) — {trace.model}"
    title, drawn = words.format(looking, looked), words.format(isolated(looking), isolated(looked))
    alt = f"{title}: weight {cell.score.weights[key]:.4f}"
    names, second = token_labels(trace.tokens), second_text_start(trace.tokens)
    return FigureSpec(title, alt, partial(cell_arithmetic, cell, names, second, drawn))


@figure("mix", "heads_mix", reported=True, table=_mix_frame)
def mix_figure(cell: CellBreakdown, trace: Trace) -> FigureSpec:
    """The output of a head (--layer, --head)."""
    title = f"Output of the head: {mix_place(cell, trace)} — {trace.model}"
    alt = f"{title}: mix of values, its way through W_o, lengths of all heads' parts"
    return FigureSpec.of(title, alt, "", head_output, cell)


def mix_place(cell: CellBreakdown, trace: Trace) -> str:
    """Describe layer, head and query."""
    return f"layer {cell.layer}, head {cell.head}, query {cell.query_position}"
