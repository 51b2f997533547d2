"""Collect the shapes and texts of a drawing, in pixels from the top left."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, text_on
from bertviz_core.figures.base.text_width import text_width

SIZES = (TEXT_SIZE, 13, 12, 11)
"""Font sizes; the first that fits is used."""
BOLD = 1.06
"""Relative width of bold text."""
LINE = 17
"""Line height in a box in pixels."""
PAD = 12
"""Horizontal padding of a box in pixels, both sides together."""
RADIUS = 6
MARGIN_TOP, MARGIN = 48, 8
Edges = tuple[float, float, float, float]
"""Left, top, right and bottom."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Text that fits a box."""

    text: str
    """Text with plotly markup."""
    size: int
    """Font size."""
    lines: int
    """Number of lines."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Collects shapes and annotations of one figure, since plotly validates all of them at each addition."""

    theme: Theme
    shapes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Width in pixels."""
        return self.theme.pixels - 2 * MARGIN

    def box(self, at: Edges, text: str, colour: str, size: int = TEXT_SIZE) -> None:
        """Add a filled box with text in black or white, by contrast."""
        left, top, right, bottom = at
        path = {"type": "path", "path": _rounded(*at), "fillcolor": colour, "line": {"width": 0}, "layer": "below"}
        self.shapes.append(path)
        self.note((left + right) / 2, (top + bottom) / 2, text, text_on(colour), size=size)

    def cells(self, cells: Sequence[Edges], colour: str) -> None:
        """Add small filled squares of one colour."""
        path = " ".join(f"M {x0},{y0} L {x1},{y0} L {x1},{y1} L {x0},{y1} Z" for x0, y0, x1, y1 in cells)
        self.shapes.append({"type": "path", "path": path, "fillcolor": colour, "line": {"width": 0}})

    def frame(self, at: Edges, dash: str = "solid") -> None:
        """Add an outlined box."""
        line = {"color": self.theme.muted, "width": 1.5, "dash": dash}
        self.shapes.append({"type": "path", "path": _rounded(*at), "line": line, "layer": "below"})

    def ground(self, at: Edges) -> None:
        """Add a surface behind everything else."""
        left, top, right, bottom = at
        path = f"M {left},{top} L {right},{top} L {right},{bottom} L {left},{bottom} Z"
        shape = {"type": "path", "path": path, "fillcolor": self.theme.neutral, "opacity": 0.4, "line": {"width": 0}}
        self.shapes.append({**shape, "layer": "below"})

    def arrow(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Add a straight arrow."""
        axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
        style = {"showarrow": True, "arrowhead": 2, "arrowwidth": 1.5, "arrowcolor": self.theme.muted, "text": ""}
        self.notes.append({"x": end[0], "y": end[1], "ax": start[0], "ay": start[1], **axes, **style})

    def line(self, points: Sequence[tuple[float, float]]) -> None:
        """Add a line through points."""
        path = " L ".join(f"{x},{y}" for x, y in points)
        self.shapes.append({"type": "path", "path": f"M {path}", "line": {"color": self.theme.muted, "width": 1.5}})

    def note(
        self, x: float, y: float, text: str, colour: str, anchor: str = "center", size: int = TEXT_SIZE, angle: int = 0
    ) -> None:
        """Add text without a box."""
        place = {"x": x, "y": y, "xanchor": anchor, "textangle": angle, "borderpad": 0}
        self.notes.append({**place, "text": text, "showarrow": False, "font": {"size": size, "color": colour}})

    def figure(self, title: str, bottom: float) -> go.Figure:
        """Build the figure with this height."""
        figure = go.Figure(layout=layout(self.theme, title))
        height = int(bottom) + MARGIN_TOP + MARGIN
        figure.update_layout(shapes=self.shapes, annotations=self.notes, height=height, dragmode=False)
        figure.update_xaxes(visible=False, range=[0, self.width], fixedrange=True)
        return figure.update_yaxes(visible=False, range=[bottom, 0], fixedrange=True)


def fitted_words(label: str, detail: str, width: float) -> Fitted:
    """Format a bold label and details behind or below it, in the first form and size that fits a box of this width.

    If nothing fits, the details are left out, and finally the label is broken into lines.
    """
    room, details = width - PAD, detail.split("\n") if detail else []
    for size in SIZES:
        wide = text_width(label, size) * BOLD
        below = [text_width(each, size) for each in details]
        if len(details) <= 1 and wide + sum(below) + (text_width("   ", size) if below else 0) <= room:
            text = f"<b>{escape(label)}</b>" + (f"   {escape(details[0])}" if details else "")
            return Fitted(text, size, 1)
        if details and max(wide, *below) <= room:
            return Fitted("<br>".join([f"<b>{escape(label)}</b>", *map(escape, details)]), size, 1 + len(details))
    for size in SIZES:
        words = broken(label, room, size)
        if max(text_width(each, size) for each in words) * BOLD <= room:
            return Fitted("<br>".join(f"<b>{escape(each)}</b>" for each in words), size, len(words))
    return Fitted("<br>".join(f"<b>{escape(each)}</b>" for each in words), SIZES[-1], len(words))


def broken(text: str, room: float, size: float) -> list[str]:
    """Break text into the fewest lines that fit, without breaking words."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) * BOLD <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _rounded(left: float, top: float, right: float, bottom: float) -> str:
    """Return the path of a box with rounded corners."""
    r = RADIUS
    return (
        f"M {left + r},{top} L {right - r},{top} Q {right},{top} {right},{top + r} L {right},{bottom - r} "
        f"Q {right},{bottom} {right - r},{bottom} L {left + r},{bottom} Q {left},{bottom} {left},{bottom - r} "
        f"L {left},{top + r} Q {left},{top} {left + r},{top} Z"
    )
