"""Maps of hidden states: the drawn matrix, symmetric scales, labels that keep repeated tokens apart."""

import numpy as np
import pytest

from bertviz_core.figures.base.axes import sentence_text, token_axis, token_text
from bertviz_core.figures.base.caption import spelled
from bertviz_core.figures.base.style import DARK, LIGHT
from bertviz_core.figures.hidden_states.heatmaps import EXACT_CELLS, layer_map, similarity_scrubber, values_heatmap
from bertviz_core.figures.hidden_states.lines import path_lines
from bertviz_core.hidden_states.results import TokenPaths

RANDOM = np.random.default_rng(0)
NAMES = ["[CLS]", "the", "the", "a&amp;b", "[SEP]"]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_values_are_drawn_as_they_are_on_a_symmetric_scale(theme: object) -> None:
    values = RANDOM.normal(size=(5, 7)).astype(np.float32)
    heatmap = values_heatmap(values, NAMES, 11, "x", theme).data[0]
    np.testing.assert_array_equal(heatmap.z, values)
    assert heatmap.zmax == -heatmap.zmin == pytest.approx(np.abs(values).max())
    assert heatmap.x[0] == 11
    assert theme.paper in [colour for place, colour in heatmap.colorscale if place == 0.5]


def test_many_values_go_as_steps_of_the_range_with_a_bar_in_real_units() -> None:
    values = RANDOM.normal(size=(401, 257)).astype(np.float32)
    assert values.size > EXACT_CELLS
    figure = values_heatmap(values, ["t"] * 401, 0, "x", LIGHT)
    heatmap, limit = figure.data[0], float(np.abs(values).max())
    assert heatmap.z.dtype == np.int16
    np.testing.assert_allclose(heatmap.z / 32767 * limit, values, atol=limit / 32767)
    assert [float(text) for text in heatmap.colorbar.ticktext] == pytest.approx(
        [share * limit for share in (-1, -0.5, 0, 0.5, 1)], rel=1e-2
    )


def test_repeated_tokens_keep_their_own_rows() -> None:
    axis = values_heatmap(np.eye(5, 3, dtype=np.float32), NAMES, 0, "x", LIGHT).layout.yaxis
    assert list(axis.tickvals) == [0, 1, 2, 3, 4]
    assert list(axis.ticktext) == NAMES


def test_labels_are_thinned_before_they_meet() -> None:
    axis = token_axis([str(each) for each in range(400)], 380)
    assert len(axis["tickvals"]) <= 380 / 19 + 1
    assert axis["ticktext"] == [str(each) for each in axis["tickvals"]]


def test_unseen_characters_are_named_and_markup_is_escaped() -> None:
    assert token_text("<b>&") == "&lt;b&gt;&amp;"
    assert token_text("a\u202eb") == "aU+202Eb"
    assert token_text("") == "∅"


def test_every_layer_of_the_scrubber_is_its_own_matrix() -> None:
    cosines = np.clip(RANDOM.normal(size=(4, 5, 5)), -1, 1).astype(np.float32)
    figure = similarity_scrubber(cosines, NAMES, 2, "x", LIGHT)
    np.testing.assert_array_equal(figure.data[0].z, cosines[2])
    for layer, frame in enumerate(figure.frames):
        np.testing.assert_array_equal(frame.data[0].z, cosines[layer])
    assert [step.label for step in figure.layout.sliders[0].steps] == ["0", "1", "2", "3"]
    assert figure.layout.sliders[0].active == 2


def test_a_layer_map_counts_layers_from_where_it_begins() -> None:
    values = RANDOM.random((3, 5)).astype(np.float32)
    heatmap = layer_map(values, NAMES, 1, "x", "cosine", LIGHT).data[0]
    np.testing.assert_array_equal(heatmap.z, values)
    assert list(heatmap.y) == [1, 2, 3]
    assert heatmap.zmax == 1.0


def test_paths_pass_through_every_layer_and_state_the_variance() -> None:
    points = RANDOM.normal(size=(4, 3, 2)).astype(np.float32)
    paths = TokenPaths(points, np.array([0.5, 0.25], np.float32), np.zeros((2, 7), np.float32), np.zeros(7, np.float32))
    figure = path_lines(paths, NAMES[:3], "x", LIGHT)
    for token, line in enumerate(figure.data):
        np.testing.assert_array_equal(np.stack([line.x, line.y], axis=1), points[:, token])
    assert "50.0%" in figure.layout.xaxis.title.text


EMOJI = ("👩‍👩‍👧‍👦", "👩‍💻", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🇩🇪", "👍🏽", "❤️", "1️⃣")


@pytest.mark.parametrize("emoji", EMOJI)
def test_families_flags_and_skin_tones_stay_one_picture(emoji: str) -> None:
    assert token_text(emoji) == sentence_text(emoji) == spelled(emoji) == emoji


@pytest.mark.parametrize("joiner", ["\u200d", "\u200c"])
def test_a_joiner_that_joins_nothing_is_shown_by_its_code(joiner: str) -> None:
    assert token_text(joiner) == f"U+{ord(joiner):04X}"
