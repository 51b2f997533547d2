"""Sentence figures: the drawn cells in their order, the tree, blocks, poolings, token pairs and the map.

Covers `bertviz_core/figures/sentences/*.py`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bertviz_core.figures.base.axes import label_width, sentence_text
from bertviz_core.figures.base.cells import colour_at
from bertviz_core.figures.base.style import DARK, LIGHT, WIDE, WIDTHS
from bertviz_core.figures.sentences.bars import PLOT
from bertviz_core.figures.sentences.poolings import (
    COLUMNS,
    pair_heatmap,
    pooling_lines,
    pooling_maps,
    pooling_word,
    shown_columns,
)
from bertviz_core.figures.sentences.similarity import (
    DRAWN,
    GROUPS,
    LABELLED,
    blocks_heatmap,
    drawn_points,
    neighbour_bars,
    sentence_names,
    sentence_scatter,
    similarity_heatmap,
    tree_lines,
    vectors_heatmap,
)
from bertviz_core.sentences.results import (
    BlockSummary,
    ClusterOrder,
    EdgeTokens,
    Neighbours,
    PoolingComparison,
    SentenceMap,
    TokenPairShares,
)
from tests.figures.base.test_style import READABLE, contrast

RANDOM = np.random.default_rng(5)
SENTENCES = ["<b>one</b>", "two & three", "two & three", "a\u202eb"]
SIMILARITY = np.array([[1, 0.1, 0.2, 0.9], [0.1, 1, 1, 0.3], [0.2, 1, 1, 0.4], [0.9, 0.3, 0.4, 1]], np.float32)
CLUSTERS = ClusterOrder(np.array([0, 3, 1, 2]), np.array([[1, 2, 0.0, 2], [0, 3, 0.1, 2], [4, 5, 0.75, 4]], np.float32))


def shares(first: int = 4, second: int = 3) -> TokenPairShares:
    """Random cells of tokens; the first two tokens of each sentence are one word."""
    cells = RANDOM.normal(size=(first, second)).astype(np.float32)
    rows, columns = np.add.reduceat(cells, [0, *range(2, first)]), [0, *range(2, second)]
    words = np.add.reduceat(rows, columns, axis=1)
    total = float(cells.sum())
    names = tuple(f"<{place}>" for place in range(first))
    return TokenPairShares(
        first_tokens=names, second_tokens=names[:second], cells=cells, score=total, total=total, exact=True, note="",
        pooling="mean", layer=6, first_totals=cells.sum(axis=1), second_totals=cells.sum(axis=0),
        first_words=names[: first - 1], first_word_totals=words.sum(axis=1), second_words=names[: second - 1],
        second_word_totals=words.sum(axis=0), word_cells=words, top=(),
    )  # fmt: skip


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_cells_stand_as_typed_on_a_symmetric_scale_of_cosines(theme: Any) -> None:
    figure = similarity_heatmap(SIMILARITY, SENTENCES, "cosine", "x", theme)
    np.testing.assert_array_equal(figure.data[0].z, SIMILARITY)
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-1, 1)
    assert theme.paper in [colour for place, colour in figure.layout.coloraxis.colorscale if place == 0.5]


def test_clustered_cells_are_permuted_on_both_axes_and_keep_their_numbers() -> None:
    figure = similarity_heatmap(SIMILARITY, SENTENCES, "cosine", "x", LIGHT, CLUSTERS)
    np.testing.assert_array_equal(figure.data[0].z, SIMILARITY[CLUSTERS.order][:, CLUSTERS.order])
    assert [name.split()[0] for name in figure.layout.xaxis.ticktext] == ["1", "4", "2", "3"]
    assert figure.data[0].customdata[0][1] == "1 and 4"


def test_every_join_of_the_tree_stands_at_its_distance_above_the_middle_of_its_clusters() -> None:
    x, y = tree_lines(CLUSTERS.order, CLUSTERS.linkage)
    assert x == [2, 2, 3, 3, None, 0, 0, 1, 1, None, 2.5, 2.5, 0.5, 0.5, None]
    expected = [0, 0.0, 0.0, 0, 0, 0.1, 0.1, 0, 0.0, 0.75, 0.75, 0.1]
    assert [each for each in y if each is not None] == pytest.approx(expected)


def test_a_click_on_the_tree_is_no_click_on_a_cell() -> None:
    assert similarity_heatmap(SIMILARITY, SENTENCES, "cosine", "x", LIGHT, CLUSTERS).data[1].hoverinfo == "skip"


def test_a_distance_begins_at_zero_and_a_product_is_symmetric_around_it() -> None:
    distance = similarity_heatmap(SIMILARITY * 7, SENTENCES, "euclidean", "x", LIGHT).layout.coloraxis
    product = similarity_heatmap(SIMILARITY * -7, SENTENCES, "dot", "x", LIGHT).layout.coloraxis
    assert (distance.cmin, distance.cmax) == pytest.approx((0, 7))
    assert (product.cmin, product.cmax) == pytest.approx((-7, 7))


def test_sentences_are_shown_as_text_and_repeated_ones_keep_their_rows() -> None:
    axis = similarity_heatmap(SIMILARITY, SENTENCES, "cosine", "x", LIGHT).layout.yaxis
    assert list(axis.ticktext) == [
        "&lt;b&gt;one&lt;/b&gt; ·  1",
        "two &amp; three ·  2",
        "two &amp; three ·  3",
        "aU+202Eb ·  4",
    ]
    assert len(sentence_text("word " * 100)) <= 40


@pytest.mark.parametrize("pixels", WIDTHS)
def test_a_sentence_has_as_much_of_the_figure_as_there_is_and_its_number_stays(pixels: int) -> None:
    theme = replace(LIGHT, pixels=pixels)
    texts = ["He swung the bat and missed the ball.", "word " * 100, "x" * 300]
    names = sentence_names([1, 22, 333], texts, theme, 40)
    for name, number in zip(names, (1, 22, 333), strict=True):
        assert name.endswith(f"  {number}")
        assert label_width(name, 14) <= 0.36 * pixels
        assert name.count("<br>") <= (0 if theme.narrow else 1)
    if pixels == WIDE:
        assert names[0].replace("<br>", " ") == f"{texts[0]} ·  1"


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_numbers_in_cells_can_be_read_on_their_colours(theme: Any) -> None:
    figure = similarity_heatmap(SIMILARITY, SENTENCES, "cosine", "x", theme)
    numbers = next(trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text")
    assert [float(text.replace("−", "-")) for text in numbers.text] == pytest.approx(SIMILARITY.ravel(), abs=0.005)
    scale = figure.layout.coloraxis.colorscale
    for colour, value in zip(numbers.textfont.color, SIMILARITY.ravel().tolist(), strict=True):
        assert contrast(colour_at(scale, (value + 1) / 2), colour) >= READABLE


def test_one_sentence_and_its_tree_of_no_join_are_drawn() -> None:
    alone = ClusterOrder(np.array([0]), np.zeros((0, 4), np.float32))
    figure = similarity_heatmap(np.ones((1, 1), np.float32), ["one"], "cosine", "x", LIGHT, alone)
    assert [trace.type for trace in figure.data] == ["heatmap", "scatter"]
    assert figure.data[1].mode == "text"


def test_blocks_name_an_example_and_their_size() -> None:
    means = np.array([[0.8, 0.1], [0.1, 0.7]], np.float32)
    summary = BlockSummary(np.arange(4), np.array([0, 1]), np.array([1, 3]), means, np.array([0, 2]))
    figure = blocks_heatmap(summary, SENTENCES, "x", LIGHT)
    np.testing.assert_array_equal(figure.data[0].z, means)
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;one&lt;/b&gt;  (1)", "two &amp; three  (3)"]


def test_neighbours_stand_in_their_order() -> None:
    found = Neighbours(np.array([2, 0]), np.array([0.9, 0.25], np.float32), "cosine")
    figure = neighbour_bars(found, SENTENCES, "x", LIGHT)
    np.testing.assert_array_equal(figure.data[0].x, found.score)
    assert list(figure.layout.yaxis.ticktext) == ["two &amp; three ·  3", "&lt;b&gt;one&lt;/b&gt; ·  1"]


@pytest.mark.parametrize("scores", [[0.9, 0.25], [0.59, -0.0119], [-0.2, -0.9], [0.0, 0.0]])
@pytest.mark.parametrize("pixels", WIDTHS)
def test_every_score_stands_whole_at_the_right_of_its_bar(scores: list[float], pixels: int) -> None:
    theme = replace(LIGHT, pixels=pixels)
    found = Neighbours(np.array([2, 0]), np.array(scores, np.float32), "cosine")
    figure = neighbour_bars(found, SENTENCES, "x", theme)
    bars, numbers = figure.data
    assert [float(text.strip().replace("−", "-")) for text in numbers.text] == pytest.approx(scores, abs=1e-4)
    assert numbers.textposition == "middle right"
    assert list(numbers.x) == pytest.approx([max(score, 0) for score in scores])
    low, high = figure.layout.xaxis.range
    assert low <= min(scores)
    # The widest number fits between the end of the longest bar and the edge of a plot of half the figure.
    free = (high - max(*scores, 0)) / (high - low) * PLOT * pixels
    assert free >= max(label_width(text.strip(), 14) for text in numbers.text)


def test_vectors_are_drawn_as_they_are() -> None:
    vectors = RANDOM.normal(size=(4, 7)).astype(np.float32)
    figure = vectors_heatmap(vectors, SENTENCES, 10, "x", LIGHT)
    np.testing.assert_array_equal(figure.data[0].z, vectors)
    assert figure.layout.coloraxis.cmax == pytest.approx(np.abs(vectors).max())
    assert figure.layout.yaxis.ticktext[0].endswith("  11")


def comparison() -> PoolingComparison:
    """Two poolings and three layers of four sentences; the pooler has the last layer only."""
    matrices = RANDOM.uniform(-1, 1, size=(2, 3, 4, 4)).astype(np.float32)
    matrices[1, :2] = np.nan
    mean = np.array([[0.1, 0.2, 0.3], [np.nan, np.nan, 0.9]], np.float32)
    return PoolingComparison(tuple(SENTENCES), ("mean", "pooler"), (0, 1, 2), mean, mean / 2, matrices, "")


def test_lines_hold_mean_and_spread_of_every_pooling() -> None:
    found = comparison()
    figure = pooling_lines(found, "x", LIGHT)
    assert [line.name for line in figure.data] == ["mean", "pooler output"] * 2
    np.testing.assert_array_equal(np.stack([line.y for line in figure.data[:2]]), found.mean_cosine)
    np.testing.assert_array_equal(np.stack([line.y for line in figure.data[2:]]), found.spread)


def test_small_maps_are_drawn_where_there_is_a_vector() -> None:
    found = comparison()
    assert found.matrices is not None
    maps = pooling_maps(found, "x", LIGHT).data
    assert len(maps) == 4
    for layer in range(3):
        np.testing.assert_array_equal(maps[layer].z, found.matrices[0, layer])
    np.testing.assert_array_equal(maps[3].z, found.matrices[1, 2])


def test_columns_hold_the_first_and_the_last_layer() -> None:
    assert shown_columns(1) == [0]
    assert shown_columns(3) == [0, 1, 2]
    assert shown_columns(7) == list(range(7))
    assert shown_columns(13) == [0, 2, 4, 6, 8, 10, 12]
    for count in range(1, 60):
        places = shown_columns(count)
        assert (places[0], places[-1]) == (0, count - 1)
        assert len(places) <= COLUMNS + 1


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_pair_cells_and_the_totals_beside_them_have_one_sum(unit: Any) -> None:
    found = shares()
    heatmap, rows, columns = pair_heatmap(found, unit, "x", LIGHT).data[:3]
    assert heatmap.z.sum() == pytest.approx(found.total, abs=1e-5)
    np.testing.assert_allclose(rows.x, heatmap.z.sum(axis=1), atol=1e-5)
    np.testing.assert_allclose(columns.y, heatmap.z.sum(axis=0), atol=1e-5)
    assert heatmap.zmin == -heatmap.zmax
    assert heatmap.customdata[0][1] == "&lt;0&gt; · &lt;1&gt;"


def test_a_pooling_of_the_first_token_is_called_by_that_token() -> None:
    assert [pooling_word("cls", first) for first in ("[CLS]", "<s>", None)] == ["[CLS]", "<s>", "first token"]
    found = replace(comparison(), poolings=("cls", "pooler"), edges=EdgeTokens("<s>", "</s>"))
    assert pooling_lines(found, "x", LIGHT).data[0].name == "<s>"
    assert pooling_maps(found, "x", LIGHT).layout.annotations[3].text == "&lt;s&gt;"


def placed(count: int) -> tuple[SentenceMap, list[str]]:
    """Random points with their sentences."""
    points = RANDOM.normal(size=(count, 2)).astype(np.float32)
    return SentenceMap(points, np.array([0.5, 0.25], np.float32), "pca", ""), [f"s{each}" for each in range(count)]


@pytest.mark.parametrize("count", [3, LABELLED + 1])
def test_every_point_carries_its_own_index(count: int) -> None:
    found, sentences = placed(count)
    figure = sentence_scatter(found, sentences, "x", LIGHT)
    np.testing.assert_array_equal(figure.data[0].customdata, np.arange(count))
    np.testing.assert_array_equal(np.stack([figure.data[0].x, figure.data[0].y], axis=1), found.points)
    assert "50.0%" in figure.layout.xaxis.title.text


def test_of_many_points_some_are_drawn_evenly_over_the_list() -> None:
    found, sentences = placed(2 * DRAWN + 1)
    (trace,) = sentence_scatter(found, sentences, "x", LIGHT, "number", list(range(len(sentences)))).data
    assert len(trace.x) <= DRAWN
    np.testing.assert_array_equal(trace.customdata, drawn_points(len(sentences)))
    np.testing.assert_array_equal(trace.marker.color, trace.customdata)
    np.testing.assert_array_equal(trace.x, found.points[trace.customdata, 0])


def test_words_of_a_column_are_groups_and_the_rare_ones_one_group() -> None:
    words = [f"w{place}" for place in range(12) for _ in range(12 - place)]
    found, sentences = placed(len(words))
    traces = sentence_scatter(found, sentences, "x", LIGHT, "topic", words).data
    assert [trace.name for trace in traces] == [*(f"w{place}" for place in range(GROUPS)), f"{12 - GROUPS} others"]
    assert sorted(index for trace in traces for index in trace.customdata) == list(range(len(words)))
    for trace in traces[:-1]:
        assert {words[index] for index in trace.customdata} == {trace.name}


def test_numbers_of_a_column_are_a_scale() -> None:
    found, sentences = placed(6)
    (trace,) = sentence_scatter(found, sentences, "x", LIGHT, "year", [1, 2, 3, 4, 5, 60]).data
    np.testing.assert_array_equal(trace.marker.color, [1, 2, 3, 4, 5, 60])
