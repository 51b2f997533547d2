"""Curves of removal: each line shows the values of its order, a band the least and the greatest of the random ones."""

import numpy as np

from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.interventions.effects import removal_figure
from bertviz_core.interventions.ablation import ablation_curve, gradient_order, greedy_order, random_orders
from tests.helpers.tiny_causes import tiny_runs


def test_lines_and_band_are_the_curves() -> None:
    runs = tiny_runs("bert")
    curves = [
        ablation_curve(runs, [greedy_order(runs, 4)], "greedy"),
        ablation_curve(runs, [gradient_order(runs, 4)], "gradient"),
        ablation_curve(runs, random_orders(runs, 4, 5), "random"),
    ]
    spec = removal_figure(curves)
    greedy, gradient, low, high, mean = spec.drawn(LIGHT).data
    np.testing.assert_allclose(greedy.y, curves[0].values[0], atol=1e-7)
    np.testing.assert_allclose(gradient.y, curves[1].values[0], atol=1e-7)
    np.testing.assert_allclose(low.y, curves[2].values.min(axis=0), atol=1e-7)
    np.testing.assert_allclose(high.y, curves[2].values.max(axis=0), atol=1e-7)
    np.testing.assert_allclose(mean.y, curves[2].values.mean(axis=0), atol=1e-7)
    assert mean.name == "random, mean of 5 orders"
    assert "as heads are removed" in spec.title
