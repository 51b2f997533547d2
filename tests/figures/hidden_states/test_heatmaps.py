"""Maps of hidden states: the drawn matrix, symmetric scales, labels that distinguish repeated tokens."""

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.axes import sentence_text, token_axis, token_text
from bertviz_core.figures.base.export import colour_range, spelled
from bertviz_core.figures.base.style import DARK, LIGHT, round_limit
from bertviz_core.figures.hidden_states.heatmaps import (
    CHANGE,
    EXACT_CELLS,
    LENGTH,
    layer_map,
    measure_rows,
    similarity_heatmap,
    values_heatmap,
)
from bertviz_core.figures.hidden_states.lines import path_lines, pooler_bars
from bertviz_core.hidden_states.results import PoolerCheck, TokenPaths
from bertviz_core.text import escape_controls

RANDOM = np.random.default_rng(0)
NAMES = ["[CLS]", "the", "the", "a&amp;b", "[SEP]"]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_values_are_drawn_as_they_are_on_a_symmetric_scale(theme: object) -> None:
    values = RANDOM.normal(size=(5, 7)).astype(np.float32)
    heatmap = values_heatmap(values, NAMES, 11, None, "x", theme).data[0]
    np.testing.assert_array_equal(heatmap.z, values)
    assert heatmap.zmax == -heatmap.zmin == round_limit(float(np.abs(values).max()))
    assert heatmap.x[0] == 11
    assert theme.paper in [colour for place, colour in heatmap.colorscale if place == 0.5]


def test_many_values_go_as_steps_of_the_range_with_a_bar_in_real_units() -> None:
    values = RANDOM.normal(size=(401, 257)).astype(np.float32)
    assert values.size > EXACT_CELLS
    figure = values_heatmap(values, ["t"] * 401, 0, None, "x", LIGHT)
    heatmap, limit = figure.data[0], round_limit(float(np.abs(values).max()))
    assert heatmap.z.dtype == np.int16
    np.testing.assert_allclose(heatmap.z / 32767 * limit, values, atol=limit / 32767)
    bar = heatmap.colorbar
    for place, words in zip(bar.tickvals, bar.ticktext, strict=True):
        assert float(words.replace("−", "-")) == pytest.approx(place / 32767 * limit, abs=1e-6)


def test_values_stand_in_their_cells_where_they_have_room() -> None:
    values = RANDOM.normal(size=(5, 12)).astype(np.float32)
    figure = values_heatmap(values, NAMES, 11, None, "x", LIGHT)
    found = [float(text.replace("−", "-")) for text in cell_texts(figure)]
    np.testing.assert_allclose(found, values.ravel(), atol=0.0051)
    (numbers,) = [trace for trace in figure.data if trace.type == "scatter"]
    assert sorted(set(numbers.x)) == list(figure.data[0].x)
    assert not cell_texts(values_heatmap(RANDOM.normal(size=(5, 64)).astype(np.float32), NAMES, 0, None, "x", LIGHT))


def test_repeated_tokens_keep_their_own_rows() -> None:
    axis = values_heatmap(np.eye(5, 3, dtype=np.float32), NAMES, 0, None, "x", LIGHT).layout.yaxis
    assert list(axis.tickvals) == [0, 1, 2, 3, 4]
    assert list(axis.ticktext) == NAMES


@pytest.mark.parametrize(("tokens", "step"), [(8, 1), (17, 1), (25, 1), (26, 2)])
def test_a_map_of_values_is_tall_enough_to_name_each_of_25_tokens(tokens: int, step: int) -> None:
    figure = values_heatmap(np.eye(tokens, 3, dtype=np.float32), ["t"] * tokens, 0, None, "x", LIGHT)
    assert list(figure.layout.yaxis.tickvals) == list(range(0, tokens, step))
    assert figure.layout.height <= 610


def test_labels_are_thinned_before_they_meet() -> None:
    axis = token_axis([str(each) for each in range(400)], 380)
    assert len(axis["tickvals"]) <= 380 / 19 + 1
    assert axis["ticktext"] == [str(each) for each in axis["tickvals"]]


def test_unseen_characters_are_named_and_markup_is_escaped() -> None:
    assert token_text("<b>&") == "&lt;b&gt;&amp;"
    assert token_text("a\u202eb") == "aU+202Eb"
    assert token_text("") == "∅"


def cell_texts(figure: go.Figure) -> list[str]:
    """Numbers in the cells."""
    return [text for trace in figure.data if trace.type == "scatter" for text in trace.text]


def test_similarities_are_drawn_as_they_are_with_their_numbers_and_no_slider() -> None:
    cosines = np.clip(RANDOM.normal(size=(5, 5)), -1, 1).astype(np.float32)
    figure = similarity_heatmap(cosines, NAMES, 3, "x", LIGHT)
    np.testing.assert_array_equal(figure.data[0].z, cosines)
    assert [float(text.replace("−", "-")) for text in cell_texts(figure)] == pytest.approx(
        [round(float(value), 2) for value in cosines.flatten()]
    )
    assert not figure.layout.sliders
    assert not figure.frames
    assert {(line.x0, line.x1, line.y0, line.y1) for line in figure.layout.shapes} == {
        (2.5, 2.5, 0, 1),
        (0, 1, 2.5, 2.5),
    }


