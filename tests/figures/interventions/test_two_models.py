"""Attributions of two models: the bars are the shares of both on one axis, with the difference beside the second."""

from dataclasses import replace

import numpy as np

from bertviz_core.attribution.results import AttributionComparison
from bertviz_core.attribution.words import compared_attributions, leave_one_out
from bertviz_core.figures.base.style import DARK, LIGHT
from bertviz_core.figures.interventions.effects import drawn_parts, words_compared_figure
from bertviz_core.figures.predictions.classes import MOST
from tests.helpers.tiny_causes import opened, tiny_target


def compared() -> AttributionComparison:
    """A model beside another one that has half its shares, and none for the first word."""
    one = leave_one_out(tiny_target("bert"), opened("bert")[1])
    result = compared_attributions(one, replace(one, model="<b>other</b>", shares=one.shares / 2))
    second = result.second_shares.copy()
    second[0] = np.nan
    return replace(result, second_shares=second)


def test_the_bars_are_the_shares_on_one_axis() -> None:
    result = compared()
    spec = words_compared_figure(result)
    for theme in (LIGHT, DARK):
        first, second = spec.drawn(theme).data
        np.testing.assert_array_equal(first.x, result.first_shares)
        np.testing.assert_array_equal(second.x, np.nan_to_num(result.second_shares))
        assert second.text[0].strip() == "–"
        assert all(text.endswith(")") for text in second.text[1:])
        assert second.name == "second: &lt;b&gt;other&lt;/b&gt;"
    assert all(part in spec.alt for part in result.parts)
    assert "clean" in spec.caption


def test_of_a_long_text_the_largest_differences_are_drawn_in_its_order() -> None:
    count = MOST + 5
    result = compared()
    shares = np.linspace(1, 2, count, dtype=np.float32)
    long = replace(
        result, parts=tuple(map(str, range(count))), first_shares=shares, second_shares=np.zeros_like(shares)
    )
    assert drawn_parts(long) == list(range(5, count))
    assert f"the {MOST} of {count}" in words_compared_figure(long).title
