"""Maps of effects and patches: the drawn numbers are those of the result, on one scale around 0."""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import DARK, LIGHT, Theme, diverging
from bertviz_core.figures.interventions.effects import (
    SIGNS,
    effects_figure,
    effects_limit,
    patched_heads_figure,
    patched_states_figure,
)
from bertviz_core.interventions.ablation import ablation_effects, compared
from bertviz_core.interventions.runs import patches
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_causes import opened, tiny_runs, tiny_target
from tests.helpers.tiny_models import HEADS, LAYERS


def _cells(spec: FigureSpec, theme: Theme) -> np.ndarray:
    (found,) = (trace.z for trace in spec.drawn(theme).data if trace.type == "heatmap")
    return np.asarray(found)


@pytest.mark.parametrize("theme", [LIGHT, DARK, replace(LIGHT, pixels=390)])
def test_the_map_of_effects_holds_heads_blocks_and_layers_of_all_kinds(theme: Theme) -> None:
    comparison = compared([ablation_effects(tiny_target("bert"), kind) for kind in ("zero", "gradient")])
    cells = _cells(effects_figure(comparison, None), theme)
    wide = HEADS + 2
    for place, each in enumerate(comparison.effects):
        down, across = (place * (LAYERS + 2), 0) if theme.slim else (0, place * (wide + 1))
        part = cells[down : down + LAYERS, across : across + wide]
        np.testing.assert_array_equal(part[:, :HEADS], each.heads)
        np.testing.assert_array_equal(part[:, HEADS], each.feed_forward)
        np.testing.assert_array_equal(part[:, HEADS + 1], each.layers)
    assert int(np.isfinite(cells).sum()) == 2 * LAYERS * wide


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_head_without_which_the_number_falls_has_the_colour_of_a_word_that_raises_it(theme: Theme) -> None:
    """A word's share is with it minus without it, a head's effect without it minus with it: the signs are opposite."""
    comparison = compared([ablation_effects(tiny_target("bert"), "zero")])
    (heads,) = (each for each in effects_figure(comparison, None).drawn(theme).data if each.type == "heatmap")
    words = diverging(theme)
    assert [colour for _, colour in heads.colorscale] == [colour for _, colour in words[::-1]]
    assert "Orange, below 0" in SIGNS
    assert words[-1][1] == {"light": "#7F2704", "dark": "#FFC9A3"}[theme.name], "the orange end"


def test_all_kinds_have_one_scale_on_which_every_head_is_seen() -> None:
    comparison = compared([ablation_effects(tiny_target("bert"), kind) for kind in ("zero", "gradient")])
    limit = effects_limit(comparison)
    assert limit >= max(float(np.abs(each.heads).max()) for each in comparison.effects)
    spec = effects_figure(comparison, None)
    (drawn,) = (trace for trace in spec.drawn(LIGHT).data if trace.type == "heatmap")
    assert (drawn.zmin, drawn.zmax) == (-limit, limit)
    cells, words = np.array(drawn.z, dtype=float), drawn.colorbar.ticktext
    assert words[0].startswith("≤") is bool(np.nanmin(cells) < -limit)
    assert words[-1].startswith("≥") is bool(np.nanmax(cells) > limit)
    layer, head, _ = comparison.effects[0].ranked()[0]
    assert f"largest for layer {layer}, head {head}" in spec.alt
    marks = [shape for shape in spec.drawn(LIGHT).layout.shapes if shape.type == "rect"]
    assert [(mark.x0 + 0.5) % (HEADS + 3) for mark in marks] == [head, head]
    other = [shape for shape in effects_figure(comparison, (2, 1)).drawn(LIGHT).layout.shapes if shape.type == "rect"]
    assert [(mark.y0 + 0.5, (mark.x0 + 0.5) % (HEADS + 3)) for mark in other] == [(2, 1), (2, 1)]


def test_a_family_without_blocks_has_its_heads_alone() -> None:
    effects = ablation_effects(tiny_target("xlm"))
    cells = _cells(effects_figure(compared([effects]), None), LIGHT)
    assert cells.shape == (LAYERS, HEADS + (effects.feed_forward is not None))


def test_the_maps_of_patches_are_the_patches() -> None:
    result = patches(tiny_runs("bert"), tokenize(opened("bert")[1], "my pet language bank river."))
    for spec, values in ((patched_states_figure(result), result.states), (patched_heads_figure(result), result.heads)):
        (cells,) = (trace for trace in spec.drawn(LIGHT).data if trace.type == "heatmap")
        np.testing.assert_array_equal(cells.z, values)
        assert "brings back" in spec.title
    without = patches(tiny_runs("xlm"), tokenize(opened("xlm")[1], "my pet language bank river."))
    with pytest.raises(ValueError, match="no states"):
        patched_states_figure(without)
