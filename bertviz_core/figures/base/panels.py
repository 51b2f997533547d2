"""Draw maps of layers by heads beside or below each other, each with a colour bar of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.colour_bars import colour_bar
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout

MOST_HEADS, MOST_LAYERS = 16, 14
"""Numbers that stand along an axis."""
INSIDE = 0.9
"""Share of a line's height that its cells' numbers have."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One map."""

    words: str
    """What stands above it, in HTML."""
    hover: str
    """What it shows, in HTML, where a cell is pointed at."""
    cells: Float[np.ndarray, "layers heads"]
    """The numbers."""
    scale: Sequence[Sequence[float | str]]
    """Colours of its scale."""
    ends: tuple[float, float]
    """Numbers at the ends of the scale."""
    unit: str
    """Of the numbers, for the colour bar."""
    digits: str
    """How the numbers in the cells are written, such as ".2f"."""
    hover_unit: str = ""
    """Behind the number of a cell that is pointed at."""
    bar: Mapping[str, Any] = field(default_factory=dict)
    """What its colour bar has beside, or instead of, the usual."""
    most_ticks: int = 5
    """Numbers that fit at its colour bar."""


@dataclass(frozen=True, slots=True)
class PanelGrid:
    """Where maps stand; shares are of the plot's width and height."""

    columns: int
    """Maps beside each other."""
    height: int
    """Pixels of the figure."""
    rows: int
    """Pixels of one line of maps."""
    tall: float
    """Share of one line of maps."""
    below: float
    """Share between two lines of maps."""
    between: float
    """Share between two maps beside each other, for a colour bar."""
    edges: int
    """Pixels beside all maps."""
    margin: Mapping[str, int]
    """Pixels around the plot."""
    every_line_named: bool = False
    """Whether the axis of heads is named below each line of maps, and not below the last alone."""
    hung: bool = False
    """Whether a colour bar hangs from the top of its map, and does not stand on its lower edge."""

    def place(self, index: int, count: int) -> tuple[float, float, float]:
        """Left edge, lower edge and width of a map.

        Args:
            index: which map.
            count: how many there are.
        """
        line, column = divmod(index, self.columns)
        width = (1 - (self.columns - 1) * self.between) / self.columns
        return column * (width + self.between), (count // self.columns - 1 - line) * (self.tall + self.below), width


def head_panels(panels: Sequence[Panel], grid: PanelGrid, title: str, theme: Theme) -> go.Figure:
    """Maps of layers by heads.

    Args:
        panels: the maps, line by line; of one size, and as many as the grid has places.
        grid: where they stand.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    figure = go.Figure(layout=layout(theme, escape(title), height=grid.height))
    for index, panel in enumerate(panels):
        left, bottom, width = grid.place(index, len(panels))
        last = index // grid.columns == (len(panels) - 1) // grid.columns
        _add_map(figure, panel, index, (left, bottom, width), grid, theme)
        named = "head" if last or grid.every_line_named else ""
        figure.update_layout(_axes(panel, index, (left, bottom, width), grid.tall, named))
    return even_axes(figure.update_layout(margin=dict(grid.margin)), theme)


def _add_map(
    figure: go.Figure,
    panel: Panel,
    index: int,
    place: tuple[float, float, float],
    grid: PanelGrid,
    theme: Theme,
) -> None:
    """Add one map with colour bar, cell numbers and name."""
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
    """Axes of heads and layers."""
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
    """Sizes of two maps, side by side or on a phone below each other."""

    least: int
    """Of all rows at least."""
    edges: int
    """Beside a map for its numbers and its colour bar."""
    between: float
    """Between two maps, as a share of the width."""


ROW, MOST, BELOW, ABOVE = 30, 420, 60, 84
"""Of a pair of maps: pixels of a layer's row; of all rows at most; below a map for its axis; above the maps."""


def pair_grid(layers: int, sizes: PairSizes, theme: Theme) -> PanelGrid:
    """The grid of two maps with so many layers."""
    rows = max(sizes.least, min(MOST, ROW * layers))
    lines = 2 if theme.slim else 1
    height = ABOVE + lines * (rows + BELOW)
    tall, below = (rows / (height - ABOVE), BELOW / (height - ABOVE)) if theme.slim else (1.0, 0.0)
    margin = {"t": ABOVE - 30, "r": 70, "b": BELOW}
    return PanelGrid(3 - lines, height, rows, tall, below, sizes.between, lines * sizes.edges, margin)
