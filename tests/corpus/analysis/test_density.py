"""Counts on a grid add up to the points in the window; selected points equal those of a loop."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from bertviz_core.corpus.analysis import clusters as density
from bertviz_core.corpus.analysis.clusters import (
    MAX_CELLS,
    map_density,
    map_points,
    rows_in_outline,
    rows_inside,
    whole_window,
)
from bertviz_core.corpus.analysis.duplicates import ColumnValues
from bertviz_core.corpus.analysis.results import MapWindow

ROWS = 3_001
PART = MapWindow(-0.5, 1.5, -1.0, 0.25)


@pytest.fixture(scope="module")
def points() -> Any:
    return np.random.default_rng(0).standard_normal((ROWS, 2)).astype(np.float32)


def in_part(points: Any) -> Any:
    return [row for row, (x, y) in enumerate(points.tolist()) if -0.5 <= x <= 1.5 and -1.0 <= y <= 0.25]


@pytest.mark.parametrize(("across", "down"), [(1, 1), (7, 5), (320, 200)])
def test_counts_add_up_to_the_points_of_the_window(points: Any, across: int, down: int) -> None:
    whole = map_density(points, whole_window(points), across=across, down=down)
    assert whole.counts.shape == (down, across)
    assert whole.counts.sum() == whole.total == ROWS
    part = map_density(points, PART, across=across, down=down)
    assert part.counts.sum() == part.total == len(in_part(points))


def test_few_points_get_larger_cells(points: Any) -> None:
    def cells(count: int) -> int:
        return map_density(np.tile(points, (10, 1))[:count], whole_window(points)).counts.size

    assert cells(0) == pytest.approx(cells(100), rel=0.1)
    assert cells(100) < cells(ROWS) < cells(10 * ROWS) <= MAX_CELLS


def test_cells_are_square_but_in_a_strip(points: Any) -> None:
    for window in (MapWindow(-1, 1, -1, 1), MapWindow(0, 3, 0, 1), MapWindow(0, 1, 0, 2.5)):
        down, across = map_density(points, window).counts.shape
        assert (window.right - window.left) / across == pytest.approx((window.top - window.bottom) / down, rel=0.05)
    down, across = map_density(points, MapWindow(-3, 997, 0, 1)).counts.shape
    assert down > 10
    assert across < 10 * down


def test_counts_are_those_of_numpy(points: Any) -> None:
    density = map_density(points, PART, across=9, down=4)
    ranges = ((PART.left, PART.right), (PART.bottom, PART.top))
    expected, *_ = np.histogram2d(*points.astype(np.float64).T, bins=(9, 4), range=ranges)
    np.testing.assert_array_equal(density.counts, expected.T)


def test_the_majority_of_a_cell_is_that_of_a_loop(points: Any) -> None:
    codes = np.random.default_rng(1).integers(0, 3, ROWS).astype(np.int16)
    values = ColumnValues(("a", "b", "c"), codes)
    density = map_density(points, PART, values, across=6, down=3)
    assert density.majority is not None
    seen = {(row, column): [0, 0, 0] for row in range(3) for column in range(6)}
    for place in in_part(points):
        column = min(int((float(points[place, 0]) + 0.5) / 2.0 * 6), 5)
        row = min(int((float(points[place, 1]) + 1.0) / 1.25 * 3), 2)
        seen[row, column][codes[place]] += 1
    for (row, column), counts in seen.items():
        assert density.majority[row, column] == (counts.index(max(counts)) if sum(counts) else -1)
    np.testing.assert_array_equal(density.value_counts, np.bincount(codes[in_part(points)], minlength=3))


@pytest.mark.parametrize("size", [1, 1_000, ROWS - 1, ROWS])
def test_blocks_count_what_all_points_at_once_count(points: Any, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    rows = points[:: 1 if size > 1 else 30]
    codes = np.random.default_rng(1).integers(0, 3, len(rows)).astype(np.int16)
    values = ColumnValues(("a", "b", "c"), codes)
    whole, counted = (map_density(rows, PART, given, across=6, down=3) for given in (values, None))
    monkeypatch.setattr(density, "BLOCK_ROWS", size)
    parts, parts_counted = (map_density(rows, PART, given, across=6, down=3) for given in (values, None))
    for found, expected in ((parts, whole), (parts_counted, counted)):
        assert found.total == expected.total > 0
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_array_equal(found.value_counts, expected.value_counts)
    np.testing.assert_array_equal(parts.majority, whole.majority)


def test_memory_does_not_grow_with_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(density, "BLOCK_ROWS", 10_000)
    peaks = []
    for count in (20_000, 200_000):
        points = np.random.default_rng(0).standard_normal((count, 2)).astype(np.float32)
        tracemalloc.start()
        map_density(points, PART, across=30, down=20)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_an_empty_cell_has_no_majority() -> None:
    values = ColumnValues(("a",), np.zeros(2, dtype=np.int16))
    corners = np.array([[0.0, 0.0], [1.0, 1.0]], dtype=np.float32)
    density = map_density(corners, MapWindow(0.0, 1.0, 0.0, 1.0), values, across=2, down=2)
    assert density.majority is not None
    assert density.majority.tolist() == [[0, -1], [-1, 0]]


def test_the_largest_grid_is_less_than_2_megabytes(points: Any) -> None:
    values = ColumnValues(("a",), np.zeros(ROWS, dtype=np.int16))
    density = map_density(points, whole_window(points), values, across=500, down=MAX_CELLS // 500)
    assert density.majority is not None
    assert density.counts.nbytes + density.majority.nbytes <= 2_000_000
    with pytest.raises(ValueError, match="grid"):
        map_density(points, whole_window(points), across=501, down=MAX_CELLS // 500)


def test_few_points_are_listed_and_many_sampled(points: Any) -> None:
    listed = map_points(points, PART)
    assert listed.rows.tolist() == in_part(points)
    np.testing.assert_array_equal(listed.points, points[listed.rows])
    sample = map_points(points, PART, most=50, seed=4)
    assert (len(sample.rows), sample.total) == (50, listed.total)
    assert np.isin(sample.rows, listed.rows).all()
    assert (np.diff(sample.rows) > 0).all()
    np.testing.assert_array_equal(map_points(points, PART, most=50, seed=4).rows, sample.rows)
    assert (map_points(points, PART, most=50, seed=5).rows != sample.rows).any()


def test_an_outline_encloses_what_a_circle_does(points: Any) -> None:
    angles = np.linspace(0, 2 * np.pi, 721)[:-1]
    circle = np.stack([0.3 + 0.8 * np.cos(angles), -0.2 + 0.8 * np.sin(angles)], axis=1)
    distance = np.hypot(points[:, 0] - 0.3, points[:, 1] + 0.2)
    rows = rows_in_outline(points, circle)
    near_edge = np.flatnonzero(np.abs(distance - 0.8) < 1e-4)
    assert set(np.setxor1d(rows, np.flatnonzero(distance < 0.8))) <= set(near_edge)
    bow = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])  # crosses itself: two triangles
    inside = rows_in_outline(points, bow)
    x, y = points[inside].T
    assert len(inside) > 10
    assert ((np.abs(y - 0.5) < np.abs(x - 0.5)) & (x > 0) & (x < 1)).all()


def test_what_has_no_area_is_no_window(points: Any) -> None:
    with pytest.raises(ValueError, match="without an area"):
        rows_inside(points, MapWindow(0.0, 0.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="2 corners"):
        rows_in_outline(points, np.zeros((2, 2)))
    assert whole_window(np.zeros((0, 2), dtype=np.float32)) == MapWindow(-1.0, 1.0, -1.0, 1.0)
    assert whole_window(np.ones((3, 2), dtype=np.float32)) == MapWindow(0.5, 1.5, 0.5, 1.5)
