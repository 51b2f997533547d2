"""Pictures of heads: the drawn matrix however it is cut, lines where the cuts are, bars that are the numbers.

Covers `bertviz_core/`bertviz_core/figures/heads/*.py`.
"""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.export import caption_of
from bertviz_core.figures.base.style import DARK, LIGHT, TEXT_SIZE
from bertviz_core.figures.heads.scores import cell_arithmetic, head_output, printed_digits, signed, signs
from bertviz_core.figures.heads.weights import (
    MOST_CELLS,
    norm_maps,
    pool_step,
    pooled,
    product_maps,
    projection_heatmap,
    scale_limit,
    steps,
    subscripted,
)
from bertviz_core.heads.results import CellBreakdown, FusedVsPerHead, HeadOutput, ScoreBreakdown

RANDOM = np.random.default_rng(0)
HEADS, SIZE, COLUMNS = 3, 4, 10
NAMES = ["[CLS]", "the", "the", "a&amp;b", "[SEP]"]


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def whole(figure: go.Figure, axis: int) -> np.ndarray:
    return np.concatenate([trace.z for trace in heatmaps(figure)], axis=axis)


def heatmaps(figure: go.Figure) -> list[go.Heatmap]:
    return [trace for trace in figure.data if trace.type == "heatmap"]


def cell(added: float = 0.0, name: str = "", remainder: bool = False) -> CellBreakdown:
    query, key = numbers(SIZE), numbers(SIZE)
    scores = numbers(len(NAMES))
    weights = np.exp(scores) / np.exp(scores).sum()
    total = float(query @ key)
    score = ScoreBreakdown(
        query_input=numbers(COLUMNS), key_input=numbers(COLUMNS), query_projected=query, key_projected=key,
        positions="as projected", query_factor=1.0, projection_difference=0.0, query=query, key=key,
        products=query * key, total=total, scaling=0.5, scaled=total / 2, added=added, added_name=name,
        is_remainder=remainder, added_peak=abs(added), score=total / 2 + added, scores=scores, weights=weights,
        model_weights=weights, max_difference=0.0,
    )  # fmt: skip
    mix = HeadOutput(
        values=numbers(len(NAMES), SIZE), mix=numbers(SIZE), head_output=numbers(COLUMNS),
        head_norms=np.abs(numbers(HEADS)), mix_difference=0.0, output_difference=0.0, rest_norm=0.0,
    )  # fmt: skip
    return CellBreakdown("model", 2, 1, 1, 4, 3, score, mix)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("cut", ["whole", "cut", "apart"])
@pytest.mark.parametrize("block", ["query", "output"])
def test_the_drawn_matrix_is_the_same_however_it_is_cut(theme: object, cut: str, block: str) -> None:
    matrix = numbers(HEADS * SIZE, COLUMNS) if block == "query" else numbers(COLUMNS, HEADS * SIZE)
    figure = projection_heatmap(matrix, block, HEADS, SIZE, 1, cut, "x", theme)
    limit = scale_limit(matrix)
    drawn = whole(figure, 0 if block == "query" else 1)
    assert drawn.dtype == np.int8
    np.testing.assert_allclose(drawn / 127 * limit, np.clip(matrix, -limit, limit), atol=limit / 127)
    assert len(heatmaps(figure)) == (HEADS if cut == "apart" else 1)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert len(bars) == (0 if cut == "whole" else 1)
    if bars:
        owned = matrix if block == "query" else matrix.T
        expected = [np.linalg.norm(owned[head * SIZE : (head + 1) * SIZE]) for head in range(HEADS)]
        np.testing.assert_allclose(bars[0].x if block == "query" else bars[0].y, expected, rtol=1e-6)
    axis = figure.layout.coloraxis
    assert axis.cmax == -axis.cmin == 127
    assert theme.paper in [colour for place, colour in axis.colorscale if place == 0.5]


