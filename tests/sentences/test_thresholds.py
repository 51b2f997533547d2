"""Thresholds of labelled pairs against scikit-learn, scores against sentence-transformers, and refusals.

Covers `bertviz_core/sentences/analysis/thresholds.py`, `bertviz_core/questions/predictions/thresholds.py`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from sentence_transformers import CrossEncoder, SentenceTransformer
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    f1_score,
    precision_recall_curve,
    precision_score,
    recall_score,
)

from bertviz_core import open_model
from bertviz_core.errors import BertvizError
from bertviz_core.figures.sentences.thresholds import reaching_words
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.thresholds import offered_scores, threshold_options, thresholds
from bertviz_core.sentences.analysis.example_pairs import EXAMPLE_PAIRS
from bertviz_core.sentences.analysis.results import PairThresholds
from bertviz_core.sentences.analysis.thresholds import (
    RESAMPLES,
    best_place,
    gold_labels,
    reaching_place,
    resampled_threshold,
    threshold_at,
    threshold_curve,
)
from bertviz_core.settings import Settings
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.labels import NAMES, named

MODEL = "all-MiniLM-L6-v2"
CLASS = "sequence-classification"
PAIRS = [(one, other) for one, other, _ in EXAMPLE_PAIRS]
LABELS = [label for _, _, label in EXAMPLE_PAIRS]


def made(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores with ties, and labels that depend on them."""
    generator = np.random.default_rng(seed)
    scores = np.round(generator.normal(size=5 + 30 * seed), 1)
    labels = scores + generator.normal(size=len(scores)) > generator.normal() / 3
    labels[:2] = [True, False]
    return scores, labels


@pytest.mark.parametrize("seed", range(6))
def test_the_curve_is_that_of_scikit_learn(seed: int) -> None:
    scores, labels = made(seed)
    curve = threshold_curve(scores, labels)
    precision, recall, values = precision_recall_curve(labels, scores)
    np.testing.assert_allclose(curve.thresholds, values)
    np.testing.assert_allclose(curve.precision, precision[:-1])
    np.testing.assert_allclose(curve.recall, recall[:-1])
    assert curve.average_precision == pytest.approx(average_precision_score(labels, scores))
    expected = [f1_score(labels, scores >= value) for value in values]
    np.testing.assert_allclose(curve.f1, expected)
    best = threshold_at(curve, best_place(curve), len(scores))
    assert best.f1 == pytest.approx(max(expected))
    assert best.threshold == max(
        value for value, f1 in zip(values, expected, strict=True) if f1 >= max(expected) - 1e-12
    )
    counts = [best.true_negatives, best.false_positives, best.false_negatives, best.true_positives]
    assert counts == confusion_matrix(labels, scores >= best.threshold).ravel().tolist()
    if best.above is not None:  # a little above the next lower score the pairs are divided in the same way
        assert ((scores > best.above) == (scores >= best.threshold)).all()


@pytest.mark.parametrize("seed", range(3))
def test_intervals_are_those_of_wilson_in_scipy(seed: int) -> None:
    scores, labels = made(seed)
    curve = threshold_curve(scores, labels)
    for place, value in enumerate(curve.thresholds):
        true = int((labels & (scores >= value)).sum())
        for interval, count in (
            (curve.precision_interval, int((scores >= value).sum())),
            (curve.recall_interval, int(labels.sum())),
        ):
            expected = binomtest(true, count).proportion_ci(method="wilson")
            np.testing.assert_allclose(interval[:, place], (expected.low, expected.high), atol=1e-9)


