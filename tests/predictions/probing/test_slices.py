"""Slices of compared texts: scores of scikit-learn on each group, each text in one slice, intervals of scipy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap
from sklearn.metrics import accuracy_score

from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.comparison import answer_comparison
from bertviz_core.predictions.probing.results import AnswerComparison
from bertviz_core.predictions.probing.table import MOST_SLICES, OTHERS, sliced_answers
from bertviz_core.questions.tables.predictions import slices_sentence
from tests.predictions.probing.test_comparison import drawn, predictions

GOLD, ONE, SECOND = drawn(120)
LABELLED = [label if place % 7 else "" for place, label in enumerate(GOLD)]
LONG = [" ".join(["word"] * (1 + place % 50)) for place in range(120)]


def compared(texts: list[str], gold: list[str] | None = LABELLED, pairs: list[str] | None = None) -> AnswerComparison:
    """Two models' answers to these texts."""
    both: dict[str, Any] = {"texts": tuple(texts), "pairs": None if pairs is None else tuple(pairs)}
    return answer_comparison(replace(predictions(ONE), **both), replace(predictions(SECOND, model="b"), **both), gold)


def check(result: AnswerComparison, names: list[str], slices: Any) -> None:
    """The slices are the groups of these names, with scikit-learn's accuracy on their labelled texts."""
    frame = pd.DataFrame({"name": names, "gold": LABELLED, "one": ONE, "second": SECOND})
    assert {each.name for each in slices} == set(names)
    assert sorted(place for each in slices for place in each.places.tolist()) == list(range(120))
    for each in slices:
        group = frame[frame["name"] == each.name]
        assert each.places.tolist() == group.index.tolist()
        assert each.agreement == pytest.approx(accuracy_score(group["one"], group["second"]))
        group = group[group["gold"] != ""]
        assert each.compared == len(group)
        if len(group):
            assert each.accuracy.first == pytest.approx(accuracy_score(group["gold"], group["one"]))
            assert each.accuracy.second == pytest.approx(accuracy_score(group["gold"], group["second"]))
            assert each.mended == ((group["one"] != group["gold"]) & (group["second"] == group["gold"])).sum()
            assert each.broken == ((group["one"] == group["gold"]) & (group["second"] != group["gold"])).sum()


def test_slices_by_a_column_have_the_scores_of_its_groups() -> None:
    result, values = compared(LONG), [f"topic {place % 3}" if place % 11 else " " for place in range(120)]
    names = [value.strip() or "(empty)" for value in values]
    check(result, names, sliced_answers(result, "column", values).slices)


def test_rare_values_of_many_are_one_slice() -> None:
    values = ["common" if place < 60 else str(place) for place in range(120)]
    slices = sliced_answers(compared(LONG), "column", values).slices
    assert len(slices) == MOST_SLICES + 1
    assert slices[0].name == "common"
    assert (slices[-1].name, len(slices[-1].places)) == (OTHERS, 60 - (MOST_SLICES - 1))


def test_slices_by_length_count_the_words_of_both_texts() -> None:
    result = compared(LONG, pairs=["one two"] * 120)
    counts = pd.Series([len(text.split()) + 2 for text in LONG])
    bins, labels = (0, 5, 10, 20, 40, 1000), ("up to 5", "6–10", "11–20", "21–40", "over 40")
    names = [f"{name} words" for name in pd.cut(counts, bins, labels=labels)]
    check(result, names, sliced_answers(result, "length").slices)


def test_a_word_is_a_whole_word_in_either_case() -> None:
    texts = [("Not so.", "a knot", "do not!", "notable", "it is (not)", "nothing")[place % 6] for place in range(120)]
    result = compared(texts)
    names = ["with 'not'" if place % 6 in (0, 2, 4) else "without 'not'" for place in range(120)]
    check(result, names, sliced_answers(result, "word:not").slices)


def test_an_interval_is_that_of_a_paired_bootstrap() -> None:
    result = compared(LONG, GOLD)
    (whole,) = sliced_answers(result, "column", ["all"] * 120).slices
    right = [np.array([a == g for a, g in zip(each, GOLD, strict=True)], dtype=float) for each in (ONE, SECOND)]
    expected = bootstrap((right[1] - right[0],), np.mean, n_resamples=5_000, method="percentile", random_state=1)
    assert whole.accuracy is not None
    assert result.gold is not None
    assert whole.accuracy.low == pytest.approx(expected.confidence_interval.low, abs=0.02)
    assert whole.accuracy.high == pytest.approx(expected.confidence_interval.high, abs=0.02)
    assert whole.accuracy.difference == pytest.approx(result.gold.accuracy.difference)


def test_a_slice_of_a_few_texts_has_no_interval_and_is_not_called_better() -> None:
    gold = ["POSITIVE"] * 9 + ["NEUTRAL"] * 10
    one, second = ["NEUTRAL"] * 9 + ["NEUTRAL"] * 10, ["POSITIVE"] * 9 + ["NEUTRAL"] * 10
    sliced = sliced_answers(answer_comparison(predictions(one), predictions(second, model="b"), gold), "column", gold)
    few, many = (each.accuracy for each in sliced.slices)
    assert few is not None
    assert many is not None
    assert (few.difference, np.isnan(few.low), np.isnan(few.high)) == (1.0, True, True)
    assert (many.difference, many.low, many.high) == (0.0, 0.0, 0.0)
    assert slices_sentence(sliced).startswith("No slice shows")


@pytest.mark.parametrize(("by", "values"), [("", None), ("column", None), ("length", ["a"]), ("words", None)])
def test_another_division_is_refused(by: str, values: list[str] | None) -> None:
    with pytest.raises(TextError, match="by their length, by a word, or by a column"):
        sliced_answers(compared(LONG), by, values)


def test_a_missing_word_is_asked_for() -> None:
    with pytest.raises(TextError, match="A word is missing"):
        sliced_answers(compared(LONG), "word: ")