def test_cells_keep_their_own_row_and_column_when_pulled_apart() -> None:
    figure = projection_heatmap(numbers(HEADS * SIZE, COLUMNS), "key", HEADS, SIZE, 0, "apart", "x", LIGHT)
    assert [trace.y0 for trace in heatmaps(figure)] == [0, SIZE, 2 * SIZE]
    domains = [figure.layout[f"yaxis{number}"].domain for number in ("", "2", "3")]
    assert domains[0][1] == 1
    assert domains[-1][0] == pytest.approx(0)
    for above, below in zip(domains, domains[1:], strict=False):
        assert below[1] < above[0]


def test_cuts_stand_between_the_heads_and_the_chosen_one_is_outlined() -> None:
    figure = projection_heatmap(numbers(HEADS * SIZE, COLUMNS), "value", HEADS, SIZE, 2, "cut", "x", LIGHT)
    *cuts, outline = figure.layout.shapes
    assert [(line.y0, line.y1) for line in cuts] == [(3.5, 3.5), (7.5, 7.5)]
    assert (outline.y0, outline.y1) == (7.5, 11.5)
    assert list(figure.layout.yaxis.ticktext) == ["head 0: 0-3", "head 1: 4-7", "<b>head 2: 8-11</b>"]
    assert not projection_heatmap(numbers(12, COLUMNS), "value", 3, 4, 2, "whole", "x", LIGHT).layout.shapes


@pytest.mark.parametrize("cut", ["cut", "apart"])
def test_columns_that_read_no_head_are_drawn_and_named(cut: str) -> None:
    matrix = numbers(COLUMNS, HEADS * SIZE + 5)
    figure = projection_heatmap(matrix, "output", HEADS, SIZE, 0, cut, "x", LIGHT)
    assert whole(figure, 1).shape == matrix.shape
    if cut == "apart":
        assert list(figure.layout.xaxis4.ticktext) == ["other"]


def test_many_heads_are_named_without_meeting() -> None:
    figure = projection_heatmap(numbers(64 * 2, COLUMNS), "query", 64, 2, 7, "cut", "x", LIGHT)
    names = list(figure.layout.yaxis.ticktext)
    assert len(names) <= 25
    assert "<b>head 7: 14-15</b>" in names


def test_one_head_is_the_whole_matrix() -> None:
    matrix = numbers(SIZE, COLUMNS)
    for cut in ("whole", "cut", "apart"):
        assert whole(projection_heatmap(matrix, "query", 1, SIZE, 0, cut, "x", LIGHT), 0).shape == matrix.shape


def test_a_large_matrix_is_drawn_by_its_strongest_cells() -> None:
    matrix = numbers(1024, 1024)
    step = pool_step(matrix.size)
    small = pooled(matrix, step)
    assert small.size <= MOST_CELLS
    for row, column in ((0, 0), (100, 300), (len(small) - 1, 5)):
        square = matrix[row * step : (row + 1) * step, column * step : (column + 1) * step]
        assert small[row, column] == square.flat[np.abs(square).argmax()]
    np.testing.assert_array_equal(pooled(numbers(3, 3) * 0 + 2, 2), np.full((2, 2), 2))


def test_steps_keep_sign_and_zero_and_end_at_the_limit() -> None:
    assert steps(np.array([[-9, -1, 0, 1, 9]], np.float32), 1.0).tolist() == [[-127, -127, 0, 127, 127]]
    assert scale_limit(np.zeros((2, 2), np.float32)) == 1.0


def test_weights_that_are_no_numbers_are_drawn_as_0() -> None:
    matrix = np.array([[np.nan, 1], [-2, np.inf]], np.float32)
    assert scale_limit(matrix) == pytest.approx(2, rel=1e-2)
    assert steps(matrix, 2.0)[0, 0] == 0
    assert scale_limit(np.full((2, 2), np.nan, np.float32)) == 1.0


