"""Drawings of boxes: rows of boxes one above the other, rows of one group in a frame, a count beside each row."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, text_on

RADIUS = 0.09
Edges = tuple[float, float, float, float]
"""Left, low, right and high."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes and words of one figure, collected: plotly checks them all anew at each one added."""

    theme: Theme
    shapes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)

    def box(self, at: Edges, text: str, colour: str) -> None:
        """A filled box with words in it, black or white by contrast."""
        left, low, right, high = at
        self.shapes.append(
            {"type": "path", "path": _rounded(*at, RADIUS), "fillcolor": colour, "line": {"width": 0}, "layer": "below"}
        )
        self.note((left + right) / 2, (low + high) / 2, text, text_on(colour))

    def cells(self, cells: Sequence[Edges], colour: str) -> None:
        """Small filled squares of one colour."""
        path = " ".join(f"M {x0},{y0} L {x1},{y0} L {x1},{y1} L {x0},{y1} Z" for x0, y0, x1, y1 in cells)
        self.shapes.append({"type": "path", "path": path, "fillcolor": colour, "line": {"width": 0}})

    def frame(self, at: Edges) -> None:
        """A box of lines alone."""
        line = {"color": self.theme.muted, "width": 1.5}
        self.shapes.append({"type": "path", "path": _rounded(*at, RADIUS), "line": line, "layer": "below"})

    def arrow(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """A straight arrow."""
        axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
        style = {"showarrow": True, "arrowhead": 2, "arrowwidth": 1.5, "arrowcolor": self.theme.muted, "text": ""}
        self.notes.append({"x": end[0], "y": end[1], "ax": start[0], "ay": start[1], **axes, **style})

    def line(self, points: Sequence[tuple[float, float]], dash: str = "solid") -> None:
        """A line through points."""
        path = " L ".join(f"{x},{y}" for x, y in points)
        line = {"color": self.theme.muted, "width": 1.5, "dash": dash}
        self.shapes.append({"type": "path", "path": f"M {path}", "line": line})

    def note(self, x: float, y: float, text: str, colour: str, anchor: str = "center", angle: int = 0) -> None:
        """Words without a box."""
        font = {"size": TEXT_SIZE, "color": colour}
        place = {"x": x, "y": y, "xanchor": anchor, "textangle": angle}
        self.notes.append({**place, "text": text, "showarrow": False, "font": font})

    def figure(self, title: str, wide: Sequence[float], high: Sequence[float], height: int) -> go.Figure:
        """All of it on hidden axes of these ranges."""
        figure = go.Figure(layout=layout(self.theme, title))
        figure.update_layout(shapes=self.shapes, annotations=self.notes, height=height, dragmode=False)
        figure.update_xaxes(visible=False, range=list(wide), fixedrange=True)
        return figure.update_yaxes(visible=False, range=list(high), fixedrange=True)


def _rounded(left: float, low: float, right: float, high: float, r: float) -> str:
    """The path of a box whose corners have the radius r."""
    return (
        f"M {left + r},{low} L {right - r},{low} Q {right},{low} {right},{low + r} L {right},{high - r} "
        f"Q {right},{high} {right - r},{high} L {left + r},{high} Q {left},{high} {left},{high - r} "
        f"L {left},{low + r} Q {left},{low} {left + r},{low} Z"
    )


LEFT, RIGHT, COUNTS = 1.3, 9.0, 9.25
ROW, GAP = 0.78, 0.34
BLOCK_RADIUS = 0.12


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a row: what it is, its sizes, whose colour it has."""

    label: str
    detail: str
    colour: str


@dataclass(frozen=True, slots=True)
class BlockRow:
    """Boxes side by side and the parameters they hold together; the rows of one group stand in a frame."""

    boxes: tuple[Box, ...]
    count: int | None
    group: str = ""
    join: str = ""


def draw_blocks(rows: Sequence[BlockRow], title: str, foot: str, theme: Theme) -> go.Figure:
    """The rows from bottom to top, joined by arrows.

    Args:
        rows: lowest first.
        title: stands alone on a slide.
        foot: what goes into the lowest row.
        theme: colours and typeface.
    """
    drawing, y = Drawing(theme), 0.0
    frames: dict[str, tuple[float, float]] = {}
    _note(drawing, (LEFT + RIGHT) / 2, y - 0.42, foot, theme.muted)
    for index, row in enumerate(rows):
        if index:
            inside = row.group and row.group == rows[index - 1].group
            y += ROW + (GAP if inside else GAP + 0.24)
        _draw_row(drawing, row, y, theme)
        if row.group:
            low, _ = frames.get(row.group, (y, y))
            frames[row.group] = (low, y)
        _arrow(drawing, y, theme, first=index == 0)
    for group, (low, high) in frames.items():
        _frame(drawing, group, low, high, theme)
    height = max(420, int(70 + 51 * (y + ROW + 1)))
    return drawing.figure(title, [-0.55, 11.6], [-0.75, y + ROW + 0.3], height)


def _draw_row(drawing: Drawing, row: BlockRow, y: float, theme: Theme) -> None:
    space = 0.34 if row.join else 0.0
    width = (RIGHT - LEFT - space * (len(row.boxes) - 1)) / len(row.boxes)
    for index, box in enumerate(row.boxes):
        left = LEFT + index * (width + space)
        colour = theme.colours[box.colour]
        drawing.shapes.append(
            {
                "type": "path",
                "path": _rounded(left, y, left + width, y + ROW, BLOCK_RADIUS),
                "fillcolor": colour,
                "line": {"width": 0},
                "layer": "below",
            }
        )
        text = f"<b>{escape(box.label)}</b>"
        if box.detail:
            text += ("<br>" if len(row.boxes) > 1 else "   ") + escape(box.detail)
        drawing.notes.append(
            {
                "x": left + width / 2,
                "y": y + ROW / 2,
                "text": text,
                "showarrow": False,
                "font": {"size": TEXT_SIZE, "color": text_on(colour)},
            }
        )
        if index:
            _note(drawing, left - space / 2, y + ROW / 2, row.join, theme.text)
    if row.count:
        _note(drawing, COUNTS + (0.25 if row.group else 0), y + ROW / 2, f"{row.count:,}", theme.muted, anchor="left")


def _arrow(drawing: Drawing, y: float, theme: Theme, first: bool) -> None:
    middle, length = (LEFT + RIGHT) / 2, 0.2 if first else GAP
    drawing.notes.append(
        {
            "x": middle,
            "y": y,
            "ax": middle,
            "ay": y - length,
            "xref": "x",
            "yref": "y",
            "axref": "x",
            "ayref": "y",
            "showarrow": True,
            "text": "",
            "arrowhead": 2,
            "arrowsize": 1,
            "arrowwidth": 1.5,
            "arrowcolor": theme.muted,
        }
    )


def _frame(drawing: Drawing, group: str, low: float, high: float, theme: Theme) -> None:
    drawing.shapes.append(
        {
            "type": "path",
            "path": _rounded(LEFT - 0.2, low - 0.17, RIGHT + 0.2, high + ROW + 0.17, BLOCK_RADIUS),
            "line": {"color": theme.muted, "width": 1.5, "dash": "solid" if group != "embeddings" else "dot"},
            "layer": "below",
        }
    )
    if group != "embeddings":
        _note(drawing, LEFT - 0.3, (low + high + ROW) / 2, f"<b>{group.replace(', ', '<br>')}</b>", theme.text, "right")


def _note(drawing: Drawing, x: float, y: float, text: str, colour: str, anchor: str = "center") -> None:
    drawing.notes.append(
        {
            "x": x,
            "y": y,
            "text": text,
            "showarrow": False,
            "xanchor": anchor,
            "font": {"size": TEXT_SIZE, "color": colour},
        }
    )
