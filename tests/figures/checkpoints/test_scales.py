"""Scales of maps of numbers: their ends, and the effect of a few outliers."""

import numpy as np
import pytest

from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from bertviz_core.figures.checkpoints.weights import number_scale

USUAL = [0.03 + step / 1_000 for step in range(20)]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_one_number_far_beyond_does_not_take_the_scale(theme: Theme) -> None:
    alone, beside = (number_scale(numbers, "x", theme).axis for numbers in (USUAL, [*USUAL, 5.0]))
    assert beside["cmax"] < 0.1
    assert beside["cmax"] >= max(USUAL)
    assert beside["colorbar"]["ticktext"][-1].startswith("≥ ")
    assert beside["colorbar"]["tickvals"][-1] == beside["cmax"]
    assert not any("≥" in tick for tick in alone["colorbar"]["ticktext"])


def test_a_signed_scale_is_symmetric_and_open_at_both_ends() -> None:
    axis = number_scale([*USUAL, *(-each for each in USUAL), -7.0], "x", LIGHT, signed=True).axis
    assert axis["cmin"] == -axis["cmax"]
    assert axis["colorbar"]["ticktext"][0].startswith("≤ −")
    assert axis["colorbar"]["ticktext"][-1].startswith("≥ ")


def test_numbers_that_are_spread_have_the_whole_scale() -> None:
    scale = number_scale([1, 2, 3, 4, 5, 6], "x", LIGHT)
    assert scale.axis["cmax"] == 6
    np.testing.assert_array_equal(scale.drawn(np.array([[2.0, np.inf, -np.inf]])), [[2, 6, -6]])


def test_nothing_but_zeros_is_the_paper() -> None:
    for logarithmic in (False, True):
        scale = number_scale([0.0, 0.0], "x", LIGHT, logarithmic=logarithmic)
        assert scale.colours(np.zeros((1, 2))) == [[LIGHT.paper] * 2]


def test_colours_are_those_of_the_places_on_the_scale() -> None:
    scale = number_scale([1.0, 10.0, 100.0, 1000.0, 10_000.0], "x", LIGHT, logarithmic=True)
    assert scale.drawn(np.array([[10_000.0, 100.0, 0.0]])).tolist() == [[1.0, 0.5, 0.0]]
    first, last = LIGHT.paper.upper(), scale.axis["colorscale"][-1][1].upper()
    (top, _, zero) = scale.colours(np.array([[10_000.0, 100.0, 0.0]]))[0]
    assert (top.upper(), zero.upper()) == (last, first)