def test_both_ways_are_drawn_on_one_scale_with_the_cuts() -> None:
    one = numbers(HEADS, len(NAMES), SIZE)
    found = FusedVsPerHead("m", 0, "query", numbers(len(NAMES), COLUMNS), one, one + 1, 1.0, None)
    figure = product_maps(found, NAMES, 2, "x", LIGHT)
    limit = scale_limit(one.reshape(-1, SIZE))
    for trace, values in zip(figure.data, (found.fused, found.per_head), strict=True):
        rows = np.clip(values.transpose(1, 0, 2).reshape(len(NAMES), -1), -limit, limit)
        np.testing.assert_allclose(trace.z / 127 * limit, rows, atol=limit / 127)
        assert trace.coloraxis == "coloraxis"
    cuts = [shape for shape in figure.layout.shapes if shape.line.dash is None]
    assert sorted({shape.x0 for shape in cuts}) == [SIZE - 0.5, 2 * SIZE - 0.5]
    assert [shape.y0 for shape in figure.layout.shapes if shape.line.dash] == [1.5, 1.5]
    assert list(figure.layout.yaxis.ticktext) == list(figure.layout.yaxis2.ticktext) == NAMES


@pytest.mark.parametrize(("tokens", "step"), [(8, 1), (12, 1), (17, 2)])
def test_maps_of_products_are_tall_enough_to_name_each_of_12_tokens(tokens: int, step: int) -> None:
    one = numbers(HEADS, tokens, SIZE)
    found = FusedVsPerHead("m", 0, "query", numbers(tokens, COLUMNS), one, one, 1.0, None)
    figure = product_maps(found, ["t"] * tokens, None, "x", LIGHT)
    for axis in (figure.layout.yaxis, figure.layout.yaxis2):
        assert list(axis.tickvals) == list(range(0, tokens, step))


def test_norms_are_drawn_as_they_are_in_four_maps_each_on_its_own_scale_with_numbers() -> None:
    norms = np.abs(numbers(2, HEADS, 4)) * [1, 10, 100, 1000]
    norms[1, 2] = np.nan
    figure = norm_maps(norms.astype(np.float32), "x", LIGHT)
    for index, trace in enumerate(heatmaps(figure)):
        np.testing.assert_array_equal(trace.z, norms[:, :, index].astype(np.float32))
        assert (trace.zmin, trace.zmax) == pytest.approx((0, np.nanmax(trace.z)))
    written = [trace for trace in figure.data if trace.type == "scatter"]
    assert len(written) == 4
    assert list(written[0].text) == [f"{value:.1f}" for value in norms[:, :, 0].flatten() if np.isfinite(value)]


@pytest.mark.parametrize("layers", [1, 3, 6, 7, 12, 24, 48])
@pytest.mark.parametrize("pixels", [320, 980])
def test_the_four_maps_stand_inside_the_figure_and_do_not_meet(layers: int, pixels: int) -> None:
    figure = norm_maps(np.abs(numbers(layers, HEADS, 4)), "x", replace(LIGHT, pixels=pixels))
    spots = [(figure.layout[f"xaxis{n}"].domain, figure.layout[f"yaxis{n}"].domain) for n in ("", "2", "3", "4")]
    for place, (across, down) in enumerate(spots):
        assert 0 <= across[0] < across[1] <= 1
        assert 0 <= down[0] < down[1] <= 1
        for other in spots[:place]:
            beside = across[0] > other[0][1] or other[0][0] > across[1]
            assert beside or down[1] < other[1][0] or other[1][1] < down[0]


def test_a_matrix_has_a_real_subscript_in_the_title_and_its_plain_name_in_the_caption() -> None:
    title = "W_q of layer 0: 3 heads in it — W_o model"
    assert subscripted(title) == "W<sub>q</sub> of layer 0: 3 heads in it — W_o model"
    assert subscripted("Layer of — W_q model") == "Layer of — W_q model"
    figure = projection_heatmap(numbers(12, 10), "query", 3, 4, 0, "cut", title, LIGHT)
    assert caption_of(figure, title, ()).words == ""


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_cell_draws_its_products_and_its_row(theme: object) -> None:
    shown = cell()
    figure = cell_arithmetic(shown, NAMES, 2, "x", theme)
    products, weights = figure.data[:2]
    np.testing.assert_array_equal(products.y, shown.score.products)
    np.testing.assert_array_equal(weights.y, shown.score.weights)
    colours = list(weights.marker.color)
    assert [place for place, colour in enumerate(colours) if colour == theme.colours["attention"]] == [3]
    assert list(products.marker.color) == signs(shown.score.products, theme)
    assert list(figure.layout.xaxis2.ticktext) == NAMES
    label = next(note for note in figure.layout.annotations if note.text == f"a&amp;b {shown.score.weights[3]:.4f}")
    assert label.ay > shown.score.weights.max()  # above all bars
    assert label.y == pytest.approx(shown.score.weights[3])
    assert [shape.x0 for shape in figure.layout.shapes if shape.line.dash] == [1.5]


