"""Boxes, arrows and words on an empty plane: what the drawings of a model's structure are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from figures.style import TEXT_SIZE, Theme, layout, text_on

RADIUS = 0.09
Edges = tuple[float, float, float, float]
"""Left, low, right and high."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes and words of one figure, collected: plotly checks them all anew at each one added."""

    look: Theme
    shapes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)

    def box(self, at: Edges, text: str, colour: str) -> None:
        """A filled box with words in it, black or white by contrast."""
        left, low, right, high = at
        self.shapes.append(
            {"type": "path", "path": _rounded(*at), "fillcolor": colour, "line": {"width": 0}, "layer": "below"}
        )
        self.note((left + right) / 2, (low + high) / 2, text, text_on(colour))

    def cells(self, cells: Sequence[Edges], colour: str) -> None:
        """Small filled squares of one colour."""
        path = " ".join(f"M {x0},{y0} L {x1},{y0} L {x1},{y1} L {x0},{y1} Z" for x0, y0, x1, y1 in cells)
        self.shapes.append({"type": "path", "path": path, "fillcolor": colour, "line": {"width": 0}})

    def frame(self, at: Edges) -> None:
        """A box of lines alone."""
        line = {"color": self.look.muted, "width": 1.5}
        self.shapes.append({"type": "path", "path": _rounded(*at), "line": line, "layer": "below"})

    def arrow(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """A straight arrow."""
        axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
        look = {"showarrow": True, "arrowhead": 2, "arrowwidth": 1.5, "arrowcolor": self.look.muted, "text": ""}
        self.notes.append({"x": end[0], "y": end[1], "ax": start[0], "ay": start[1], **axes, **look})

    def line(self, points: Sequence[tuple[float, float]], dash: str = "solid") -> None:
        """A line through points."""
        path = " L ".join(f"{x},{y}" for x, y in points)
        line = {"color": self.look.muted, "width": 1.5, "dash": dash}
        self.shapes.append({"type": "path", "path": f"M {path}", "line": line})

    def note(self, x: float, y: float, text: str, colour: str, anchor: str = "center", angle: int = 0) -> None:
        """Words without a box."""
        font = {"size": TEXT_SIZE, "color": colour}
        place = {"x": x, "y": y, "xanchor": anchor, "textangle": angle}
        self.notes.append({**place, "text": text, "showarrow": False, "font": font})

    def figure(self, title: str, wide: Sequence[float], high: Sequence[float], height: int) -> go.Figure:
        """All of it on hidden axes of these ranges."""
        figure = go.Figure(layout=layout(self.look, title))
        figure.update_layout(shapes=self.shapes, annotations=self.notes, height=height, dragmode=False)
        figure.update_xaxes(visible=False, range=list(wide), fixedrange=True)
        return figure.update_yaxes(visible=False, range=list(high), fixedrange=True)


def _rounded(left: float, low: float, right: float, high: float) -> str:
    r = RADIUS
    return (
        f"M {left + r},{low} L {right - r},{low} Q {right},{low} {right},{low + r} L {right},{high - r} "
        f"Q {right},{high} {right - r},{high} L {left + r},{high} Q {left},{high} {left},{high - r} "
        f"L {left},{low + r} Q {left},{low} {left + r},{low} Z"
    )
