"""Draw maps of layers by heads side by side or stacked, each with its own colour bar."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.cells import add_cells, bordered
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, colour_bar, escape, layout

MOST_HEADS, MOST_LAYERS = 16, 14
"""Maximum number of tick labels along an axis."""
INSIDE = 0.9
"""Height of cell numbers as a share of the row height."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One map."""

    words: str
    """Heading in HTML."""
    hover: str
    """Hover text in HTML."""
    cells: Float[np.ndarray, "layers heads"]
    scale: Sequence[Sequence[float | str]]
    ends: tuple[float, float]
    """Numbers at the ends of the scale."""
    unit: str
    """Unit of the numbers, for the colour bar."""
    digits: str
    """Format of the numbers in the cells, such as ".2f"."""
    hover_unit: str = ""
    """Suffix of the number in a hover."""
    bar: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the colour bar that add to or override the defaults."""
    most_ticks: int = 5
    """Maximum number of ticks of the colour bar."""


@dataclass(frozen=True, slots=True)
class PanelGrid:
    """Positions of maps; shares are of the plot's width and height."""

    columns: int
    """Number of maps side by side."""
    height: int
    """Height of the figure in pixels."""
    rows: int
    """Height of one row of maps in pixels."""
    tall: float
    """Height of one row of maps as a share."""
    below: float
    """Distance between two rows of maps as a share."""
    between: float
    """Distance between two maps side by side, for a colour bar, as a share."""
    edges: int
    """Pixels beside all maps."""
    margin: Mapping[str, int]
    every_line_named: bool = False
    """Whether the axis of heads has a title below each row of maps, or only below the last."""
    hung: bool = False
    """Whether colour bars are aligned with the top of their maps, or with the bottom."""

    def place(self, index: int, count: int) -> tuple[float, float, float]:
        """Return left edge, lower edge and width of a map."""
        line, column = divmod(index, self.columns)
        width = (1 - (self.columns - 1) * self.between) / self.columns
        return column * (width + self.between), (count // self.columns - 1 - line) * (self.tall + self.below), width


def head_panels(panels: Sequence[Panel], grid: PanelGrid, title: str, theme: Theme) -> go.Figure:
    """Draw maps of layers by heads, row by row; all are of one size, and as many as the grid has positions."""
    figure = go.Figure(layout=layout(theme, escape(title), height=grid.height))
    for index, panel in enumerate(panels):
        left, bottom, width = grid.place(index, len(panels))
        last = index // grid.columns == (len(panels) - 1) // grid.columns
        _add_map(figure, panel, index, (left, bottom, width), grid, theme)
        named = "head" if last or grid.every_line_named else ""
        figure.update_layout(_axes(panel, index, (left, bottom, width), grid.tall, named))
    return even_axes(bordered(figure.update_layout(margin=dict(grid.margin)), theme), theme)


def _add_map(
    figure: go.Figure, panel: Panel, index: int, place: tuple[float, float, float], grid: PanelGrid, theme: Theme
) -> None:
    number, (left, bottom, width) = _number(index), place
    bar = {
        **{"x": left + width, "xanchor": "left", "len": grid.tall, "lenmode": "fraction"},
        **{"y": bottom + (grid.tall if grid.hung else 0), "yanchor": "top" if grid.hung else "bottom"},
    }
    unit = f" {panel.hover_unit}" if panel.hover_unit else ""
    add_cells(
        figure,
        panel.cells,
        panel.digits,
        panel.scale,
        panel.ends,
        ((theme.pixels - grid.edges) * width, INSIDE * grid.rows),
        panel.unit,
        f"{panel.hover}, layer %{{y}}, head %{{x}}: %{{z:.4f}}{unit}",
        (f"x{number}", f"y{number}"),
        colorbar={**colour_bar(panel.unit, *panel.ends, most=panel.most_ticks), **bar, **panel.bar},
        hoverongaps=False,
    )
    figure.add_annotation(
        text=panel.words, x=left, xref="paper", xanchor="left", y=bottom + grid.tall, yref="paper",
        yanchor="bottom", showarrow=False, font={"size": TEXT_SIZE, "color": theme.text},
    )  # fmt: skip


def _axes(
    panel: Panel, index: int, place: tuple[float, float, float], tall: float, named: str
) -> dict[str, dict[str, Any]]:
    number, (left, bottom, width), (layers, heads) = _number(index), place, panel.cells.shape
    return {
        f"xaxis{number}": {
            "domain": [left, min(left + width, 1.0)],
            "anchor": f"y{number}",
            "dtick": max(1, -(-heads // MOST_HEADS)),
            "title": named,
            "showgrid": False,
            "range": [-0.5, heads - 0.5],
        },
        f"yaxis{number}": {
            "domain": [bottom, min(bottom + tall, 1.0)],
            "anchor": f"x{number}",
            "dtick": max(1, -(-layers // MOST_LAYERS)),
            "title": "" if left else "layer",
            "showgrid": False,
            "range": [layers - 0.5, -0.5],
        },
    }


def _number(index: int) -> str:
    return str(index + 1) if index else ""


@dataclass(frozen=True, slots=True)
class PairSizes:
    """Sizes of two maps, side by side or stacked on a phone."""

    least: int
    """Minimum height of all rows in pixels."""
    edges: int
    """Width beside a map for its labels and its colour bar in pixels."""
    between: float
    """Distance between two maps, as a share of the width."""


ROW, MOST, BELOW, ABOVE = 30, 420, 60, 84
"""Pixels of a pair of maps: height of a layer's row, maximum height of all rows, axis below a map, margin above."""


def pair_grid(layers: int, sizes: PairSizes, theme: Theme) -> PanelGrid:
    """Return the grid of two maps with this number of layers."""
    rows = max(sizes.least, min(MOST, ROW * layers))
    lines = 2 if theme.slim else 1
    height = ABOVE + lines * (rows + BELOW)
    tall, below = (rows / (height - ABOVE), BELOW / (height - ABOVE)) if theme.slim else (1.0, 0.0)
    margin = {"t": ABOVE - 30, "r": 70, "b": BELOW}
    return PanelGrid(3 - lines, height, rows, tall, below, sizes.between, lines * sizes.edges, margin)
