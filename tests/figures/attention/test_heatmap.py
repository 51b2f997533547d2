"""The attention figures draw their matrix, with every label as plain text.

Covers `bertviz_core/figures/attention/*.py`.
"""

import itertools

import numpy as np
import pytest

from bertviz_core.attention.results import AttentionMap, Axis, MapOptions, PooledMap
from bertviz_core.figures.attention.maps import (
    EXACT_CELLS,
    attention_bar,
    attention_heatmap,
    attention_lines,
    attention_readings,
    pooled_heatmap,
)
from bertviz_core.figures.base.style import DARK, LIGHT, Theme, theme_named


def made(side: int) -> AttentionMap:
    """A map of random rows that sum to 1; its tokens repeat and look like markup."""
    weights = np.random.default_rng(side).dirichlet(np.ones(side), side).astype(np.float32)
    axis = Axis(("<b>the</b>",) * side, tuple((place,) for place in range(side)))
    return AttentionMap(1, 2, MapOptions(), axis, axis, weights, np.zeros(side, np.float32))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_cell_is_drawn_where_it_stands(theme: Theme) -> None:
    found = made(7)
    figure = attention_heatmap(found, [0], "A title", theme)
    np.testing.assert_array_equal(figure.data[0].z, found.weights)
    assert figure.layout.yaxis.autorange == "reversed"
    assert figure.layout.title.text == "A title"


def test_tokens_are_text_and_repeated_ones_stay_apart() -> None:
    figure = attention_heatmap(made(5), [0], "t", LIGHT)
    assert list(figure.layout.xaxis.tickvals) == [0, 1, 2, 3, 4]
    assert figure.layout.xaxis.ticktext[1] == "&lt;b&gt;the&lt;/b&gt;"
    assert figure.layout.xaxis.ticktext[0] == "<i>&lt;b&gt;the&lt;/b&gt;</i>"


def test_a_large_map_goes_as_steps_of_its_range() -> None:
    found = made(int(EXACT_CELLS**0.5) + 1)
    figure = attention_heatmap(found, [], "t", LIGHT)
    steps = np.asarray(figure.data[0].z)
    assert steps.dtype == np.uint16
    np.testing.assert_allclose(steps / 65_535 * found.weights.max(), found.weights, atol=found.weights.max() / 65_535)
    assert figure.layout.xaxis.tickvals[1] > 1


def test_readings_side_by_side_each_keep_their_cells() -> None:
    maps = [made(6), made(6)]
    figure = attention_readings(maps, [0], "t", LIGHT)
    for trace, found in zip(figure.data, maps, strict=True):
        np.testing.assert_array_equal(trace.z, found.weights)
        assert trace.zmax == pytest.approx(float(found.weights.max()))
    assert "attention weight" in figure.layout.xaxis2.title.text


def test_a_pooled_map_stands_at_its_positions() -> None:
    weights = np.array([[0.5, 0.25], [0.125, 1]], np.float32)
    found = PooledMap(0, 0, weights, np.array([10, 14]), np.array([3, 5]))
    trace = pooled_heatmap(found, "t", LIGHT).data[0]
    np.testing.assert_array_equal(trace.z, weights)
    assert list(trace.y) == [10, 14]
    assert list(trace.x) == [3, 5]


def test_a_bar_of_roots_stands_where_the_cells_do() -> None:
    bar = attention_bar("weight", 0.8, 255, root=True)
    assert bar["ticktext"] == ["0.0", "0.2", "0.4", "0.6", "0.8"]
    assert bar["tickvals"][1] == pytest.approx(255 * 0.5)
    assert bar["tickvals"][-1] == pytest.approx(255)


def test_a_dashed_line_stands_where_the_second_text_begins() -> None:
    found = made(6)
    across, upright = sorted(attention_heatmap(found, [], "t", LIGHT, 4).layout.shapes, key=lambda line: line.x0 != 0)
    assert (across.y0, across.y1, upright.x0, upright.x1) == (3.5, 3.5, 3.5, 3.5)
    assert [line.y0 for line in attention_lines(found, [], "t", LIGHT, 4).layout.shapes] == [3.5, 3.5]
    assert len(attention_readings([found, found, found], [], "t", LIGHT, 4).layout.shapes) == 6
    part = PooledMap(0, 0, np.ones((2, 2), np.float32), np.array([10, 14]), np.array([3, 5]))
    assert [line.y0 for line in pooled_heatmap(part, "t", LIGHT, 12).layout.shapes] == [11.5]
    for figure in (attention_heatmap(found, [], "t", LIGHT), attention_lines(found, [], "t", LIGHT)):
        assert not figure.layout.shapes


def test_few_tokens_have_their_numbers_in_the_cells() -> None:
    found = made(17)
    _, numbers = attention_heatmap(found, [], "t", LIGHT).data
    assert list(numbers.text) == [f"{weight:.2f}" for weight in found.weights.flat]
    phone = theme_named("light", 355)
    for figure in (attention_heatmap(made(30), [], "t", LIGHT), attention_heatmap(found, [], "t", phone)):
        assert len(figure.data) == 1


def test_four_readings_stand_two_by_two_where_it_is_narrow() -> None:
    wide = attention_readings([made(6)] * 4, [0], "t", LIGHT)
    assert len({tuple(axis.domain) for axis in wide.select_xaxes()}) == 4
    narrow = attention_readings([made(6)] * 4, [0], "t", theme_named("light", 620))
    assert len({tuple(axis.domain) for axis in narrow.select_xaxes()}) == 2
    assert len({tuple(axis.domain) for axis in narrow.select_yaxes()}) == 2


def test_readings_stand_below_each_other_on_a_phone() -> None:
    figure = attention_readings([made(6)] * 3, [0], "t", theme_named("light", 355))
    assert {tuple(axis.domain) for axis in figure.select_xaxes()} == {(0.0, 1.0)}
    ends = [axis.domain for axis in figure.select_yaxes()]
    assert all(above[0] > below[1] for above, below in itertools.pairwise(ends))