@pytest.mark.parametrize("precision", [0.3, 0.5, 0.75, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_lowest_threshold_with_the_precision_is_chosen(seed: int, precision: float) -> None:
    scores, labels = made(seed)
    place = reaching_place(threshold_curve(scores, labels), precision)
    reach = [value for value in np.unique(scores) if precision_score(labels, scores >= value) >= precision]
    assert (None if place is None else np.unique(scores)[place]) == (min(reach) if reach else None)


@pytest.mark.parametrize("seed", range(3))
def test_bootstrap_samples_give_the_thresholds_that_a_loop_over_them_gives(seed: int) -> None:
    scores, labels = made(seed)
    order, count, best = np.argsort(-scores, kind="stable"), len(scores), []
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    for sample in drawn:
        places = np.repeat(order, sample)
        one, side = scores[places], labels[places]
        if side.all() or not side.any():
            continue
        values = np.unique(one)[::-1]
        true = np.array([(side & (one >= value)).sum() for value in values])
        f1 = 2 * true / (np.array([(one >= value).sum() for value in values]) + side.sum())
        best.append(values[f1.argmax()])
    found = resampled_threshold(scores, labels)
    assert found.samples == len(best)
    assert found.interval == tuple(np.percentile(best, (2.5, 97.5), method="nearest"))


def test_cosines_are_those_of_sentence_transformers() -> None:
    result = open_model(MODEL).thresholds(PAIRS, LABELS, precision=0.8)
    library = SentenceTransformer(str(bundled_folder()), device="cpu")
    one, other = (library.encode([pair[side] for pair in PAIRS], normalize_embeddings=True) for side in (0, 1))
    cosines = (one * other).sum(axis=1)
    np.testing.assert_allclose(result.scores, cosines, atol=1e-5)
    assert result.data.curve.average_precision == pytest.approx(average_precision_score(LABELS, cosines))
    above = cosines >= result.best.threshold - 1e-5
    assert result.best.precision == pytest.approx(precision_score(LABELS, above))
    assert result.best.recall == pytest.approx(recall_score(LABELS, above))
    assert result.reaching is not None
    assert precision_score(LABELS, cosines >= result.reaching.threshold - 1e-5) >= 0.8


def opened(folder: Path) -> OpenedModel:
    return OpenedModel(str(folder), Settings.from_environment(any_folder=True))


SHORT = [("the river bank", "I love my pet python."), ("my pet", "the bank"), ("the river", "a river, my bank"),
         ("pets", "pets love a bank"), ("the river bank", "the bank"), ("python", "my pet python")]  # fmt: skip
SHORT_LABELS = [0, 0, 1, 1, 1, 0]


def asked(folder: Path, values: dict[str, str]) -> PairThresholds:
    rows = [one for one, _ in SHORT], [other for _, other in SHORT], SHORT_LABELS
    result: PairThresholds = thresholds(opened(folder), threshold_options(rows, values)).result
    return result


def test_scores_of_a_head_are_those_of_the_cross_encoder(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", CLASS, tmp_path / "tiny", num_labels=1)
    assert offered_scores(opened(folder), Options()) == ("head", "cosine", "late interaction")
    own = CrossEncoder(str(folder), device="cpu", max_length=29)
    result, by_logit = asked(folder, {}), asked(folder, {"threshold_of": "logit"})
    assert (result.score_name, by_logit.score_name) == ("sigmoid", "logit")
    np.testing.assert_allclose(result.scores, own.predict(SHORT), atol=1e-5)
    logits = own.predict(SHORT, activation_fn=torch.nn.Identity())
    np.testing.assert_allclose(by_logit.scores, logits, atol=1e-5)
    assert result.logits is not None
    np.testing.assert_array_equal(result.logits, by_logit.scores)
    assert result.best.true_positives == by_logit.best.true_positives  # the sigmoid keeps the order


def test_scores_of_a_class_are_its_probabilities(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", CLASS, tmp_path / "tiny", **named(*NAMES))
    expected = CrossEncoder(str(folder), device="cpu", max_length=29).predict(SHORT, apply_softmax=True)
    for label in ("", "neutral"):
        result = asked(folder, {"label": label})
        assert (result.score_name, result.label) == ("softmax", label or "entailment")
        np.testing.assert_allclose(result.scores, expected[:, NAMES.index(label or "entailment")], atol=1e-5)


def test_late_interaction_scores_each_query_with_its_texts(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", CLASS, tmp_path / "tiny", num_labels=1)
    result, model = asked(folder, {"scored_by": "late interaction"}), open_model(folder)
    expected = [model.late_interaction(*pair).score for pair in SHORT]
    np.testing.assert_allclose(result.scores, expected, rtol=1e-4)
    assert result.logits is None


def test_scores_that_the_sigmoid_makes_equal_are_said(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", CLASS, tmp_path / "tiny", num_labels=1)
    model = opened(folder)
    with torch.no_grad():
        head = model.head(CLASS)
        head.model.classifier.weight.mul_(1_000)
        head.model.classifier.bias.fill_(100_000)
    rows = [one for one, _ in SHORT], [other for _, other in SHORT], SHORT_LABELS
    result = thresholds(model, threshold_options(rows, {})).result
    assert len(result.curve.thresholds) == 1
    assert any(notice.startswith("6 of 6 scores equal another one although") for notice in result.notices)
    by_logit = thresholds(model, threshold_options(rows, {"threshold_of": "logit"})).result
    assert len(by_logit.curve.thresholds) == len(set(by_logit.scores.tolist())) > 1
    assert not any("equal another one" in notice for notice in by_logit.notices)


@pytest.mark.parametrize(
    ("gold", "cut", "expected"),
    [
        ([0, 1, 1, 0], None, [0, 1, 1, 0]),
        ([0, 5, 2, 3], None, [0, 1, 0, 1]),
        ([-1, 1, 1, -1], None, [0, 1, 1, 0]),
        ([0, 5, 2, 3], 2.0, [0, 1, 1, 1]),
        ([0.2, 0.9, 0.4, 0.5], 0.5, [0, 1, 0, 1]),
    ],
)
def test_a_cut_makes_labels_of_similarities(gold: list[float], cut: float | None, expected: list[int]) -> None:
    found = gold_labels(np.array(gold, dtype=np.float64), cut)
    assert found.labels.astype(int).tolist() == expected
    assert bool(found.notices) == (cut is None and set(gold) != {0, 1})


@pytest.mark.parametrize(
    ("pairs", "labels", "values", "message"),
    [
        (PAIRS, [1] * 24, {}, "All 24 pairs have the label 1,"),
        (PAIRS, [0] * 24, {}, "All 24 pairs have the label 0,"),
        (PAIRS, LABELS, {"cut": 2}, "All 24 pairs are negative with cut=2"),
        (PAIRS, LABELS, {"cut": float("nan")}, "no cut='nan'"),
        (PAIRS, ["good"] * 24, {}, "A label is no number"),
        (PAIRS, [float("nan"), *LABELS[1:]], {}, "A label is NaN"),
        (PAIRS[:3], [1, 0, 1], {}, "at least 4 labelled pairs, and 3 came"),
        ([], [], {}, "at least 4|Pairs are given as"),
        (PAIRS * 500, LABELS * 500, {}, "There are 12,000 pairs; at most 10,000"),
        (PAIRS, LABELS[1:], {}, "24 pairs came with labels of the shape"),
        ([("a", "b", "c")] * 4, [1, 0, 1, 0], {}, "Pair 1 is not two texts"),
        ([("a", " ")] * 4, [1, 0, 1, 0], {}, "Pair 1 has a blank text"),
        (PAIRS, LABELS, {"precision": 1.5}, "no precision='1.5'"),
        (PAIRS, LABELS, {"precision": 0}, "above 0, up to 1"),
        (PAIRS, LABELS, {"scored_by": "magic"}, "no scored_by=magic"),
        (PAIRS, LABELS, {"scored_by": "head"}, "no such head"),
        (PAIRS, LABELS, {"threshold_of": "logit"}, "leave out threshold_of"),
        (PAIRS, LABELS, {"label": "entailment"}, "leave out label"),
    ],
)
def test_what_has_no_threshold_is_refused_in_a_sentence(
    pairs: list[Any], labels: list[Any], values: dict[str, Any], message: str
) -> None:
    with pytest.raises(BertvizError, match=message) as refused:
        open_model(MODEL).thresholds(pairs, labels, **values)
    assert "\n" not in str(refused.value)


def test_a_model_that_gives_nan_is_refused(tmp_path: Path) -> None:
    model = opened(save_tiny_head("bert", CLASS, tmp_path / "tiny", num_labels=1))
    with torch.no_grad():
        model.head(CLASS).model.classifier.bias.fill_(float("nan"))
    rows = [one for one, _ in SHORT], [other for _, other in SHORT], SHORT_LABELS
    with pytest.raises(BertvizError, match="NaN or infinity"):
        thresholds(model, threshold_options(rows, {}))


def test_pairs_on_the_wrong_side_come_first() -> None:
    result = open_model(MODEL).thresholds(PAIRS, LABELS)
    data, threshold = result.data, result.best.threshold
    wrong = [place for place in range(24) if bool(LABELS[place]) != (data.scores[place] >= threshold)]
    assert data.worst[: len(wrong)].tolist() == sorted(wrong, key=lambda place: -abs(data.scores[place] - threshold))
    assert len(wrong) == result.best.false_positives + result.best.false_negatives


def test_of_several_best_thresholds_the_highest_is_chosen() -> None:
    curve = threshold_curve(np.arange(4.0), np.array([True, False, False, True]))
    assert curve.f1[0] == curve.f1[3] == curve.f1.max() == pytest.approx(2 / 3)
    assert best_place(curve) == 3


def test_a_precision_that_is_lost_again_above_its_lowest_threshold_is_said() -> None:
    result = open_model(MODEL).thresholds(PAIRS, LABELS).data
    for labels, target, falls in (([0, 1, 0, 1], 0.6, True), ([0, 1, 0, 1], 0.9, False)):
        curve = threshold_curve(np.arange(4.0), np.array(labels, dtype=bool))
        place = reaching_place(curve, target)
        assert place is not None
        made = replace(result, curve=curve, target=target, reaching=threshold_at(curve, place, 4))
        assert bool((curve.precision[place:] < target).any()) == falls
        assert ("fall below it again" in reaching_words(made)) == falls
        assert f"above {place - 1}.0000" in reaching_words(made)