def test_many_similarities_go_as_steps_of_the_range() -> None:
    cosines = np.clip(RANDOM.normal(size=(320, 320)), -1, 1).astype(np.float32)
    heatmap = similarity_heatmap(cosines, ["t"] * 320, None, "x", LIGHT).data[0]
    assert heatmap.z.dtype == np.int16
    np.testing.assert_allclose(heatmap.z / 32767, cosines, atol=1 / 32767)
    assert [float(words.replace("−", "-")) for words in heatmap.colorbar.ticktext] == pytest.approx(
        [place / 32767 for place in heatmap.colorbar.tickvals]
    )


@pytest.mark.parametrize("unit", ["cosine", "cosine distance", "norm"])
def test_a_layer_map_has_its_first_row_on_top_and_its_numbers_in_the_cells(unit: str) -> None:
    values = RANDOM.random((3, 5)).astype(np.float32)
    rows = ["embeddings", "after layer 0", "after layer 1"]
    figure = layer_map(values, NAMES, rows, 4, "x", unit, LIGHT)
    np.testing.assert_array_equal(figure.data[0].z, values)
    assert list(figure.layout.yaxis.ticktext) == rows
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    assert cell_texts(figure) == [f"{value:.2f}" for value in values.flatten()]
    assert figure.data[0].zmax == 1.0
    assert [line.x0 for line in figure.layout.shapes] == [3.5]


def test_rows_are_layers_for_what_a_layer_does_and_hidden_states_for_what_they_are() -> None:
    assert measure_rows(CHANGE, 2) == ["layer 0", "layer 1"]
    assert measure_rows(LENGTH, 3) == ["embeddings", "after layer 0", "after layer 1"]


def paths(states: int, seq: int) -> TokenPaths:
    points = RANDOM.normal(size=(states, seq, 2)).astype(np.float32)
    return TokenPaths(points, np.array([0.5, 0.25], np.float32), np.zeros((2, 7), np.float32), np.zeros(7, np.float32))


def test_paths_pass_through_every_layer_and_state_the_variance() -> None:
    shown = paths(4, 3)
    figure = path_lines(shown, NAMES[:3], [0, 4, 9], 2, "x", LIGHT)
    for token, line in enumerate(figure.data[:3]):
        np.testing.assert_array_equal(np.stack([line.x, line.y], axis=1), shown.points[:, token])
    assert "50.0%" in figure.layout.xaxis.title.text
    assert [line.name for line in figure.data[:3]] == ["0 [CLS]", "4 the", "9 the"]
    assert [line.marker.symbol for line in figure.data[:3]] == ["circle", "circle", "diamond"]
    assert [line.name for line in figure.data[4:]] == ["first text", "second text"]


def test_sixteen_paths_are_all_told_apart_and_the_layers_have_a_legend() -> None:
    figure = path_lines(paths(4, 16), ["t"] * 16, list(range(16)), None, "x", LIGHT)
    lines, (bar,) = figure.data[:16], figure.data[16:]
    assert len({(line.line.color, line.line.dash) for line in lines}) == 16
    named = dict(zip(bar.marker.colorbar.tickvals, bar.marker.colorbar.ticktext, strict=True))
    assert named == {0: "embeddings", -1: "after layer 0", -2: "after layer 1", -3: "after layer 2"}
    assert list(lines[0].marker.color) == [0, -1, -2, -3]
    assert colour_range(figure) == "hidden state, embeddings to after layer 2"


def test_the_pooler_has_a_scale_of_its_own_and_what_stands_out_is_named() -> None:
    vector = np.zeros(50, np.float32)
    vector[42] = -7
    check = PoolerCheck(vector, vector, np.tanh(vector), 0.0)
    figure = pooler_bars(check, "<i>[CLS]</i>", "x", LIGHT)
    np.testing.assert_array_equal(figure.data[0].y, vector)
    np.testing.assert_array_equal(figure.data[1].y, np.tanh(vector))
    assert figure.data[0].yaxis != figure.data[1].yaxis
    assert "dimension 42: \N{MINUS SIGN}7.00" in [note.text for note in figure.layout.annotations]


def test_tokens_written_right_to_left_are_set_off() -> None:
    assert token_text("שלום") == "\u2068שלום\u2069"
    assert token_text("##ם") == "\u2068##ם\u2069"
    assert token_text("the") == "the"
    assert escape_controls("a\u2068b") == "aU+2068b"  # control characters in a text have no effect


EMOJI = ("👩‍👩‍👧‍👦", "👩‍💻", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🇩🇪", "👍🏽", "❤️", "1️⃣")


@pytest.mark.parametrize("emoji", EMOJI)
def test_families_flags_and_skin_tones_stay_one_picture(emoji: str) -> None:
    assert token_text(emoji) == sentence_text(emoji) == spelled(emoji) == emoji


@pytest.mark.parametrize("joiner", ["\u200d", "\u200c"])
def test_a_joiner_that_joins_nothing_is_shown_by_its_code(joiner: str) -> None:
    assert token_text(joiner) == f"U+{ord(joiner):04X}"
