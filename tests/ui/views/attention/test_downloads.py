"""The description of the attention view's colours agrees with the drawing."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bertviz_core.attention.atlas import attention_atlas
from bertviz_core.attention.maps import attention_map
from bertviz_core.attention.results import MapOptions
from bertviz_core.figures.attention.view_state import ViewOptions
from tests.helpers.made_traces import random_trace
from ui.views.attention import Drawing, scale_sentence


@pytest.fixture(scope="module")
def shown() -> Any:
    trace = random_trace(4, 7)
    atlas = attention_atlas(trace, MapOptions())
    weakest = np.unravel_index(atlas.thumbnails.max(axis=(2, 3)).argmin(), atlas.thumbnails.shape[:2])
    return atlas, attention_map(trace, int(weakest[0]), int(weakest[1]), MapOptions())


def test_the_scale_is_that_of_all_heads_of_one_or_fixed(shown: Any) -> None:
    atlas, one = shown
    top, own = float(atlas.thumbnails.max()), float(one.weights.max())
    assert own < top
    for heads in ([one], ()):
        assert scale_sentence(atlas, heads, ViewOptions()) == f"weight, 0 to {top:.3g}, one scale for all heads"
        assert scale_sentence(atlas, heads, ViewOptions(scale="fixed")) == "weight, 0 to 1, a fixed scale"
    own_scale = ViewOptions(scale="own")
    assert scale_sentence(atlas, [one], own_scale) == f"weight, 0 to {own:.3g}, a scale of its own"
    assert scale_sentence(atlas, (), own_scale) == "weight, 0 to the largest of each head"


def test_emphasized_small_weights_are_told_and_a_norm_has_no_fixed_scale(shown: Any) -> None:
    atlas, _ = shown
    lifted = scale_sentence(atlas, (), ViewOptions(shades="lifted", scale="fixed"))
    assert lifted == "weight, 0 to 1, by the square root, a fixed scale"
    norms = replace(atlas, options=MapOptions("value-weighted"))
    assert scale_sentence(norms, (), ViewOptions(scale="fixed")).endswith("one scale for all heads")


def test_lines_are_scaled_to_the_strongest_of_the_open_heads(shown: Any) -> None:
    atlas, one = shown
    twice, lines = replace(one, weights=one.weights * np.float32(0.5)), ViewOptions(lines=True)
    top = f"{float(one.weights.max()):.3g}"
    assert scale_sentence(atlas, [one], lines) == f"weight, 0 to {top}, a scale of its own"
    assert scale_sentence(atlas, [twice, one], lines) == f"weight, 0 to {top}, one scale for the open heads"


@pytest.mark.parametrize(
    ("weights", "tokens", "hide", "told"),
    [
        ("attention", 48, None, "; weights below 0.02 are hidden"),
        ("attention", 49, None, "; weights below 0.1 are hidden"),
        ("rollout", 49, 7, "; weights below 0.07 are hidden"),
        ("value-weighted", 8, None, "; those below 2% of the largest are hidden"),
        ("attention", 8, 0, ""),
    ],
)
def test_what_lines_are_hidden_is_told(weights: str, tokens: int, hide: int | None, told: str) -> None:
    drawing: Any = SimpleNamespace(
        atlas=SimpleNamespace(queries="q" * tokens, keys="k" * 3),
        state=SimpleNamespace(look=ViewOptions(hide=hide)),
        part=SimpleNamespace(reading=SimpleNamespace(weights=weights)),
    )
    hidden: Any = Drawing.hidden
    assert hidden.fget(drawing) == told
