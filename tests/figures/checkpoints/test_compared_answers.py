"""Answers of two models, drawn: cells by both answers, scores and differences with the ends of their intervals."""

import numpy as np
import pytest

from bertviz_core.figures.base.style import DARK, LIGHT, PRINT, Theme
from bertviz_core.figures.checkpoints.comparison import (
    answers_compared_figure,
    interval_words,
    points,
    scores_compared_figure,
)
from bertviz_core.predictions.probing.comparison import answer_comparison
from bertviz_core.predictions.probing.results import ScorePair
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED
from tests.predictions.probing.test_comparison import LABELS, drawn, predictions

GOLD, ONE, SECOND = drawn(90)
COMPARED = answer_comparison(predictions(ONE), predictions(SECOND, model=ACTIVE), GOLD)


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT])
def test_a_cell_counts_the_texts_of_both_answers_with_the_first_model_in_rows(theme: Theme) -> None:
    figure = answers_compared_figure(COMPARED).drawn(theme)
    expected = [[sum(pair == (a, b) for pair in zip(ONE, SECOND, strict=True)) for b in LABELS] for a in LABELS]
    np.testing.assert_array_equal(figure.data[0].z, expected)
    assert figure.data[0].zmin == 0
    assert list(figure.layout.yaxis.ticktext) == list(figure.layout.xaxis.ticktext) == list(LABELS)
    assert figure.layout.yaxis.title.text == "first: a"
    assert ACTIVE_ESCAPED in figure.layout.xaxis.title.text


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_scores_stand_above_their_differences_with_the_ends_of_the_intervals(theme: Theme) -> None:
    assert COMPARED.gold is not None
    scores = COMPARED.gold.accuracy, COMPARED.gold.macro_f1
    first, second, difference = scores_compared_figure(COMPARED).drawn(theme).data
    assert list(first.x) == pytest.approx([100 * each.first for each in scores])
    assert list(second.x) == pytest.approx([100 * each.second for each in scores])
    assert list(difference.x) == pytest.approx([100 * (each.second - each.first) for each in scores])
    lows = np.array(difference.x) - np.array(difference.error_x.arrayminus)
    highs = np.array(difference.x) + np.array(difference.error_x.array)
    assert lows == pytest.approx([100 * each.low for each in scores])
    assert highs == pytest.approx([100 * each.high for each in scores])
    low, high = scores_compared_figure(COMPARED).drawn(theme).layout.xaxis2.range
    assert low < lows.min() < highs.max() < high
    assert second.name == f"second: {ACTIVE_ESCAPED}"
    assert first.marker.symbol != second.marker.symbol


def test_a_difference_is_written_with_its_sign_and_interval() -> None:
    assert interval_words(ScorePair(0.5, 0.52, -0.005, 0.045)) == "+2.0 points (95% interval −0.5 to +4.5)"
    assert points(-0.0001) == "0.0"
    assert (
        interval_words(ScorePair(0.5, 0.5, 0.0, 0.0))
        in scores_compared_figure(answer_comparison(predictions(ONE), predictions(ONE), ONE)).alt
    )


def test_scores_without_gold_labels_are_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="no gold labels"):
        scores_compared_figure(answer_comparison(predictions(ONE), predictions(SECOND)))
