"""One cell of attention as a picture: the chain of its arithmetic, the products that make it, the row it stands in."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes, token_axis, token_labels
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, diverging, escape, layout, text_on
from bertviz_core.figures.heads.weight_matrix import LONGEST_IN_TITLE
from bertviz_core.heads.results import CellBreakdown, ScoreBreakdown
from bertviz_core.text import escape_controls, shortened
from bertviz_core.trace.results import Trace

WIDTH, ROW = 0.9, 0.86
"""Of a box, in columns and rows of the chain."""
AXES = {"xref": "x3", "yref": "y3"}
LONGEST_WORD = 7
"""Letters of a token that fit a box of a narrow page."""
ADDED = {"relative position": "position", "mask": "mask"}


class _Box(NamedTuple):
    lines: tuple[str, ...]
    colour: str


def add_chain(figure: go.Figure, cell: CellBreakdown, names: Sequence[str], bottom: float, theme: Theme) -> None:
    """Two rows of boxes, query above key, that run together into the score and end in the weight.

    Args:
        figure: what it is drawn into, on its third pair of axes.
        cell: the arithmetic.
        names: labels of the tokens.
        bottom: where it begins, as a share of the figure's height.
        theme: colours and typeface.
    """
    columns = _columns(cell, names, theme)
    figure.update_layout(
        xaxis3={"domain": [0, 1], "range": [-0.5, len(columns) - 0.5], "visible": False, "anchor": "y3"},
        yaxis3={"domain": [bottom, 1], "range": [-0.5, 1.5], "visible": False, "anchor": "x3"},
    )
    # Axes without a trace are not drawn, nor is what stands on them.
    figure.add_scatter(x=[0], y=[0], mode="markers", marker={"opacity": 0}, hoverinfo="skip", xaxis="x3", yaxis="y3")
    boxes, notes = [], []
    for place, column in enumerate(columns):
        for box, row in zip(column, _rows(column), strict=True):
            boxes.append(_box(box, place, row))
            notes.append(_words(box, place, row))
        for start in _rows(columns[place - 1]) if place else ():
            stop = start if len(column) == 2 else 0.5
            notes.append(_arrow((place - 1 + WIDTH / 2, start), (place - WIDTH / 2, stop), theme))
    # All at once: plotly looks through all of them anew at each one added.
    figure.update_layout(shapes=boxes, annotations=notes)


def signed(value: float) -> str:
    """A number with four significant digits and a true minus sign."""
    if value == float("-inf"):
        return "−∞"
    return f"{value:.4g}".replace("-", "−")


def _columns(cell: CellBreakdown, names: Sequence[str], theme: Theme) -> list[tuple[_Box, ...]]:
    score, weight = cell.score, float(cell.score.weights[cell.key_position])
    query, key = theme.colours["query"], theme.colours["key"]
    inputs, dim, turned = (len(score.query_input), len(score.key_input)), len(score.query), _turned(score)
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
        (_Box(("sum of", f"{dim} q k", f"<b>{signed(score.total)}</b>"), theme.neutral),),
        (_Box((f"× {signed(score.scaling)}", f"<b>{signed(score.scaled)}</b>"), theme.neutral),),
    ]
    if score.added_name:
        what = "rest" if score.is_remainder else ADDED.get(score.added_name, "term")
        sign = signed(abs(score.added)) if score.added != float("-inf") else "∞"
        term = f"{'−' if score.added < 0 else '+'} {sign}"
        columns.append((_Box((what, term, f"<b>{signed(score.score)}</b>"), theme.neutral),))
    columns.append((_Box(("softmax", f"{len(score.weights)} keys"), theme.neutral),))
    columns.append((_Box(("weight", f"<b>{weight:.4f}</b>"), theme.colours["attention"]),))
    return columns


def _turned(score: ScoreBreakdown) -> tuple[str, ...]:
    return {"rotated": ("turned",), "changed": ("changed",)}.get(score.positions, ())


def _cut(name: str) -> str:
    """A label short enough for a box; one with markup or escapes in it is left alone."""
    return name if len(name) <= LONGEST_WORD or "&" in name or "<" in name else f"{name[: LONGEST_WORD - 1]}…"


def _rows(column: Sequence[_Box]) -> tuple[float, ...]:
    """Heights of a column's boxes: two stand apart, one stands in the middle."""
    return (1.0, 0.0) if len(column) == 2 else (0.5,)


