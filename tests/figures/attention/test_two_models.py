"""Attention of two models: the drawn cells are both maps on one scale and their difference around 0."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.attention.results import AttentionComparison
from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.figures.attention.two_models import (
    DIFFERENCE,
    attention_changed_figure,
    attention_compared_figure,
    compared_title,
)
from bertviz_core.figures.base.axes import label_width
from bertviz_core.figures.base.style import DARK, LIGHT, TEXT_SIZE, Theme, theme_named
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.two_models import changed_heads, compared_attention
from tests.helpers.tiny_models import PAIR, TEXT, save_tiny
from tests.helpers.two_tokenizers import opened_model, save_byte_head

PHONE = theme_named("light", 340)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of one shape, a deeper one, and one that reads bytes."""
    place = tmp_path_factory.mktemp("two")
    save_tiny("bert", place / "first")
    save_tiny("bert", place / "second", initializer_range=0.4)
    save_tiny("bert", place / "deep", num_hidden_layers=5)
    save_byte_head("masked-lm", place / "bytes")
    return place


def compared(place: Path, second: str, **values: str) -> AttentionComparison:
    options = Options((TEXT,), PAIR, values={"other": str(place / second), **values})
    return compared_attention(opened_model(place / "first"), options).result


@pytest.mark.sample(2)
@pytest.mark.parametrize("theme", [LIGHT, DARK, PHONE])
def test_both_maps_are_on_one_scale_and_the_difference_is_around_zero(place: Path, theme: Theme) -> None:
    found = compared(place, "second", layer="1", head="1")
    drawn = attention_compared_figure(found).drawn(theme)
    first, second, change = drawn.data
    for trace, values in ((first, found.first.weights), (second, found.second.weights), (change, found.difference)):
        np.testing.assert_array_equal(np.asarray(trace.z), values)
    top = max(found.first.weights.max(), found.second.weights.max())
    assert first.zmax == second.zmax == pytest.approx(float(top))
    assert first.zmin == second.zmin == 0
    assert found.difference is not None
    assert -change.zmin == change.zmax >= float(np.abs(found.difference).max())
    assert DIFFERENCE in [each.text for each in drawn.layout.annotations]


@pytest.mark.parametrize("theme", [LIGHT, PHONE])
def test_other_tokens_are_two_maps_each_with_its_own_tokens(place: Path, theme: Theme) -> None:
    found = compared(place, "bytes")
    spec = attention_compared_figure(found)
    first, second = spec.drawn(theme).data
    assert first.z.shape == found.first.weights.shape
    assert second.z.shape == found.second.weights.shape
    assert "two maps" in spec.alt


def test_stacked_maps_leave_room_for_the_longest_token_the_title_of_the_axis_and_the_next_name(place: Path) -> None:
    found = compared(place, "bytes")
    longest = "responsibilities"
    labels = (longest, *found.first.keys.labels[1:])
    keys = dataclasses.replace(found.first.keys, labels=labels)
    wide = dataclasses.replace(found, first=dataclasses.replace(found.first, keys=keys))
    layout = attention_compared_figure(wide).drawn(PHONE).layout
    height = layout.height - layout.margin.t - layout.margin.b
    between = (layout.yaxis.domain[0] - layout.yaxis2.domain[1]) * height
    assert between >= label_width(longest, TEXT_SIZE - 1) + 2 * TEXT_SIZE + 10  # 10 pixels to the title of the axis


def test_the_title_names_both_heads_where_they_differ(place: Path) -> None:
    assert compared_title(compared(place, "second")).startswith("Attention of layer 0, head 0 — ")
    deep = compared(place, "deep", layer="2", head="1")
    assert "layer 2, head 1" in compared_title(deep)
    assert "layer 4, head 1" in compared_title(deep)


def test_the_map_of_heads_is_their_divergence(place: Path) -> None:
    options = Options((TEXT,), values={"other": str(place / "second")})
    found: Behaviour = changed_heads(opened_model(place / "first"), options).result
    spec = attention_changed_figure(found)
    assert found.divergences is not None
    (heatmap,) = [each for each in spec.drawn(LIGHT).data if each.type == "heatmap"]
    np.testing.assert_array_equal(np.asarray(heatmap.z), found.divergences)
    layer, head = np.unravel_index(found.divergences.argmax(), found.divergences.shape)
    assert f"largest for layer {layer}, head {head}" in spec.alt