def test_on_a_phone_the_chain_runs_down_and_no_two_boxes_meet() -> None:
    figure = cell_arithmetic(cell(), NAMES, None, "x", replace(LIGHT, pixels=320))
    boxes = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert len(boxes) == 10
    assert len({(box.x0, box.y0) for box in boxes}) == 10
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            assert one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0
    assert figure.layout.xaxis.domain == figure.layout.xaxis2.domain == (0, 1)


@pytest.mark.parametrize(
    ("added", "name", "remainder", "message"),
    [
        (0.0, "", False, None),
        (float("-inf"), "mask", False, "mask<br>− ∞<br><b>−∞</b>"),
        (-1.5, "relative position", False, "position<br>− 1.5"),
        (0.25, "terms", True, "rest<br>+ 0.25"),
    ],
)
def test_the_chain_has_a_box_for_what_is_added(added: float, name: str, remainder: bool, message: str | None) -> None:
    figure = cell_arithmetic(cell(added, name, remainder), NAMES, None, "x", LIGHT)
    texts = [note.text for note in figure.layout.annotations if note.text]
    assert any(f"({SIZE}, {COLUMNS})" in text for text in texts)
    if message is not None:
        assert any(text.startswith(message) for text in texts)
    boxes = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert len(boxes) == (11 if message is not None else 10)


def test_the_printed_numbers_of_the_chain_give_each_other() -> None:
    score = replace(cell().score, total=-4.75966, scaling=0.176777, scaled=-0.841398, added=0.84143, score=0.000032)
    factors, terms = printed_digits(score)
    total, scaling, scaled, added = (
        float(signed(value, digits).replace("−", "-"))
        for value, digits in ((score.total, factors), (score.scaling, factors), (score.scaled, terms), (0.84143, terms))
    )
    assert f"{-4.76 * 0.1768:.4g}" != f"{score.scaled:.4g}" == f"{total * scaling:.4g}"
    assert f"{scaled + added:.4g}" == f"{score.score:.4g}"


def test_what_goes_back_is_drawn_as_it_is() -> None:
    shown = cell()
    mix, part, lengths = head_output(shown, "x", LIGHT).data
    np.testing.assert_array_equal(mix.y, shown.output.mix)
    np.testing.assert_array_equal(part.y, shown.output.head_output)
    np.testing.assert_array_equal(lengths.y, shown.output.head_norms)
    assert lengths.marker.color[shown.head] == LIGHT.colours["attention"]


def test_text_is_large_enough_for_a_slide() -> None:
    figures = [
        projection_heatmap(numbers(12, 10), "query", 3, 4, 0, "apart", "x", LIGHT),
        norm_maps(np.abs(numbers(2, 3, 4)), "x", LIGHT),
        cell_arithmetic(cell(), NAMES, None, "x", LIGHT),
        head_output(cell(), "x", LIGHT),
    ]
    for figure in figures:
        assert figure.layout.font.size >= 14
        for name, axis in figure.layout.to_plotly_json().items():
            if name.startswith(("xaxis", "yaxis")):
                assert axis["tickfont"]["size"] >= TEXT_SIZE - 1


def test_titles_show_markup_as_it_stands() -> None:
    for figure in (
        cell_arithmetic(cell(), NAMES, None, "<b>x</b>", LIGHT),
        norm_maps(np.ones((1, 1, 4), np.float32), "<i>", LIGHT),
    ):
        assert "&lt;" in figure.layout.title.text
