"""Predictions of two models: the drawn bars are the result's numbers, and a missing one is a line and no bar."""

from dataclasses import replace
from typing import Any

import numpy as np

from bertviz_core.figures.base.style import DARK, LIGHT
from bertviz_core.figures.predictions.classes import MOST, drawn_rows, predictions_compared_figure
from bertviz_core.predictions.results import ComparedKind, PredictionComparison


def compared(kind: ComparedKind, rows: int = 3, **changes: Any) -> PredictionComparison:
    """Numbers 0.2, 0.25 ... of the first model, and 0.1 less in the second, which has none in the first row."""
    numbers = np.linspace(0.2, 0.2 + 0.05 * (rows - 1), rows, dtype=np.float32)
    second = (numbers - np.float32(0.1)).astype(np.float32)
    second[0] = np.nan
    none = ("",) * rows
    made = PredictionComparison(
        "one", "two", kind, "probability", "python", tuple(f"<b>{row}</b>" for row in range(rows)),
        none, none, numbers, second, ("a", "b"),
    )  # fmt: skip
    return replace(made, **changes)


def test_the_bars_are_the_numbers_and_the_difference_is_second_minus_first() -> None:
    result = compared("words")
    spec = predictions_compared_figure(result)
    first, second = spec.drawn(LIGHT).data
    assert (first.name, second.name) == ("first: one", "second: two")
    np.testing.assert_array_equal(first.x, result.first_numbers)
    np.testing.assert_array_equal(second.x, np.nan_to_num(result.second_numbers))
    assert [each.strip() for each in second.text] == ["–", "0.150 (−0.100)", "0.200 (−0.100)"]
    assert "python" in spec.title
    assert "<b>0</b> 0.200, –" in spec.alt
    assert spec.drawn(LIGHT).layout.yaxis.ticktext[0] == "&lt;b&gt;0&lt;/b&gt;"
    assert spec.drawn(DARK).data[1].marker.color == DARK.colours["task head"]


def test_classes_are_sorted_by_the_greater_number() -> None:
    result = compared("classes", second_numbers=np.array([0.9, np.nan, 0.3], dtype=np.float32))
    assert drawn_rows(result) == [0, 2, 1]
    assert predictions_compared_figure(result).drawn(LIGHT).layout.xaxis.range[1] >= 1


def test_words_without_a_tag_in_both_models_are_left_out() -> None:
    tags = {"first_answers": ("O", "B-PER", "O"), "second_answers": ("O", "O", "O")}
    result = compared("tags", **tags)
    assert drawn_rows(result) == [1]
    assert np.isnan(result.difference).tolist() == [True, True, False]
    texts = [trace.text[0].strip() for trace in predictions_compared_figure(result).drawn(LIGHT).data]
    assert texts == ["B-PER 0.250", "O 0.150"]
    assert drawn_rows(compared("tags", first_answers=("O",) * 3, second_answers=("O",) * 3)) == [0, 1, 2]


def test_of_many_rows_the_largest_changes_are_drawn_in_their_order() -> None:
    count = MOST + 7
    second = np.zeros(count, dtype=np.float32)
    result = compared("surprise", count, second_numbers=second, unit="nats")
    assert drawn_rows(result) == list(range(7, count))
    spec = predictions_compared_figure(result)
    assert f"{MOST} of {count} rows" in spec.title
    assert spec.drawn(LIGHT).layout.xaxis.title.text == "surprise, nats"


def test_one_model_twice_is_named_once() -> None:
    result = compared("lens", second="one")
    assert predictions_compared_figure(result).title.endswith("— one")
