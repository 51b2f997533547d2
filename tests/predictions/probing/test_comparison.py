"""Two models' answers: scores as in scikit-learn, the test of scipy, and intervals that cover the true difference."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from bertviz_core.errors import TextError
from bertviz_core.figures.checkpoints.comparison import agreement_words
from bertviz_core.predictions.probing import comparison
from bertviz_core.predictions.probing.comparison import RESAMPLES, answer_comparison, mcnemar_p
from bertviz_core.predictions.probing.results import GoldComparison, TextPredictions

LABELS = ("NEGATIVE", "NEUTRAL", "POSITIVE")


def predictions(answers: list[str], labels: tuple[str, ...] = LABELS, model: str = "a") -> TextPredictions:
    scores = np.linspace(0.5, 0.9, len(answers)).astype(np.float32)
    texts = tuple(f"text {place}" for place in range(len(answers)))
    return TextPredictions(model, "sequence-classification", texts, None, tuple(answers), scores, labels, None)


def drawn(count: int, seed: int = 1) -> tuple[list[str], list[str], list[str]]:
    """Gold labels, and answers of two models that are right in 6 and 7 of 10 texts."""
    draw = np.random.default_rng(seed)
    gold = [str(label) for label in draw.choice(LABELS, count)]
    noise = draw.choice(LABELS, (2, count))
    right = draw.random((2, count)) < np.array([[0.4], [0.55]])
    one, other = (
        [str(label if is_right else wrong) for label, is_right, wrong in zip(gold, row, wrongs, strict=True)]
        for row, wrongs in zip(right, noise, strict=True)
    )
    return gold, one, other


def compared(gold: list[str], one: list[str], other: list[str], seed: int = 0) -> GoldComparison:
    found = answer_comparison(predictions(one), predictions(other, model="b"), gold, seed).gold
    assert found is not None
    return found


def test_scores_texts_and_confusion_are_those_of_scikit_learn() -> None:
    gold, one, other = drawn(211)
    found = answer_comparison(predictions(one), predictions(other, model="b"), gold)
    scores = found.gold
    assert scores is not None
    for score, measure in ((scores.accuracy, accuracy_score), (scores.macro_f1, macro)):
        assert score.first == pytest.approx(measure(gold, one), abs=1e-6)
        assert score.second == pytest.approx(measure(gold, other), abs=1e-6)
        assert score.difference == pytest.approx(measure(gold, other) - measure(gold, one), abs=1e-6)
        assert -1 <= score.low < score.difference < score.high <= 1
    np.testing.assert_array_equal(found.confusion, confusion_matrix(one, other, labels=LABELS))
    assert found.agreement == pytest.approx(accuracy_score(one, other))
    mended = [at for at in range(211) if one[at] != gold[at] == other[at]]
    broken = [at for at in range(211) if one[at] == gold[at] != other[at]]
    assert (sorted(scores.mended), sorted(scores.broken)) == (mended, broken)
    assert list(scores.mended) == sorted(mended, reverse=True)  # the probabilities increase with the index
    assert len(mended) - len(broken) == round(211 * scores.accuracy.difference)
    kinds = np.array(found.kinds)
    assert np.flatnonzero(kinds == "mended").tolist() == mended
    assert np.flatnonzero(kinds == "broken").tolist() == broken
    assert np.isin(kinds, ("mended", "both right")).sum() == sum(a == g for a, g in zip(other, gold, strict=True))


def macro(gold: list[str], answers: list[str]) -> float:
    return float(f1_score(gold, answers, average="macro"))


@pytest.mark.parametrize(("mended", "broken"), [(0, 0), (1, 0), (0, 6), (5, 5), (12, 3), (7, 19), (400, 460), (9, 900)])
def test_the_test_of_mcnemar_is_scipy_s_binomial_test(mended: int, broken: int) -> None:
    total = mended + broken
    expected = 1.0 if total == 0 else binomtest(mended, total, 0.5).pvalue
    assert mcnemar_p(mended, broken) == pytest.approx(expected, rel=1e-9)


def test_the_intervals_are_those_of_scipy_s_bootstrap_over_the_same_texts() -> None:
    gold, one, other = drawn(60, seed=5)
    found = compared(gold, one, other)
    numbers = [np.array([LABELS.index(label) for label in each]) for each in (gold, one, other)]
    for score, measure in ((found.accuracy, plain_accuracy), (found.macro_f1, plain_macro)):
        interval = bootstrap(
            numbers,
            partial(difference, measure),
            paired=True,
            vectorized=False,
            method="percentile",
            n_resamples=3_000,
            random_state=2,
        ).confidence_interval
        assert score.low == pytest.approx(interval.low, abs=0.02)
        assert score.high == pytest.approx(interval.high, abs=0.02)


def difference(
    measure: Callable[[np.ndarray, np.ndarray], float], gold: np.ndarray, first: np.ndarray, second: np.ndarray
) -> float:
    return measure(gold, second) - measure(gold, first)


def plain_accuracy(gold: np.ndarray, answers: np.ndarray) -> float:
    return float((gold == answers).mean())


def plain_macro(gold: np.ndarray, answers: np.ndarray) -> float:
    found = [
        2 * ((gold == label) & (answers == label)).sum() / ((gold == label).sum() + (answers == label).sum())
        for label in np.union1d(gold, answers)
    ]
    return float(np.mean(found))


def test_the_interval_of_the_accuracy_is_near_the_normal_one_and_its_seed_gives_the_same_again() -> None:
    gold, one, other = drawn(2_000)
    found = compared(gold, one, other)
    changes = np.array([(a == g).real - (b == g).real for g, b, a in zip(gold, one, other, strict=True)])
    half = 1.96 * changes.std() / np.sqrt(2_000)
    assert found.accuracy.low == pytest.approx(changes.mean() - half, abs=0.003)
    assert found.accuracy.high == pytest.approx(changes.mean() + half, abs=0.003)
    again, else_drawn = compared(gold, one, other), compared(gold, one, other, seed=3)
    assert (again.accuracy, again.macro_f1) == (found.accuracy, found.macro_f1)
    assert else_drawn.macro_f1.low != found.macro_f1.low
    assert (found.resamples, found.seed) == (RESAMPLES, 0)


def test_the_same_model_twice_has_exact_zeros_and_says_so() -> None:
    gold, one, _ = drawn(40)
    same = answer_comparison(predictions(one), predictions(one), gold)
    assert same.gold is not None
    for score in (same.gold.accuracy, same.gold.macro_f1):
        assert (score.difference, score.low, score.high) == (0, 0, 0)
    assert (same.agreement, same.gold.mcnemar_p, len(same.changed)) == (1, 1, 0)
    assert same.notices == ("The same model twice: every difference is exactly 0.",)


def test_heads_without_a_common_label_have_no_share_of_same_answers() -> None:
    other = predictions(["joy", "fear"], ("joy", "fear"), "b")
    found = answer_comparison(predictions(["POSITIVE", "NEGATIVE"]), other, ["1", "0"])
    assert (found.common, found.agreement, found.gold) == (0, None, None)
    assert "No label is one of both heads, so only the answers are compared" in found.notices[2]
    assert agreement_words(found) == "no label in common"


def test_labels_meet_by_name_in_any_capitals_and_those_of_one_model_are_named() -> None:
    one = predictions(["POSITIVE", "NEGATIVE", "NEUTRAL"])
    other = predictions(["positive", "mixed", "negative"], ("negative", "positive", "mixed"), "b")
    found = answer_comparison(one, other, ["Positive", "negative", ""])
    assert found.labels == (*LABELS, "mixed")
    assert found.answers[1] == ("POSITIVE", "mixed", "NEGATIVE")
    assert found.changed.tolist() == [1, 2]
    assert found.kinds == ("both right", "broken", "changed")
    assert found.notices == (
        "1 label only of a: 'NEUTRAL'.",
        "1 label only of b: 'mixed'.",
        "1 text without a gold label left out of the comparison.",
    )
    names = ("x", "X")
    two = answer_comparison(predictions(["x"], names), predictions(["X"], ("X", "x"), "b"))
    assert (two.agreement, two.labels, two.gold) == (0, names, None)


def test_numbers_of_classes_are_read_only_where_both_models_number_alike() -> None:
    one, other = predictions(["NEGATIVE", "POSITIVE"]), predictions(["NEGATIVE", "NEUTRAL"], model="b")
    found = answer_comparison(one, other, ["0", "2"])
    assert found.gold is not None
    assert (found.gold.accuracy.first, found.gold.accuracy.second) == (1, 0.5)
    assert "0 is 'NEGATIVE'" in found.notices[0]
    turned = predictions(["NEGATIVE", "NEUTRAL"], LABELS[::-1], "b")
    with pytest.raises(TextError, match="number their classes differently"):
        answer_comparison(one, turned, ["0", "2"])


def test_gold_labels_that_no_head_has_leave_the_agreement() -> None:
    found = answer_comparison(predictions(["NEGATIVE"]), predictions(["NEUTRAL"], model="b"), ["sport"])
    assert (found.gold, found.agreement) == (None, 0)
    assert found.kinds == ("changed",)
    assert found.notices == ("No gold label ('sport') is a label of these task heads, so no answer is right or wrong.",)


def test_what_cannot_be_compared_gets_one_sentence() -> None:
    one = predictions(["NEGATIVE"])
    with pytest.raises(TextError, match="that of 'tagger' .* gives none, so its answers are not compared"):
        answer_comparison(one, predictions(["Ann (PER)"], (), "tagger"))
    with pytest.raises(TextError, match="201 labels; at most 200"):
        answer_comparison(one, predictions(["0"], tuple(map(str, range(198))), "b"))
    with pytest.raises(TextError, match="no text has a label"):
        answer_comparison(one, one, [" "])
    with pytest.raises(ValueError, match="different texts"):
        answer_comparison(one, predictions(["NEGATIVE"] * 2))


def test_the_size_of_a_block_of_samples_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    gold, one, other = drawn(150)
    whole = compared(gold, one, other)
    monkeypatch.setattr(comparison, "BLOCK_CELLS", 700)
    parts = compared(gold, one, other)
    assert (parts.accuracy, parts.macro_f1) == (whole.accuracy, whole.macro_f1)
