"""Draw the steps from two vectors to one attention weight as boxes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bertviz_core.figures.base.style import TEXT_SIZE, Theme, text_on
from bertviz_core.heads.results import CellBreakdown, ScoreBreakdown

WIDTH, ROW, DOWN = 0.9, 0.86, 0.76
"""Size of a box, in columns and rows of the chain; of one in a vertical chain, along its direction."""
STEP = 82
"""Height in pixels of a step of a vertical chain."""
AXES = {"xref": "x3", "yref": "y3"}
LONGEST_WORD = 7
"""Maximum length of a token in a box of a narrow page."""
ADDED = {"relative position": "position", "mask": "mask"}


class _Box(NamedTuple):
    lines: tuple[str, ...]
    colour: str


def add_chain(figure: go.Figure, cell: CellBreakdown, names: Sequence[str], bottom: float, theme: Theme) -> None:
    """Draw two rows of boxes, query above key, that join at the score and end at the weight.

    On a phone the chain is vertical, with the query's boxes left of the key's.

    Args:
        figure: figure to draw into, on its third pair of axes.
        cell: breakdown of the attention weight.
        names: labels of the tokens.
        bottom: lower end of the chain, as a share of the figure's height.
        theme: theme of the figure.
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
    """Return the position of a step of the chain."""
    return (1 - row, -place) if down else (place, row)


def signed(value: float) -> str:
    """Format a number with four significant digits and a true minus sign."""
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
