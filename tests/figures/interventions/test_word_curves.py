"""Curves of the strongest words: the drawn lines are those of the result, with a band from least to greatest."""

import numpy as np
import pytest

from bertviz_core.attribution.gradients import gradient_x_input
from bertviz_core.attribution.results import WordCurves
from bertviz_core.attribution.words import leave_one_out, word_curves
from bertviz_core.figures.base.style import LIGHT, theme_named
from bertviz_core.figures.interventions.words import curve_areas, word_curves_figure
from bertviz_core.text import decimals
from tests.helpers.tiny_causes import opened, tiny_target


@pytest.fixture(scope="module")
def result() -> WordCurves:
    target, tokenizer = tiny_target("bert"), opened("bert")[1]
    return word_curves(target, tokenizer, [leave_one_out(target, tokenizer), gradient_x_input(target, tokenizer)])


def test_lines_and_bands_are_the_results(result: WordCurves) -> None:
    figure = word_curves_figure(result).drawn(LIGHT)
    for axis, without in (("x", True), ("x2", False)):
        traces = [trace for trace in figure.data if (trace.xaxis or "x") == axis]
        low, high = (trace for trace in traces if trace.line.width == 0)
        random = result.random if without else result.random_alone
        np.testing.assert_allclose(low.y, random.min(axis=0))
        np.testing.assert_allclose(high.y, random.max(axis=0))
        assert high.fill == "tonexty"
        lines = {trace.name: trace for trace in traces if trace.line.width}
        assert list(lines) == ["random order, mean and band", "leave-one-out", "gradient x input"]
        for curve, name in zip(result.curves, ("leave-one-out", "gradient x input"), strict=True):
            np.testing.assert_allclose(lines[name].y, curve.without if without else curve.alone)
            assert list(lines[name].x) == list(result.counts)
        np.testing.assert_allclose(lines["random order, mean and band"].y, random.mean(axis=0))


def test_each_name_stands_once_in_the_legend_and_the_areas_in_the_caption(result: WordCurves) -> None:
    spec = word_curves_figure(result)
    named = [trace.name for trace in spec.drawn(LIGHT).data if trace.showlegend is not False]
    assert len(named) == len(set(named)) == 3
    areas = curve_areas(result)
    assert [area for _, area, _ in areas[:2]] == pytest.approx(
        [np.mean(result.clean - curve.without) for curve in result.curves], abs=1e-6
    )
    for _, without, alone in areas:
        assert f"{decimals(without, 3)} and {decimals(alone, 3)}" in spec.caption


def test_a_phone_has_one_plot_below_the_other(result: WordCurves) -> None:
    narrow = word_curves_figure(result).drawn(theme_named("light", 390))
    wide = word_curves_figure(result).drawn(LIGHT)
    assert narrow.layout.yaxis.domain[0] > narrow.layout.yaxis2.domain[1]
    assert wide.layout.xaxis.domain[1] < wide.layout.xaxis2.domain[0]
