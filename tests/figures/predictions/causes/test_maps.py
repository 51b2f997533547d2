"""Maps of effects and patches: the drawn numbers are the result's, on one scale around 0."""

import numpy as np
import pytest

from bertviz_core.causes.effects import part_effects
from bertviz_core.causes.patches import patches
from bertviz_core.figures.base.style import DARK, LIGHT
from bertviz_core.figures.predictions.causes.maps import (
    effects_figure,
    effects_limit,
    patched_heads_figure,
    patched_states_figure,
)
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_causes import opened, tiny_runs, tiny_target
from tests.helpers.tiny_models import HEADS, LAYERS


def test_the_map_of_effects_holds_heads_blocks_and_layers() -> None:
    effects = [part_effects(tiny_target("bert"), kind) for kind in ("zero", "gradient")]
    limit = effects_limit(effects)
    assert limit >= max(np.abs(each.layers).max() for each in effects if each.layers is not None)
    for each in effects:
        for theme in (LIGHT, DARK):
            drawn = effects_figure(each, limit).drawn(theme)
            (cells,) = (trace for trace in drawn.data if trace.type == "heatmap")
            np.testing.assert_array_equal(cells.z[:, :HEADS], each.heads)
            np.testing.assert_array_equal(cells.z[:, HEADS], each.feed_forward)
            np.testing.assert_array_equal(cells.z[:, HEADS + 1], each.layers)
            assert (cells.zmin, cells.zmax) == (-limit, limit)
    layer, head, _ = effects[0].ranked()[0]
    assert f"largest for layer {layer}, head {head}" in effects_figure(effects[0]).alt


def test_a_family_without_blocks_has_its_heads_alone() -> None:
    effects = part_effects(tiny_target("xlm"))
    drawn = effects_figure(effects).drawn(LIGHT)
    (cells,) = (trace for trace in drawn.data if trace.type == "heatmap")
    assert cells.z.shape == (LAYERS, HEADS + (effects.feed_forward is not None))


def test_the_maps_of_patches_are_the_patches() -> None:
    result = patches(tiny_runs("bert"), tokenize(opened("bert")[1], "my pet language bank river."))
    for spec, values in ((patched_states_figure(result), result.states), (patched_heads_figure(result), result.heads)):
        (cells,) = (trace for trace in spec.drawn(LIGHT).data if trace.type == "heatmap")
        np.testing.assert_array_equal(cells.z, values)
        assert "brings back" in spec.title
    without = patches(tiny_runs("xlm"), tokenize(opened("xlm")[1], "my pet language bank river."))
    with pytest.raises(ValueError, match="no states"):
        patched_states_figure(without)
