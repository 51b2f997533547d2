"""Count the points of a large map on a grid, or list a small number of points."""

import math

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.corpus.analysis.column_groups import ColumnValues
from bertviz_core.corpus.analysis.results import MapDensity, MapPoints, MapWindow
from bertviz_core.corpus.analysis.row_samples import sampled_rows
from bertviz_core.hidden_states.geometry import inside_polygon

LEAST, MOST = 38, 253
"""Minimum and maximum number of cells along a square window: two or three pixels per cell for many points."""
STRETCHED = 4.0
"""Aspect ratio of a window from which on cells are not square."""
MAX_CELLS = 250_000
"""Maximum number of cells: their counts and majorities take 1.3 MB in transfer to a browser."""
BLOCK_ROWS = 1_048_576
"""Number of points counted at once: 45 MB, for any number of points."""
MAX_POINTS = 20_000
"""Maximum number of individually listed points."""
MARGIN = 0.02
"""Margin around the outermost points, as a share of width and height."""


def whole_window(points: Float[np.ndarray, "rows 2"]) -> MapWindow:
    """Return the window of all points with a margin; one unit wide if they all coincide."""
    if not len(points):
        return MapWindow(-1.0, 1.0, -1.0, 1.0)
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    margin = np.where(high > low, MARGIN * (high - low), 0.5)
    (left, bottom), (right, top) = (low - margin).tolist(), (high + margin).tolist()
    return MapWindow(left, right, bottom, top)


def map_density(
    points: Float[np.ndarray, "rows 2"],
    window: MapWindow,
    values: ColumnValues | None = None,
    across: int = 0,
    down: int = 0,
) -> MapDensity:
    """Count the points in each cell of a window, and find the most frequent value there.

    A cell includes its left and lower edge; the last of a row or column also its outer edge, so that the counts sum to
    the points in the window. Points are counted block by block, so that memory does not grow with them.

    Args:
        points: the map.
        window: the part of the map to cover.
        values: value of a column for each point; None for none.
        across: number of cells horizontally; 0 for square cells that suit the number of points.
        down: number of cells vertically; 0 for square cells that suit the number of points.

    Raises:
        ValueError: the window has no area, or there are no cells or more than MAX_CELLS.
    """
    suited = _suited(len(points), window)
    across, down = across or suited[0], down or suited[1]
    if across < 1 or down < 1 or across * down > MAX_CELLS:
        raise ValueError(f"a grid of {across} times {down} cells")
    names: tuple[str, ...] = () if values is None else values.names
    of_values = np.zeros((max(len(names), 1), down * across), dtype=np.int64)
    for start in range(0, max(len(points), 1), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        inside = rows_inside(points[block], window)
        cells = _cells(points[block][inside], window, across, down)
        if values is not None:
            cells += values.codes[block][inside].astype(np.int64) * (across * down)
        of_values += np.bincount(cells, minlength=of_values.size).reshape(of_values.shape)
    counts = of_values.sum(axis=0).astype(np.int32).reshape(down, across)
    if values is None:
        return MapDensity(window, counts, int(counts.sum()), (), np.zeros(0, dtype=np.int64), None)
    majority = np.where(counts > 0, of_values.argmax(axis=0).reshape(down, across), -1).astype(np.int8)
    return MapDensity(window, counts, int(counts.sum()), names, of_values.sum(axis=1), majority)


def map_points(
    points: Float[np.ndarray, "rows 2"], window: MapWindow, most: int = MAX_POINTS, seed: int = 0
) -> MapPoints:
    """Return the points in a window; a random sample if there are more than `most`."""
    inside = rows_inside(points, window)
    rows = inside[sampled_rows(len(inside), most, seed)]
    return MapPoints(window, rows, points[rows], len(inside), seed)


def rows_inside(points: Float[np.ndarray, "rows 2"], window: MapWindow) -> Int[np.ndarray, " inside"]:
    """Return the rows with points in a window, edges included, ascending.

    Raises:
        ValueError: the window has no area.
    """
    if not (window.left < window.right and window.bottom < window.top):
        raise ValueError(f"a window without an area: {window}")
    across, down = points[:, 0], points[:, 1]
    inside: np.ndarray = np.flatnonzero(
        (across >= window.left) & (across <= window.right) & (down >= window.bottom) & (down <= window.top)
    )
    return inside


def rows_in_outline(
    points: Float[np.ndarray, "rows 2"], outline: Float[np.ndarray, "corners 2"]
) -> Int[np.ndarray, " inside"]:
    """Return the rows with points inside a polygon, ascending, by the even-odd rule.

    Args:
        points: the map.
        outline: corners of the polygon in order; the last is joined to the first.

    Raises:
        ValueError: there are fewer than three corners, or all are on one horizontal line.
    """
    if len(outline) < 3:
        raise ValueError(f"an outline of {len(outline)} corners")
    corners = outline.astype(np.float64)
    low, high = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    near = rows_inside(points, MapWindow(low[0], high[0], low[1], high[1]))
    inside: np.ndarray = near[inside_polygon(points[near], corners)]
    return inside


def _suited(count: int, window: MapWindow) -> tuple[int, int]:
    """Return the numbers of square cells across and down; fewer points get larger cells."""
    side = min(max(1.9 * math.sqrt(count), LEAST), MOST)
    height = window.top - window.bottom
    shape = min(max((window.right - window.left) / height, 1 / STRETCHED), STRETCHED) if height > 0 else 1.0
    return round(side * math.sqrt(shape)), round(side / math.sqrt(shape))


def _cells(
    points: Float[np.ndarray, "inside 2"], window: MapWindow, across: int, down: int
) -> Int[np.ndarray, " inside"]:
    """Return the number of the cell of each point in a window, row by row."""
    cells: np.ndarray = _places(points[:, 1], window.bottom, window.top, down) * across
    cells += _places(points[:, 0], window.left, window.right, across)
    return cells


def _places(numbers: Float[np.ndarray, " inside"], low: float, high: float, cells: int) -> Int[np.ndarray, " inside"]:
    """Return the cell of each number between low and high."""
    shares = (numbers.astype(np.float64) - low) / (high - low)
    places: np.ndarray = np.minimum((shares * cells).astype(np.int64), cells - 1)
    return places
