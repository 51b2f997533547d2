"""Figures of two checkpoints: the drawn numbers, ends of scales, escaped names."""

import numpy as np
import pytest

from bertviz_core.checkpoints.results import ChangeHistograms, Histogram
from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from bertviz_core.figures.checkpoints.comparison import divergence_map, histogram_pair, token_cosine_map
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED

RANDOM = np.random.default_rng(0)
EDGES = np.linspace(-1.0, 1.0, 6)
COUNTS = (np.array([1, 2, 3, 4, 5]), np.array([5, 1, 0, 2, 7]), np.array([0, 0, 15, 0, 0]))
FOUND = ChangeHistograms("w", *(Histogram(EDGES, counts, 0) for counts in COUNTS))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_both_outlines_and_the_differences_are_the_counts(theme: Theme) -> None:
    first, second, difference = histogram_pair(FOUND, ("first", ACTIVE), "x", theme).data
    for line, counts in ((first, COUNTS[0]), (second, COUNTS[1])):
        assert line.x.tolist() == np.repeat(EDGES, 2).tolist()
        assert (line.y[0], line.y[-1]) == (0, 0)
        np.testing.assert_array_equal(line.y[1:-1:2], counts)
        np.testing.assert_array_equal(line.y[2:-1:2], counts)
    np.testing.assert_array_equal(difference.y, COUNTS[2])
    assert second.name == ACTIVE_ESCAPED
    assert first.line.dash != second.line.dash


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_divergences_begin_at_zero_with_layers_down_and_heads_across(theme: Theme) -> None:
    values = RANDOM.random((3, 5)).astype(np.float32) / 2
    figure = divergence_map(values, "x", theme)
    heatmap = figure.data[0]
    np.testing.assert_array_equal(heatmap.z, values)
    assert (heatmap.zmin, heatmap.zmax) == (0, pytest.approx(values.max()))
    assert (list(heatmap.x), list(heatmap.y)) == ([0, 1, 2, 3, 4], [0, 1, 2])
    assert divergence_map(np.zeros((3, 5), np.float32), "x", theme).data[0].zmax == pytest.approx(np.log(2))


def test_cosines_end_at_one_and_begin_below_the_smallest() -> None:
    names = ["[CLS]", "the", "the", ACTIVE_ESCAPED]
    values = (1 - RANDOM.random((3, 4)) * 0.3).astype(np.float32)
    figure = token_cosine_map(values, names, "x", LIGHT)
    heatmap = figure.data[0]
    np.testing.assert_array_equal(heatmap.z, values)
    assert heatmap.zmax == 1
    assert heatmap.zmin <= values.min()
    assert list(figure.layout.xaxis.ticktext) == names
    assert list(heatmap.x) == [0, 1, 2, 3]
    assert token_cosine_map(np.ones((3, 4), np.float32), names, "x", LIGHT).data[0].zmin == pytest.approx(0.999)
    assert token_cosine_map(-values, names, "x", LIGHT).data[0].zmin <= -values.max()
