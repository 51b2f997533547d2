"""Maps of effects over texts: the drawn cells are mean and deviation; the accuracy curve is that of the result."""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from bertviz_core.figures.interventions.effects import accuracy_figure, effect_spread_figure
from bertviz_core.interventions.ablation import ablation_effects, effect_spread
from bertviz_core.interventions.results import AblationCurve
from bertviz_core.text import decimals
from tests.helpers.tiny_causes import tiny_target
from tests.helpers.tiny_models import HEADS, LAYERS, TEXT


@pytest.mark.parametrize("theme", [LIGHT, DARK, replace(LIGHT, pixels=390)])
def test_the_maps_are_mean_and_deviation(theme: Theme) -> None:
    spread = effect_spread(ablation_effects(tiny_target("bert", text)) for text in (TEXT, "the bank", "my pet"))
    spec = effect_spread_figure(spread)
    mean, deviation = (trace for trace in spec.drawn(theme).data if trace.type == "heatmap")
    np.testing.assert_array_equal(mean.z, spread.mean)
    np.testing.assert_array_equal(deviation.z, spread.spread)
    assert mean.z.shape == (LAYERS, HEADS)
    assert mean.zmin == -mean.zmax <= -np.abs(spread.mean).max()
    assert deviation.zmin == 0 <= spread.spread.max() <= deviation.zmax
    layer, head = np.unravel_index(np.abs(spread.mean).argmax(), spread.mean.shape)
    assert f"largest mean {decimals(float(spread.mean[layer, head]))} cosine for layer {layer}, head {head}" in spec.alt
    assert "over 3 sentences" in spec.title


def test_lines_are_the_shares_of_right_answers() -> None:
    places, values = np.array([[[0, 1], [1, 0]]]), np.array([[1.0, 0.5, 0.25]], dtype=np.float32)
    greedy = AblationCurve("right answers to 4 labelled texts", "share", "zero", "greedy", places, values)
    band = replace(greedy, order="random", places=places.repeat(2, 0), values=np.array([[1, 1, 0], [1, 0, 0.5]], "f4"))
    spec = accuracy_figure([greedy, band])
    lines = {trace.name: trace for trace in spec.drawn(LIGHT).data if trace.name}
    np.testing.assert_array_equal(lines["greedy"].y, values[0])
    np.testing.assert_array_equal(lines["random, mean of 2 orders"].y, [1, 0.5, 0.25])
    assert spec.title == "Share of right answers to 4 labelled texts as heads are removed"
    assert "greedy: from 1.00 to 0.25" in spec.alt