def _box(box: _Box, place: float, row: float) -> dict[str, Any]:
    corners = {"x0": place - WIDTH / 2, "x1": place + WIDTH / 2, "y0": row - ROW / 2, "y1": row + ROW / 2}
    return {"type": "rect", **AXES, "fillcolor": box.colour, "line": {"width": 0}, "layer": "below", **corners}


def _words(box: _Box, place: float, row: float) -> dict[str, Any]:
    font = {"size": TEXT_SIZE, "color": text_on(box.colour)}
    return {"x": place, "y": row, **AXES, "text": "<br>".join(box.lines), "showarrow": False, "font": font}


def _arrow(start: tuple[float, float], end: tuple[float, float], theme: Theme) -> dict[str, Any]:
    ends = {"x": end[0], "y": end[1], "ax": start[0], "ay": start[1], **AXES, "axref": "x3", "ayref": "y3"}
    style = {"arrowhead": 2, "arrowsize": 0.8, "arrowwidth": 1.5, "arrowcolor": theme.muted}
    return {**ends, "text": "", "showarrow": True, **style}


HEIGHT = 560
CHAIN = 0.54
"""Where the chain begins, as a share of the height; the bars stand below it."""


def cell_arithmetic(
    cell: CellBreakdown, names: Sequence[str], title: str, theme: Theme, pixels: tuple[int, int] = (480, 480)
) -> go.Figure:
    """From two vectors to one weight: above the steps with their shapes and numbers, below the products and the row.

    Args:
        cell: the arithmetic.
        names: labels of the tokens.
        title: stands alone on a slide.
        theme: colours and typeface.
        pixels: widths of the two bar charts, by which labels are thinned.
    """
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT, showlegend=False))
    score = cell.score
    places = np.arange(len(score.products))
    figure.add_bar(
        x=places,
        y=score.products,
        marker={"color": signs(score.products, theme)},
        customdata=np.stack([score.query, score.key], axis=1),
        hovertemplate="%{x}: %{customdata[0]:.5f} × %{customdata[1]:.5f} = <b>%{y:.5f}</b><extra></extra>",
        unselected={"marker": {"opacity": 1}},
    )
    colours = [theme.colours["attention"] if key == cell.key_position else theme.muted for key in range(len(names))]
    figure.add_bar(
        x=np.arange(len(names)),
        y=score.weights,
        xaxis="x2",
        yaxis="y2",
        marker={"color": colours},
        customdata=[[name, f"{one:.4f}"] for name, one in zip(names, score.scores.tolist(), strict=True)],
        hovertemplate="%{x} %{customdata[0]}: score %{customdata[1]}, weight <b>%{y:.5f}</b><extra></extra>",
        unselected={"marker": {"opacity": 1}},
    )
    add_chain(figure, cell, names, CHAIN, theme)
    _name_bar(figure, cell, names, theme)
    below, angle = [0, CHAIN - 0.13], {"tickangle": -90} if len(names) > 12 else {"autotickangles": [0, -90]}
    figure.update_layout(
        xaxis={"domain": [0, 0.46], "title": f"dimension d of the head's {len(places)}", "showgrid": False},
        yaxis={"domain": below},
        xaxis2={
            **token_axis(names, pixels[1]),
            "domain": [0.54, 1],
            "anchor": "y2",
            "title": "key",
            **angle,
        },
        yaxis2={"domain": below, "anchor": "x2", "rangemode": "tozero"},
        bargap=0.15,
    )
    heading = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "y": below[1] + 0.01}
    sums = f"<b>products q<sub>d</sub> k<sub>d</sub></b>, sum {signed(score.total)}"
    row = f"<b>weights of the row</b>, sum {float(score.weights.sum()):.3f}"
    for words, left in ((sums, 0), (row, 0.54)):
        figure.add_annotation(text=words, showarrow=False, x=left, **heading)
    return even_axes(figure, theme).update_yaxes(zeroline=True, zerolinecolor=theme.muted)


