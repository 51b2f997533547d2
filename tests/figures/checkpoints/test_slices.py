"""Slices drawn: a row each, the difference of the accuracies with the ends of its interval, or the agreement."""

import numpy as np
import pytest

from bertviz_core.figures.base.style import DARK, LIGHT, PRINT, Theme
from bertviz_core.figures.checkpoints.comparison import slices_compared_figure
from bertviz_core.predictions.probing.comparison import answer_comparison
from bertviz_core.predictions.probing.table import sliced_answers
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED
from tests.predictions.probing.test_comparison import drawn, predictions

GOLD, ONE, SECOND = drawn(90)
VALUES = [(ACTIVE, "b", "c")[place % 3] for place in range(90)]
BARE = ["" if value == "c" else label for value, label in zip(VALUES, GOLD, strict=True)]
COMPARED = answer_comparison(predictions(ONE), predictions(SECOND, model="b"), BARE)
SLICED = sliced_answers(COMPARED, "column", VALUES)


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT])
def test_a_slice_with_gold_labels_is_a_row_with_the_ends_of_its_interval(theme: Theme) -> None:
    figure = slices_compared_figure(SLICED).drawn(theme)
    (rows,) = figure.data
    scores = [each.accuracy for each in SLICED.slices if each.accuracy is not None]
    assert len(scores) == 2
    assert list(rows.x) == pytest.approx([100 * (each.second - each.first) for each in scores])
    lows, highs = np.array(rows.x) - np.array(rows.error_x.arrayminus), np.array(rows.x) + np.array(rows.error_x.array)
    assert lows == pytest.approx([100 * each.low for each in scores])
    assert highs == pytest.approx([100 * each.high for each in scores])
    low, high = figure.layout.xaxis.range
    assert low < lows.min() < highs.max() < high
    names = list(figure.layout.yaxis.ticktext)
    assert [name.rpartition(" · ")[2] for name in names] == ["30", "30"]
    assert "<" not in names[0]
    assert ACTIVE_ESCAPED in rows.customdata[0]


def test_without_gold_labels_a_row_is_how_often_the_models_agree() -> None:
    sliced = sliced_answers(answer_comparison(predictions(ONE), predictions(SECOND, model="b")), "length")
    (rows,) = slices_compared_figure(sliced).drawn(LIGHT).data
    same = sum(one == other for one, other in zip(ONE, SECOND, strict=True)) / 90
    assert list(rows.x) == pytest.approx([100 * same])
    assert rows.error_x.array is None


def test_the_numbers_are_in_words() -> None:
    spec = slices_compared_figure(SLICED)
    score = SLICED.slices[1].accuracy
    assert score is not None
    assert f"b: accuracy {score.first:.1%} and {score.second:.1%}" in spec.alt


def test_a_slice_of_a_few_texts_is_an_open_circle_without_a_bar() -> None:
    values = ["few" if place < 4 else "many" for place in range(90)]
    spec = slices_compared_figure(
        sliced_answers(answer_comparison(predictions(ONE), predictions(SECOND, model="b"), GOLD), "column", values)
    )
    (rows,) = spec.drawn(LIGHT).data
    assert list(rows.marker.symbol) == ["circle-open", "circle"]
    assert np.isnan(np.array(rows.error_x.array, dtype=float)).tolist() == [True, False]
    assert "over 4 texts, too few for an interval" in spec.alt
