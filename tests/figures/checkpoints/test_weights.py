"""The map of a number per tensor and the histogram of one: the drawn matrices, scales in real units, labels apart."""

import numpy as np
import pytest

from bertviz_core.checkpoints.results import Histogram, TensorGrid
from bertviz_core.figures.base.style import DARK, LIGHT, PRINT, Theme
from bertviz_core.figures.checkpoints.weights import label, short_names, tensor_map, weight_histogram
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED

GRID = TensorGrid(
    places=("attention.self.query.weight", "output.dense.weight", ACTIVE),
    layers=("0", "1", "2", "3"),
    values=np.array([[0.5, 0, 0.25, np.nan], [0.125, 8, np.inf, 1e-9], [0, 0, 0, 0]], dtype=np.float32),
    names=(("a", "b", "c", ""), ("d", "e", "f", ACTIVE), ("g", "h", "i", "j")),
    outside=("embeddings.word_embeddings.weight", "pooler.dense.bias"),
    outside_values=np.array([2, 0], dtype=np.float32),
    left_out=0,
)


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT])
def test_an_even_scale_draws_the_numbers_themselves(theme: Theme) -> None:
    figure = tensor_map(GRID, "x", "std", theme)
    outside, inside = figure.data
    expected = np.where(np.isinf(GRID.values), 8, GRID.values)
    np.testing.assert_array_equal(inside.z, expected)
    np.testing.assert_array_equal(outside.z, [[2], [0]])
    axis = figure.layout.coloraxis
    assert (axis.cmin, axis.cmax, axis.colorbar.title.text) == (0, 8, "std")
    assert axis.colorscale[0][1] == theme.paper


def test_a_click_on_a_cell_leads_to_its_tensor() -> None:
    outside, inside = tensor_map(GRID, "x", "std", LIGHT).data
    for trace in (outside, inside):
        for row, y in enumerate(trace.y):
            for column, x in enumerate(trace.x):
                shown = trace.customdata[row][column][0]
                assert shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == GRID.tensor_at(y, x)
    assert inside.customdata[1][3][0] == ACTIVE_ESCAPED
    assert (GRID.tensor_at(9, 0), GRID.tensor_at(0, 9), GRID.tensor_at(5, -1), GRID.tensor_at(-1, 0)) == ("",) * 4


def test_a_signed_number_has_a_symmetric_scale() -> None:
    axis = tensor_map(GRID, "x", "mean", LIGHT, signed=True).layout.coloraxis
    assert (axis.cmin, axis.cmax) == (-8, 8)
    assert [colour for place, colour in axis.colorscale if place == 0.5] == [LIGHT.paper]


def test_powers_of_ten_keep_zero_apart_and_their_bar_is_in_real_units() -> None:
    figure = tensor_map(GRID, "x", "change", LIGHT, logarithmic=True)
    cells = figure.data[1].z
    assert cells[1][1] == cells[1][2] == 1  # the largest, and infinity
    assert cells[0][0] == pytest.approx(1 + np.log10(0.5 / 8) / 4)
    assert (cells[0][1], cells[2].tolist()) == (0, [0] * 4)
    assert 0 < cells[1][3] < 0.2  # far below the scale, and still not 0
    bar = figure.layout.coloraxis.colorbar
    for place, words in zip(bar.tickvals[1:], bar.ticktext[1:], strict=True):
        assert float(words) == pytest.approx(8 * 10 ** (4 * (place - 1)), rel=0.1)


def test_a_grid_of_one_side_only_is_drawn() -> None:
    bare = TensorGrid((), (), np.zeros((0, 0), np.float32), (), ("a.b",), np.ones(1, np.float32), 0)
    assert len(tensor_map(bare, "x", "std", LIGHT).data) == 1
    inner = TensorGrid(("w",), ("0",), np.zeros((1, 1), np.float32), (("a",),), (), np.zeros(0, np.float32), 0)
    figure = tensor_map(inner, "x", "std", LIGHT)
    assert len(figure.data) == 1
    assert figure.layout.coloraxis.cmax == 1


def test_labels_are_as_short_as_keeps_them_apart() -> None:
    names = ["a.self.query.weight", "attention.output.dense.weight", "output.dense.weight", "bias"]
    assert short_names(names) == ["query.weight", "attention.output.dense.weight", "output.dense.weight", "bias"]
    assert short_names(["x.y", "x.y"]) == ["x.y", "x.y"]
    assert short_names(["bert.pooler.dense.weight", "a.b.c.weight"]) == ["pooler.dense.weight", "c.weight"]
    assert label(f"<b>{'x' * 50}.end").endswith("xxx.end")
    assert label("<b>") == "&lt;b&gt;"


def test_a_histogram_draws_its_counts_and_the_curve_of_as_many_new_values() -> None:
    edges = np.linspace(-0.1, 0.1, 102)
    made = np.random.default_rng(0).normal(scale=0.02, size=200_000)
    counts = np.histogram(made, edges)[0]
    bars, curve = weight_histogram(Histogram(edges, counts, 0), 0.02, 200_000, "x", LIGHT).data
    np.testing.assert_array_equal(bars.y, counts)
    np.testing.assert_allclose(bars.x, (edges[1:] + edges[:-1]) / 2)
    drawn = np.interp(bars.x, curve.x, curve.y)
    assert np.abs(drawn - counts).max() < 5 * np.sqrt(counts.max())
    assert len(weight_histogram(Histogram(edges, counts, 0), None, 1, "x", DARK).data) == 1


def test_a_curve_that_is_too_high_is_cut_off_and_the_bars_stay_readable() -> None:
    edges, counts = np.linspace(-1, 1, 102), np.full(101, 10)
    figure = weight_histogram(Histogram(edges, counts, 0), 0.001, 10**6, "x", LIGHT)
    assert figure.layout.yaxis.range[1] < 30
