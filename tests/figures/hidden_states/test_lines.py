"""Paths and maps: labels do not overlap each other or a mark, and both axes have the same scale.

Covers `bertviz_core/figures/base/axes.py`.
"""

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.axes import LETTER, LINE, label_sides, point_labels, same_scale
from bertviz_core.figures.base.style import WIDTHS, theme_named
from bertviz_core.figures.hidden_states.lines import embedding_norms, path_lines
from bertviz_core.hidden_states.results import TokenPaths

PLOT = np.array([480.0, 280.0])


def test_labels_far_apart_all_stand_and_those_of_one_spot_do_not_cover_each_other() -> None:
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    assert all(label_sides(corners[None], ["a", "b", "c", "d"], PLOT))
    from_right = np.array([[[1, 0.5], [1, 0], [1, 1]], [[0.5, 0.5], [0, 0], [0, 1]]], np.float32)
    assert label_sides(from_right, ["the", "a", "b"], PLOT)[0] == "middle left"
    heap = label_sides(np.zeros((3, 9, 2), np.float32), ["word"] * 9, PLOT)
    assert sum(map(bool, heap)) <= 4


def test_no_two_labels_share_area_in_the_narrowest_plot() -> None:
    rng = np.random.default_rng(3)
    ends = rng.normal(size=(60, 2)).astype(np.float32)
    names = ["<i>[CLS]</i>", "a&amp;b", *["token"] * 58]
    letters = [5, 3, *[5] * 58]
    spots = (ends - ends.min(0)) / np.ptp(ends, axis=0) * PLOT
    boxes = []
    for (x, y), count, side in zip(spots.tolist(), letters, label_sides(ends[None], names, PLOT), strict=True):
        wide = LETTER * count
        left = {"middle right": x, "middle left": x - wide, "": None}.get(side, x - wide / 2)
        low = {"top center": y, "bottom center": y - LINE}.get(side, y - LINE / 2)
        if left is not None:
            boxes.append((left, low, left + wide, low + LINE))
    assert len(boxes) > 20
    slack = 9  # labels are a mark's radius away from their ends, on one side or the other
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            across = min(one[2], other[2]) - max(one[0], other[0])
            down = min(one[3], other[3]) - max(one[1], other[1])
            assert across <= slack or down <= slack


def test_a_label_is_as_long_as_its_place_allows() -> None:
    ends = np.array([[0, 0], [0, 0.02], [1, 1]], np.float32)
    forms = ["a" * 5, "a" * 20, "a" * 60]
    labels = point_labels(ends[None], [forms] * 3, PLOT, 200.0)
    assert labels[2] == ("a" * 60, "middle left")
    assert labels[0][0] in forms
    crowded = point_labels(np.zeros((1, 4, 2), np.float32), [forms] * 4, np.array([10.0, 10.0]), 90.0)
    assert {name for name, _ in crowded} <= {"", "a" * 5, "a" * 20}


@pytest.mark.parametrize("spread", [(1.0, 1.0), (9.0, 1.0), (1.0, 9.0), (1.0, 0.0), (0.0, 0.0)])
def test_a_unit_is_as_long_on_both_axes_and_all_points_are_seen(spread: tuple[float, float]) -> None:
    points = (np.random.default_rng(1).uniform(-1, 1, (20, 2)) * spread).astype(np.float32)
    figure = go.Figure()
    extent = same_scale(figure, points, (600.0, 300.0), (40.0, 20.0))
    (left, right), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert 600 / (right - left) == pytest.approx(300 / (top - bottom))
    np.testing.assert_allclose(extent, np.ptp(points, axis=0) * 600 / (right - left), rtol=1e-4)
    unit = 600 / (right - left)
    assert ((points - [left, bottom]) * unit >= np.array([40, 20]) - 0.1).all()
    assert (([right, top] - points) * unit >= np.array([40, 20]) - 0.1).all()
    assert (figure.layout.yaxis.scaleanchor, figure.layout.yaxis.scaleratio) == ("x", 1)


@pytest.mark.parametrize("pixels", WIDTHS)
def test_paths_have_one_scale_at_every_width(pixels: int) -> None:
    points = np.random.default_rng(2).standard_normal((4, 3, 2)).astype(np.float32) * [30, 1]
    explained, centre = np.array([0.7, 0.1], np.float32), np.zeros(5, np.float32)
    paths = TokenPaths(points.astype(np.float32), explained, np.eye(2, 5, dtype=np.float32), centre)
    figure = path_lines(paths, ["a", "b", "c"], [0, 1, 2], None, "t", theme_named("light", pixels))
    assert (figure.layout.yaxis.scaleanchor, figure.layout.yaxis.scaleratio) == ("x", 1)


@pytest.mark.parametrize("norm", ["layer norm", "DebertaLayerNorm", "NoNorm"])
def test_the_parts_of_the_input_are_drawn_whatever_the_class_of_the_norm(norm: str) -> None:
    lengths = {"word": np.array([1.0, 2.0], np.float32), f"after {norm}": np.array([3.0, 4.0], np.float32)}
    figure = embedding_norms(lengths, ["a", "b"], None, "input", theme_named("light"))
    assert [trace.y.tolist() for trace in figure.data] == [[1, 2], [3, 4]]
    assert len({trace.marker.color for trace in figure.data}) == 2
