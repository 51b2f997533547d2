"""Figures of two models: every cell and range is that of the result, at every width and in every theme."""

import numpy as np
import pytest

from bertviz_core.figures.base.style import DARK, LIGHT, PRINT, WIDTHS, theme_named
from bertviz_core.figures.sentences.two_models import (
    BIN,
    pair_bars,
    pair_cosines_figure,
    range_words,
    sentences_compared_figure,
)
from bertviz_core.sentences.results import CosineRange, SentenceComparison, off_diagonal
from bertviz_core.sentences.two_models import sentence_comparison


def compared(count: int, first: str = "one", second: str = "two") -> SentenceComparison:
    generator = np.random.default_rng(0)
    vectors = [generator.normal(shift, 1, (count, 7)).astype(np.float32) for shift in (0, 2)]
    return sentence_comparison((first, second), [f"Sentence {n} <b>" for n in range(count)], *vectors, 1)


@pytest.mark.sample(5)
@pytest.mark.parametrize("pixels", WIDTHS)
@pytest.mark.parametrize("count", [3, 9, 150])
def test_three_maps_have_one_scale_and_do_not_overlap(pixels: int, count: int) -> None:
    result = compared(count, "a-model-with-a-name-of-many-letters-and-numbers")
    figure = sentences_compared_figure(result).drawn(theme_named("light", pixels))
    maps = [trace for trace in figure.data if trace.type == "heatmap"]
    for trace, values in zip(maps, (result.first_cosines, result.second_cosines, result.difference), strict=True):
        np.testing.assert_array_equal(np.array(trace.z), values.astype(np.float32))
        assert trace.coloraxis == "coloraxis"
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-1, 1)
    boxes = [(figure.layout[f"xaxis{n}"].domain, figure.layout[f"yaxis{n}"].domain) for n in ("", "2", "3")]
    for place, (across, down) in enumerate(boxes):
        assert 0 <= across[0] < across[1] <= 1
        assert 0 <= down[0] < down[1] <= 1
        for beside, above in boxes[place + 1 :]:
            assert across[1] < beside[0] or down[0] > above[1]


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)
def test_the_bars_are_shares_of_all_pairs_and_the_ranges_those_of_the_result(theme: object) -> None:
    result = compared(9)
    figure = pair_bars(result, "t", theme)
    for trace, cosines in zip(figure.data[:2], (result.first_cosines, result.second_cosines), strict=True):
        x, y = np.array(trace.x), np.array(trace.y)
        inside = [(left, share) for left, share in zip(x[1:-1:2], y[1:-1:2], strict=True)]
        pairs = off_diagonal(cosines)
        for left, share in inside:
            expected = 100 * np.mean((pairs >= left) & ((pairs < left + BIN) | (left + BIN > 1)))
            assert share == pytest.approx(expected, abs=1e-6)
        assert sum(share for _, share in inside) == pytest.approx(100)
    for place, one in enumerate((result.first_range, result.second_range)):
        dot = figure.data[2 + place]
        assert (dot.x[0], dot.y[0]) == (one.mean, place)
        assert dot.x[0] + dot.error_x.array[0] == pytest.approx(one.high)
        assert dot.x[0] - dot.error_x.arrayminus[0] == pytest.approx(one.low)


def test_a_range_is_in_the_alternative_text() -> None:
    assert range_words(CosineRange(0.25, -0.1, 0.5)) == "mean 0.25, 5th to 95th percentile −0.10 to 0.50"
    assert range_words(compared(3).first_range) in pair_cosines_figure(compared(3)).alt