def _name_bar(figure: go.Figure, cell: CellBreakdown, names: Sequence[str], theme: Theme) -> None:
    """The chosen key's name and weight at its bar, which may be one of hundreds."""
    weight = float(cell.score.weights[cell.key_position])
    figure.add_annotation(
        x=cell.key_position, y=weight, xref="x2", yref="y2", text=f"{names[cell.key_position]} {weight:.4f}",
        showarrow=True, arrowhead=2, arrowcolor=theme.text, ax=0, ay=-34, bgcolor=theme.paper, opacity=0.9,
        font={"size": TEXT_SIZE - 1},
    )  # fmt: skip


def head_output(cell: CellBreakdown, title: str, theme: Theme) -> go.Figure:
    """Behind the weights: the mix of values, what the head hands on, and how long that is beside the other heads'."""
    mix = cell.output
    figure = go.Figure(layout=layout(theme, escape(title), height=340, showlegend=False))
    heads = np.arange(len(mix.head_norms))
    chosen = [theme.colours["attention"] if head == cell.head else theme.muted for head in heads]
    charts = (
        (mix.mix, signs(mix.mix, theme), f"<b>mix of the values</b> ({len(mix.mix)},)", "dimension of the value"),
        (
            mix.head_output,
            signs(mix.head_output, theme),
            f"<b>through W<sub>o</sub></b> ({len(mix.head_output)},)",
            "dimension of the output",
        ),
        (mix.head_norms, chosen, "<b>its length</b>", "head"),
    )
    for index, (values, colours, words, below) in enumerate(charts):
        number, left = "" if index == 0 else str(index + 1), index * 0.36
        figure.add_bar(
            x=np.arange(len(values)),
            y=values,
            xaxis=f"x{number}",
            yaxis=f"y{number}",
            marker={"color": colours, "line": {"width": 0}},
            hovertemplate="%{x}: %{y:.5f}<extra></extra>",
        )
        side = {"domain": [left, left + 0.28], "anchor": f"y{number}", "title": below, "showgrid": False}
        figure.update_layout({f"xaxis{number}": side, f"yaxis{number}": {"anchor": f"x{number}"}})
        place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "y": 1}
        figure.add_annotation(text=words, showarrow=False, x=left, **place)
    return even_axes(figure, theme).update_layout(bargap=0.08, margin={"t": 82})


def signs(values: np.ndarray, theme: Theme) -> list[str]:
    """Colours of the diverging scale: positive and negative numbers."""
    scale = diverging(theme)
    return [str(scale[3][1] if value >= 0 else scale[1][1]) for value in values.tolist()]


@figure("cell", "heads_cell", "one cell by hand (--layer, --head)", ("query", "key"))
def cell_figure(cell: CellBreakdown, trace: Trace) -> FigureSpec:
    """From two vectors to one weight."""
    query, key = cell.query_position, cell.key_position
    looking, looked = (
        shortened(escape_controls(trace.tokens.tokens[place]), LONGEST_IN_TITLE) for place in (query, key)
    )
    title = f"Layer {cell.layer}, head {cell.head}: {looking} ({query}) looks at {looked} ({key}) - {trace.model}"
    alt = f"{title}: weight {cell.score.weights[key]:.4f}"
    return FigureSpec(title, alt, partial(cell_arithmetic, cell, token_labels(trace.tokens), title))


@figure("mix", "heads_mix", "the output of a head (--layer, --head)", ("query", "key"))
def mix_figure(cell: CellBreakdown, trace: Trace) -> FigureSpec:
    """What a head hands on for one query."""
    title = f"Output of the head: {mix_place(cell, trace)}"
    alt = f"{title}: mix of values, its way through W_o, lengths of all heads' parts"
    return FigureSpec(title, alt, partial(head_output, cell, title))


def mix_place(cell: CellBreakdown, trace: Trace) -> str:
    """Layer, head, query and model in words."""
    return f"layer {cell.layer}, head {cell.head}, query {cell.query_position} - {trace.model}"
