"""Heatmaps with numbers in the cells, in black or white, if they fit."""

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.marks import add_words
from bertviz_core.figures.base.style import Theme, colour_bar, text_on

SIZES = (14, 13, 12, 11)
"""Font sizes of the numbers in pixels; the largest that fits is used."""
BESIDE, ABOVE = 6, 5
"""Free pixels in a cell, horizontally and vertically."""
LEAST_CELL = 6
"""Minimum width or height of a cell in pixels that leaves a gap to the next."""
MOST_NUMBERS = 600
"""Maximum number of cells with numbers."""


def colour_at(scale: Sequence[Sequence[float | str]], share: float) -> str:
    """Return the colour of a scale at a share from 0 to 1 of its range, interpolated like plotly."""
    share = min(max(share, 0.0), 1.0)
    for (low, one), (high, other) in itertools.pairwise(scale):
        if share <= float(high):
            part = (share - float(low)) / (float(high) - float(low) or 1.0)
            ends = [[int(str(colour)[i : i + 2], 16) for i in (1, 3, 5)] for colour in (one, other)]
            return "#" + "".join(f"{round(a + part * (b - a)):02X}" for a, b in zip(*ends, strict=True))
    return str(scale[-1][1])


def number_size(words: Sequence[Sequence[str]], across: float, down: float) -> int | None:
    """Return the font size at which every number fits its cell; None if none is legible."""
    rows, columns = len(words), max((len(row) for row in words), default=0)
    if not 0 < rows * columns <= MOST_NUMBERS:
        return None
    width, height = across / columns - BESIDE, down / rows - ABOVE
    longest = max((text_width(word, 1) for row in words for word in row), default=0.0)
    return next((size for size in SIZES if longest * size <= width and size <= height), None)


def _finer(form: str, values: Float[np.ndarray, "rows columns"]) -> str:
    """Return the format with enough decimals to distinguish the numbers; counts stay integers."""
    fixed, finite = re.fullmatch(r"(.*\.)([1-9]\d*)f", form), values[np.isfinite(values)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    if fixed is None or spread == 0:
        return form
    return f"{fixed[1]}{max(int(fixed[2]), 1 - math.floor(math.log10(spread)))}f"


def cell_numbers(
    figure: go.Figure,
    values: Float[np.ndarray, "rows columns"],
    form: str,
    scale: Sequence[Sequence[float | str]],
    ends: tuple[float, float],
    room: tuple[float, float],
    axes: tuple[str, str] = ("x", "y"),
    first_column: int = 0,
) -> go.Figure:
    """Add numbers to the cells of a map if all of them fit.

    The cells are those of a heatmap, one unit of an axis each, the first at 0. NaN cells stay empty. Nearly equal
    numbers have more digits than `form` says if they fit. `ends` are the numbers with the first and the last colour,
    `room` is the size of the map in pixels in the narrowest layout of its width class.
    """
    if values.size > MOST_NUMBERS:
        return figure
    for each in (_finer(form, values), form):
        words = [[_written(value, each) for value in row] for row in values.tolist()]
        size = number_size(words, *room)
        if size is not None:
            break
    else:
        return figure
    low, high = ends
    shares = (values - low) / ((high - low) or 1.0)
    places = [(row, column) for row, line in enumerate(words) for column, word in enumerate(line) if word]
    x, y = [first_column + column for _, column in places], [row for row, _ in places]
    numbers = [words[row][column] for row, column in places]
    inks = [text_on(colour_at(scale, float(shares[place]))) for place in places]
    return add_words(figure, x, y, numbers, size, inks, None, xaxis=axes[0], yaxis=axes[1], showlegend=False)


def cell_gaps(room: tuple[float, float], shape: tuple[int, int]) -> dict[str, int]:
    """Gaps between the cells of a heatmap in pixels: 1 where a cell is wide or high enough, else 0.

    plotly takes the gap from the cell, so a map of a long text on a narrow screen would have no colour left.
    """
    rows, columns = shape
    return {"xgap": int(room[0] >= LEAST_CELL * columns), "ygap": int(room[1] >= LEAST_CELL * rows)}


def bordered(figure: go.Figure, theme: Theme) -> go.Figure:
    """Draw gaps and the edge of maps, so that a cell in the colour of the paper is not taken for a missing one."""
    line = {"showline": True, "mirror": True, "linecolor": theme.muted, "linewidth": 1}
    return figure.update_layout(plot_bgcolor=theme.grid).update_xaxes(line).update_yaxes(line)


def add_cells(
    figure: go.Figure,
    values: Float[np.ndarray, "rows columns"],
    form: str,
    scale: Sequence[Sequence[float | str]],
    ends: tuple[float, float],
    room: tuple[float, float],
    unit: str,
    hover: str | None = None,
    axes: tuple[str, str] = ("x", "y"),
    first_column: int = 0,
    /,
    **settings: Any,
) -> go.Figure:
    """Add a heatmap with a colour bar in its unit, and numbers in the cells if all of them fit, see `cell_numbers`.

    Cells are at 0, 1, 2 ... on both axes; further settings of the heatmap add to the defaults or override them.
    """
    rows, columns = values.shape
    usual: dict[str, Any] = {"x": list(range(columns)), "y": list(range(rows)), **cell_gaps(room, values.shape)}
    usual |= {"zmin": ends[0], "zmax": ends[1], "colorscale": scale, "colorbar": _bar(values, ends, unit)}
    usual |= {"xaxis": axes[0], "yaxis": axes[1], "hovertemplate": None if hover is None else f"{hover}<extra></extra>"}
    figure.add_heatmap(**{"z": values, **usual, **settings})
    return cell_numbers(figure, values, form, scale, ends, room, axes, first_column)


def _bar(values: Float[np.ndarray, "rows columns"], ends: tuple[float, float], unit: str) -> dict[str, Any]:
    """The colour bar; an end whose colour numbers beyond it have, too, says so."""
    bar, slack = colour_bar(unit, *ends), 1e-6 * (ends[1] - ends[0])
    for place, mark, beyond in ((0, "≤", values < ends[0] - slack), (-1, "≥", values > ends[1] + slack)):
        if beyond.any():
            bar["ticktext"][place] = f"{mark} {bar['ticktext'][place]}"
    return bar


def _written(value: float, form: str) -> str:
    """Format a number with a true minus sign, none for zero; "" for NaN."""
    if not np.isfinite(value):
        return ""
    written = f"{value:{form}}"
    return (written.lstrip("-") if float(written.replace(",", "").rstrip("%") or 0) == 0 else written).replace("-", "−")
