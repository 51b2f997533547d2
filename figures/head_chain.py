"""The chain of one cell's arithmetic: boxes from two vectors to one weight, with shapes and numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bertviz_core.results.head_cell import CellArithmetic, ScoreArithmetic
from figures.style import TEXT_SIZE, Theme, text_on

WIDTH, ROW = 0.9, 0.86
"""Of a box, in columns and rows of the chain."""
AXES = {"xref": "x3", "yref": "y3"}
LONGEST = 7
"""Letters of a token that fit a box of a narrow page."""
ADDED = {"relative position": "position", "mask": "mask"}


class _Box(NamedTuple):
    lines: tuple[str, ...]
    colour: str


def add_chain(figure: go.Figure, cell: CellArithmetic, names: Sequence[str], bottom: float, look: Theme) -> None:
    """Two rows of boxes, query above key, that run together into the score and end in the weight.

    Args:
        figure: what it is drawn into, on its third pair of axes.
        cell: the arithmetic.
        names: labels of the tokens.
        bottom: where it begins, as a share of the figure's height.
        look: theme.
    """
    columns = _columns(cell, names, look)
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
            notes.append(_arrow((place - 1 + WIDTH / 2, start), (place - WIDTH / 2, stop), look))
    # All at once: plotly looks through all of them anew at each one added.
    figure.update_layout(shapes=boxes, annotations=notes)


def signed(value: float) -> str:
    """A number with four significant digits and a true minus sign."""
    if value == float("-inf"):
        return "−∞"
    return f"{value:.4g}".replace("-", "−")


def _columns(cell: CellArithmetic, names: Sequence[str], look: Theme) -> list[tuple[_Box, ...]]:
    score, weight = cell.score, float(cell.score.weights[cell.key_position])
    query, key = look.colours["query"], look.colours["key"]
    inputs, dim, turned = (len(score.query_input), len(score.key_input)), len(score.query), _turned(score)
    columns: list[tuple[_Box, ...]] = [
        (
            _Box(
                (f"x<sub>{cell.query_position}</sub>", _cut(names[cell.query_position]), f"({inputs[0]},)"),
                look.neutral,
            ),
            _Box((f"x<sub>{cell.key_position}</sub>", _cut(names[cell.key_position]), f"({inputs[1]},)"), look.neutral),
        ),
        (
            _Box(("W<sub>q</sub>", f"head {cell.head}", f"({dim}, {inputs[0]})"), query),
            _Box(("W<sub>k</sub>", f"head {cell.key_head}", f"({dim}, {inputs[1]})"), key),
        ),
        (_Box(("q", *turned, f"({dim},)"), query), _Box(("k", *turned, f"({dim},)"), key)),
        (_Box(("sum of", f"{dim} q k", f"<b>{signed(score.total)}</b>"), look.neutral),),
        (_Box((f"× {signed(score.scaling)}", f"<b>{signed(score.scaled)}</b>"), look.neutral),),
    ]
    if score.added_name:
        what = "rest" if score.is_remainder else ADDED.get(score.added_name, "term")
        sign = signed(abs(score.added)) if score.added != float("-inf") else "∞"
        term = f"{'−' if score.added < 0 else '+'} {sign}"
        columns.append((_Box((what, term, f"<b>{signed(score.score)}</b>"), look.neutral),))
    columns.append((_Box(("softmax", f"{len(score.weights)} keys"), look.neutral),))
    columns.append((_Box(("weight", f"<b>{weight:.4f}</b>"), look.colours["attention"]),))
    return columns


def _turned(score: ScoreArithmetic) -> tuple[str, ...]:
    return {"rotated": ("turned",), "changed": ("changed",)}.get(score.positions, ())


def _cut(name: str) -> str:
    """A label short enough for a box; one with markup or escapes in it is left alone."""
    return name if len(name) <= LONGEST or "&" in name or "<" in name else f"{name[: LONGEST - 1]}…"


def _rows(column: Sequence[_Box]) -> tuple[float, ...]:
    """Heights of a column's boxes: two stand apart, one stands in the middle."""
    return (1.0, 0.0) if len(column) == 2 else (0.5,)


def _box(box: _Box, place: float, row: float) -> dict[str, Any]:
    corners = {"x0": place - WIDTH / 2, "x1": place + WIDTH / 2, "y0": row - ROW / 2, "y1": row + ROW / 2}
    return {"type": "rect", **AXES, "fillcolor": box.colour, "line": {"width": 0}, "layer": "below", **corners}


def _words(box: _Box, place: float, row: float) -> dict[str, Any]:
    font = {"size": TEXT_SIZE, "color": text_on(box.colour)}
    return {"x": place, "y": row, **AXES, "text": "<br>".join(box.lines), "showarrow": False, "font": font}


def _arrow(start: tuple[float, float], end: tuple[float, float], look: Theme) -> dict[str, Any]:
    ends = {"x": end[0], "y": end[1], "ax": start[0], "ay": start[1], **AXES, "axref": "x3", "ayref": "y3"}
    style = {"arrowhead": 2, "arrowsize": 0.8, "arrowwidth": 1.5, "arrowcolor": look.muted}
    return {**ends, "text": "", "showarrow": True, **style}
