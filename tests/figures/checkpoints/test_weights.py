"""The map of a number per tensor and the histogram of one: drawn matrices, scales in real units, separate labels."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
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


def cells_of(figure: go.Figure) -> list[go.Heatmap]:
    """The maps of a figure, without the numbers in their cells."""
    return [trace for trace in figure.data if trace.type == "heatmap"]


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT])
def test_an_even_scale_draws_the_numbers_themselves(theme: Theme) -> None:
    figure = tensor_map(GRID, "x", "std", theme)
    outside, inside = cells_of(figure)
    expected = np.where(np.isinf(GRID.values), 8, GRID.values)
    np.testing.assert_array_equal(inside.z, expected)
    np.testing.assert_array_equal(outside.z, [[2], [0]])
    axis = figure.layout.coloraxis
    assert (axis.cmin, axis.colorbar.title.text) == (0, "std")
    assert axis.colorscale[0][1] == theme.paper


def test_a_click_on_a_cell_leads_to_its_tensor() -> None:
    outside, inside = cells_of(tensor_map(GRID, "x", "std", LIGHT))
    for trace in (outside, inside):
        for row, y in enumerate(trace.y):
            for column, x in enumerate(trace.x):
                shown = trace.customdata[row][column][0]
                assert shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == GRID.tensor_at(y, x)
    assert inside.customdata[1][3][0] == ACTIVE_ESCAPED
    assert (GRID.tensor_at(9, 0), GRID.tensor_at(0, 9), GRID.tensor_at(5, -1), GRID.tensor_at(-1, 0)) == ("",) * 4


def test_a_signed_number_has_a_symmetric_scale() -> None:
    axis = tensor_map(GRID, "x", "mean", LIGHT, signed=True).layout.coloraxis
    assert axis.cmin == -axis.cmax
    assert [colour for place, colour in axis.colorscale if place == 0.5] == [LIGHT.paper]


def test_powers_of_ten_keep_zero_apart_and_their_bar_is_in_real_units() -> None:
    figure = tensor_map(GRID, "x", "change", LIGHT, logarithmic=True)
    cells = cells_of(figure)[1].z
    assert cells[1][1] == cells[1][2] == 1  # the largest, and infinity
    assert cells[0][0] == pytest.approx(1 + np.log10(0.5 / 8) / 4)
    assert (cells[0][1], cells[2].tolist()) == (0, [0] * 4)
    assert 0 < cells[1][3] < 0.2  # far below the scale, but not 0
    bar = figure.layout.coloraxis.colorbar
    for place, words in zip(bar.tickvals[1:], bar.ticktext[1:], strict=True):
        assert float(words) == pytest.approx(8 * 10 ** (4 * (place - 1)), rel=0.1)


@pytest.mark.parametrize("narrow", [False, True])
def test_what_is_outside_the_layers_has_a_column_of_its_own(narrow: bool) -> None:
    """Its cells have the same width as a layer's, next to the map or above it."""
    figure = tensor_map(GRID, "x", "std", replace(LIGHT, pixels=320) if narrow else LIGHT)
    lone, layers = figure.layout.xaxis, figure.layout.xaxis2
    assert lone.domain[1] - lone.domain[0] == pytest.approx((layers.domain[1] - layers.domain[0]) / 4)
    beside = lone.domain[0] > layers.domain[1]
    above = figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert (beside, above) == (not narrow, narrow)


def test_numbers_stand_in_their_cells() -> None:
    figure = tensor_map(GRID, "x", "std", LIGHT)
    for cells in cells_of(figure):
        (numbers,) = (each for each in figure.data if each.type == "scatter" and each.xaxis == cells.xaxis)
        drawn = {
            (x, y): value
            for y, row in zip(cells.y, cells.z, strict=True)
            for x, value in zip(cells.x, row, strict=True)
        }
        for x, y, word in zip(numbers.x, numbers.y, numbers.text, strict=True):
            if word != "∞":
                assert float(word.replace("−", "-")) == pytest.approx(drawn[x, y], rel=0.05)
        assert len(numbers.text) == sum(not np.isnan(value) for value in drawn.values())


def test_a_grid_of_one_side_only_is_drawn() -> None:
    bare = TensorGrid((), (), np.zeros((0, 0), np.float32), (), ("a.b",), np.ones(1, np.float32), 0)
    assert len(cells_of(tensor_map(bare, "x", "std", LIGHT))) == 1
    inner = TensorGrid(("w",), ("0",), np.zeros((1, 1), np.float32), (("a",),), (), np.zeros(0, np.float32), 0)
    figure = tensor_map(inner, "x", "std", LIGHT)
    assert len(cells_of(figure)) == 1
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


def test_names_stay_apart_on_a_phone() -> None:
    names = [f"embeddings.{table}_embeddings.weight" for table in ("word", "position")] + ["embeddings.LayerNorm.bias"]
    grid = replace(GRID, outside=tuple(names), outside_values=np.ones(3, np.float32))
    found = [
        list(tensor_map(grid, "x", "std", theme).layout.yaxis.ticktext) for theme in (LIGHT, replace(LIGHT, pixels=320))
    ]
    assert found[0] == ["word_embeddings.weight", "position_embeddings.weight", "embeddings.LayerNorm.bias"]
    assert found[1] == ["word_emb.w", "pos_emb.w", "emb.LN.b"]
