"""Calibration against scikit-learn, SciPy and the definitions by hand: scores, bins, temperature, coverage, refusals.

Covers `bertviz_core/predictions/probing/calibration.py`, `bertviz_core/questions/predictions/calibration.py`.
"""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from scipy.stats import binomtest, ttest_1samp
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.predictions.calibration import temperature_words
from bertviz_core.predictions.probing import calibration as computation
from bertviz_core.predictions.probing.calibration import calibration, fitted_temperature
from bertviz_core.predictions.probing.gold import gold_scores
from bertviz_core.predictions.probing.results import CalibrationBins, TextPredictions
from bertviz_core.predictions.probing.table import with_class_names
from bertviz_core.questions.tables.labelled.calibration import sure_words
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.labels import NAMES, named

CLASS = "sequence-classification"
SEVERAL = {"problem_type": "multi_label_classification"}
TEXTS = ["I love my pet python.", "the river bank", "my pet", "a river, my bank", "the python language", "my love"]
CELLS = ["entailment", "neutral", "2", "neutral", "entailment", "contradiction"]


def predictions(logits: np.ndarray, several: bool = False) -> TextPredictions:
    """Answers of a head with these logits, whose labels are a, b, c ..."""
    names = tuple("abcdefgh"[: logits.shape[1]])
    probabilities = expit(logits) if several else softmax(logits, axis=1)
    texts = tuple(f"text {row}" for row in range(len(logits)))
    none = np.zeros(len(logits), dtype=np.float32)
    answers = tuple(names[place] for place in logits.argmax(axis=1).tolist())
    labels = () if several else names
    return TextPredictions("made", CLASS, texts, None, answers, none, labels, probabilities, logits, names)


def made(classes: int, rows: int = 212) -> tuple[np.ndarray, np.ndarray]:
    """Logits, some of which are equal, and the classes of which they are too sure."""
    generator = np.random.default_rng(classes)
    logits = generator.normal(size=(rows, classes)) * 3
    logits[:20] = logits[20:40]
    drawn = [generator.choice(classes, p=row) for row in softmax(logits / 2.2, axis=1)]
    return logits.astype(np.float32), np.array(drawn)


def error_by_hand(edges: np.ndarray, probability: np.ndarray, happened: np.ndarray) -> float:
    """ECE over the bins between edges, by its definition."""
    total = 0.0
    for place, (low, high) in enumerate(pairwise(edges)):
        inside = (probability > low if place else probability >= low) & (probability <= high)
        if inside.any():
            total += inside.mean() * abs(happened[inside].mean() - probability[inside].mean())
    return total


def check_bins(found: CalibrationBins, probability: np.ndarray, happened: np.ndarray, count: int, how: str) -> None:
    share, mean = calibration_curve(happened, probability, n_bins=count, strategy=how)
    np.testing.assert_allclose(found.share, share, atol=1e-12)
    np.testing.assert_allclose(found.probability, mean, atol=1e-12)
    assert found.counts.sum() == len(probability)
    for place, texts in enumerate(found.counts.tolist()):
        interval = binomtest(round(found.share[place] * texts), texts).proportion_ci(method="wilson")
        np.testing.assert_allclose(found.interval[:, place], (interval.low, interval.high), atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("count", [5, 15])
def test_scores_of_classes_are_those_of_scikit_learn(classes: int, count: int) -> None:
    logits, gold = made(classes)
    found = calibration(predictions(logits), ["abcdefgh"[each] for each in gold], count)
    (label,), every = found.labels, softmax(logits.astype(np.float64), axis=1)
    right, sure = logits.argmax(axis=1) == gold, every.max(axis=1)
    columns = {"labels": range(classes)}
    brier = brier_score_loss(gold, every[:, 1]) if classes == 2 else brier_score_loss(gold, every, **columns)
    np.testing.assert_allclose(found.scores.brier, brier, atol=1e-12)
    np.testing.assert_allclose(found.scores.log_loss, log_loss(gold, every, **columns), atol=1e-12)
    assert found.scores.accuracy == right.mean()
    check_bins(label.equal_width, sure, right, count, "uniform")
    check_bins(label.equal_mass, sure, right, count, "quantile")
    even = np.linspace(0, 1, count + 1)
    np.testing.assert_allclose(found.scores.ece, error_by_hand(even, sure, right), atol=1e-12)
    by_mass = error_by_hand(np.quantile(sure, even), sure, right)
    np.testing.assert_allclose(found.scores.ece_equal_mass, by_mass, atol=1e-12)


def test_names_of_a_reader_stand_for_the_labels_of_a_multi_label_head() -> None:
    logits = np.array([[2.0, 1.0], [-1.0, 3.0], [-2.0, -1.0]], dtype=np.float32)
    named = with_class_names(predictions(logits, several=True), ("joy", "fear"))
    assert named.answers == ("joy, fear", "fear", "")
    assert (named.labels, named.outputs, named.own_names["fear"]) == ((), ("joy", "fear"), "b")
    assert gold_scores(named, ["fear, joy", "joy", "none"]).mistakes.tolist() == [1]
    for names in (("joy",), ("joy", "joy")):
        with pytest.raises(TextError, match="has the classes 'a', 'b', and 1 different name came"):
            with_class_names(predictions(logits, several=True), names)


def test_each_label_of_a_multi_label_head_is_judged_alone() -> None:
    generator = np.random.default_rng(5)
    logits = np.round(generator.normal(size=(173, 3)) * 2, 1).astype(np.float32)
    has = generator.random((173, 3)) < expit(logits - 0.7)
    cells = [", ".join("abc"[place] for place in np.flatnonzero(row)) or "[]" for row in has]
    found = calibration(predictions(logits, several=True), cells)
    for place, label in enumerate(found.labels):
        probability, true = expit(logits[:, place].astype(np.float64)), has[:, place]
        np.testing.assert_allclose(label.scores.brier, brier_score_loss(true, probability), atol=1e-12)
        np.testing.assert_allclose(label.scores.log_loss, log_loss(true, probability), atol=1e-12)
        assert label.scores.accuracy == ((probability >= 0.5) == true).mean()
        check_bins(label.equal_width, probability, true, 15, "uniform")
        check_bins(label.equal_mass, probability, true, 15, "quantile")
    assert [label.label for label in found.labels] == ["a", "b", "c"]
    np.testing.assert_allclose(found.scores.brier, np.mean([each.scores.brier for each in found.labels]))


@pytest.mark.parametrize("cell", ["a, c", "a;c", "['a', 'c']", "[0, 2]", "A|C", "0,2"])
def test_gold_labels_of_several_are_read_in_every_spelling(cell: str) -> None:
    logits = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    others = ["0", "1", "0,1", "2", "1"] if "0" in cell else ["a", "b", "a,b", "c", "b"]
    found = calibration(predictions(logits, several=True), [cell, *others])
    expected = calibration(predictions(logits, several=True), ["a,c", "a", "b", "a,b", "c", "b"])
    assert found.scores == expected.scores


@pytest.mark.parametrize("classes", [2, 5])
def test_the_temperature_has_the_least_log_loss_of_one_half_and_is_tried_on_the_other(classes: int) -> None:
    logits, gold = made(classes)
    found = calibration(predictions(logits), ["abcdefgh"[each] for each in gold]).labels[0]
    fitted, tried = np.array_split(np.random.default_rng(0).permutation(len(gold)), 2)

    def loss(temperature: float, rows: np.ndarray = fitted) -> float:
        logs = log_softmax(logits[rows].astype(np.float64) / temperature, axis=1)
        return float(-logs[np.arange(len(rows)), gold[rows]].mean())

    best = minimize_scalar(loss, bounds=(0.1, 20), method="bounded", options={"xatol": 1e-9})
    assert found.temperature == pytest.approx(best.x, abs=1e-6)
    grid = np.linspace(0.2, 8, 400)
    assert loss(found.temperature) <= min(map(loss, grid)) + 1e-15
    assert found.before.log_loss == pytest.approx(loss(1.0, tried), abs=1e-12)
    assert found.after is not None
    assert found.after.log_loss == pytest.approx(loss(found.temperature, tried), abs=1e-12)
    assert found.after.accuracy == found.before.accuracy
    assert found.after.texts == len(tried)


def test_no_temperature_is_fitted_where_none_has_the_least_loss() -> None:
    logits = np.array([[3.0, 0.0], [2.0, -1.0], [-1.0, 4.0]])
    assert fitted_temperature(logits, np.array([0, 0, 1])) is None
    assert fitted_temperature(logits, np.array([1, 1, 0])) is None
    assert fitted_temperature(logits, np.array([0, 1, 1])) is not None


def test_the_coverage_has_the_accuracy_of_the_most_confident() -> None:
    logits, gold = made(3)
    label = calibration(predictions(logits), ["abc"[each] for each in gold]).labels[0]
    sure, right = softmax(logits.astype(np.float64), axis=1).max(axis=1), logits.argmax(axis=1) == gold
    for share, accuracy, least in zip(label.coverage, label.covered_accuracy, label.least_confidence, strict=True):
        answered = sure >= least - 1e-12
        assert share == pytest.approx(answered.mean())
        assert accuracy == pytest.approx(right[answered].mean())
    assert label.coverage[-1] == 1
    assert len(label.coverage) < len(gold)  # equally confident answers come at once


def test_the_log_loss_is_finite_where_a_probability_is_rounded_to_0() -> None:
    logits = np.array([[200.0, -200.0]] * 5 + [[-3.0, 3.0]], dtype=np.float32)
    found = calibration(predictions(logits), ["a", "a", "b", "a", "a", "b"])
    assert found.scores.log_loss == pytest.approx((400 + np.log1p(np.exp(-6))) / 6)


def own_probabilities(folder: Path, texts: list[str]) -> np.ndarray:
    """Logits of transformers' own class, one text at a time."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        return np.concatenate([model(**tokenizer(text, return_tensors="pt")).logits.double().numpy() for text in texts])


def test_the_method_gives_the_scores_of_the_probabilities_of_transformers(tmp_path: Path) -> None:
    first = save_tiny_head("bert", CLASS, tmp_path / "first", **named(*NAMES))
    second = save_tiny_head("distilbert", CLASS, tmp_path / "second", **named(*reversed(NAMES)))
    gold = ["entailment", "neutral", "Contradiction", "neutral", "entailment", "contradiction"]
    found = open_model(first).calibration(TEXTS, gold, other=second, bins=4)
    assert found.other is not None
    for folder, scores, names in ((first, found.scores, NAMES), (second, found.other.scores, NAMES[::-1])):
        every = softmax(own_probabilities(folder, TEXTS), axis=1)
        places = [names.index(each.lower()) for each in gold]
        assert scores.brier == pytest.approx(brier_score_loss(places, every, labels=range(3)), abs=1e-6)
        assert scores.log_loss == pytest.approx(log_loss(places, every, labels=range(3)), abs=1e-6)
    assert found.to_json()["other"]["model"] == found.other.model
    assert len(found.to_pandas()) == 6


def test_probes_are_calibrated_by_their_probabilities_of_texts_they_were_not_fitted_on(tmp_path: Path) -> None:
    folders = [save_tiny_head(name, "masked-lm", tmp_path / name) for name in ("bert", "roberta")]
    texts = [f"{text} {word}" for text in TEXTS for word in ("is my love", "or a river", "language bank")]
    gold = [("Sport", "weather", "7")[(place + place // 6) % 3] for place in range(len(texts))]
    found = open_model(folders[0]).calibration(
        [*texts, "alone"], [*gold, "single"], other=folders[1], probabilities_from="probe", pooling="max", seed=3
    )
    assert found.other is not None
    names = sorted(set(gold))
    for folder, side in ((folders[0], found.data), (folders[1], found.other)):
        vectors = open_model(folder).sentences(texts, pooling="max").vectors.astype(np.float64)
        places = [names.index(label) for label in gold]
        probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
        parts = StratifiedKFold(5, shuffle=True, random_state=3)
        every = cross_val_predict(probe, vectors, places, cv=parts, method="predict_proba")
        assert side.scores.log_loss == pytest.approx(log_loss(places, every, labels=range(3)), abs=1e-4)
        assert side.scores.brier == pytest.approx(brier_score_loss(places, every, labels=range(3)), abs=1e-4)
        assert side.scores.accuracy == pytest.approx((every.argmax(axis=1) == places).mean())
        assert side.model.endswith(" + probe")
    assert "('single')" in " ".join(found.data.notices)
    with pytest.raises(BertvizError, match=r"A probe reads single texts.*\(probabilities_from=head\)"):
        open_model(folders[0]).calibration(texts, gold, pair="my", probabilities_from="probe")
    with pytest.raises(BertvizError, match="There is no probabilities_from=magic; choose head, probe"):
        open_model(folders[0]).calibration(texts, gold, probabilities_from="magic")


def test_a_multi_label_head_is_calibrated_by_label(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", CLASS, tmp_path / "several", **named(*NAMES), **SEVERAL)
    cells = ["neutral, entailment", "none", "contradiction", "neutral", "entailment", ""]
    found = open_model(folder).calibration(TEXTS, cells)
    probability = expit(own_probabilities(folder, TEXTS[:5]))
    for place, name in enumerate(NAMES):
        true = [name in cell for cell in cells[:5]]
        assert found.labels[place].scores.brier == pytest.approx(
            brier_score_loss(true, probability[:, place]), abs=1e-6
        )
    assert found.temperature is None
    assert "1 text without a gold label left out." in found.data.notices
    assert any(notice.startswith("Only one text has the gold label 'contradiction'") for notice in found.data.notices)


@pytest.mark.parametrize(
    ("labels", "values", "message"),
    [
        (["neutral"] * 6, {}, "All 6 texts have the gold label 'neutral'; give texts of at least two"),
        (["x"] * 5 + ["y"], {}, "No gold label .'x', 'y'. is a label of the task head; it has 'contradiction', "),
        ([""] * 6, {}, "No text has a gold label"),
        (
            ["neutral", "entailment", "x", "x", "", ""],
            {},
            "2 texts with a gold label of the task head; give at least 4",
        ),
        (["neutral"] * 5, {}, "texts is a list of 6 and gold one of 5"),
        (CELLS[:2] * 3, {"bins": 1}, "There is no bins='1' here; give 2 to 50"),
        (CELLS[:2] * 3, {"other": "all-MiniLM-L6-v2"}, "holds a base model .* and no task head"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_in_a_sentence(
    labels: list[str], values: dict[str, Any], message: str, tmp_path: Path
) -> None:
    model = open_model(save_tiny_head("bert", CLASS, tmp_path / "classes", **named(*NAMES)))
    with pytest.raises(BertvizError, match=message) as refused:
        model.calibration(TEXTS, labels, **values)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("task", "changes"), [(CLASS, {"num_labels": 1}), ("masked-lm", {}), ("token-classification", {})]
)
def test_a_head_without_classes_is_refused(task: str, changes: dict[str, Any], tmp_path: Path) -> None:
    model = open_model(save_tiny_head("bert", task, tmp_path / "other", **changes))
    with pytest.raises(BertvizError, match="gives no probability of a class, so there is nothing to calibrate"):
        model.calibration(TEXTS, ["1", "2", "1", "2", "1", "2"])


def test_blank_texts_are_refused_and_labels_of_no_class_are_left_out(tmp_path: Path) -> None:
    model = open_model(save_tiny_head("bert", CLASS, tmp_path / "classes", **named(*NAMES)))
    with pytest.raises(BertvizError, match="Text 2 is blank"):
        model.calibration([TEXTS[0], " ", *TEXTS[2:]], CELLS[:2] * 3)
    found = model.calibration(TEXTS, ["entailment", "neutral", "?", "neutral", "entailment", "contradiction"])
    assert found.scores.texts == 5
    about = " ".join(found.data.notices)
    assert (
        "1 text left out whose gold label the task head lacks ('?'): 'contradiction', 'entailment', 'neutral'." in about
    )
    assert "Only one text has the gold label 'contradiction', which tells little about it." in about


def test_of_a_long_list_a_sample_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computation, "MOST_TEXTS", 4)
    monkeypatch.setattr("bertviz_core.questions.predictions.calibration.MOST_TEXTS", 4)
    model = open_model(save_tiny_head("bert", CLASS, tmp_path / "classes", **named("a", "b", "c")))
    found = model.calibration(TEXTS, ["a", "b", "a", "b", "a", "b"])
    assert found.scores.texts == 4
    assert "A random sample of 4 of 6 texts is answered (seed 0)." in found.data.notices


@pytest.mark.parametrize(
    ("scale", "verdict"), [(1, "as sure as it is right"), (4, "too sure"), (0.1, "not sure enough")]
)
def test_the_first_sentence_compares_the_mean_probability_with_the_share_that_is_right(
    scale: float, verdict: str
) -> None:
    logits, gold = made(3)
    predicted = predictions(logits / 2.2 * scale)
    words = sure_words(calibration(predicted, ["abc"[place] for place in gold]))
    probability, right = softmax(predicted.logits, axis=1).max(axis=1).mean(), (logits.argmax(axis=1) == gold).mean()
    assert f" is {verdict}" in words
    assert f"probability of its answers is {probability:.3f}, and {right:.3f} of" in words


def test_how_sure_right_and_wrong_answers_are_is_their_mean_probability() -> None:
    logits = np.log(np.array([[0.9, 0.1], [0.7, 0.3], [0.6, 0.4], [0.2, 0.8], [0.6, 0.4]]))
    words = sure_words(calibration(predictions(logits), ["a", "b", "a", "b", "b"]))  # right: 0.9, 0.6, 0.8
    assert "the 2 wrong answers have 0.650 on average, the 3 right ones 0.767" in words


def test_a_temperature_that_raises_the_log_loss_of_the_other_half_does_not_help() -> None:
    logits, gold = made(3, 1000)
    label = calibration(predictions(logits), ["abc"[place] for place in gold]).labels[0]
    assert "A temperature helps: T = " in temperature_words(label)
    assert "fitted on a random half of 500 texts" in temperature_words(label)
    assert temperature_words(replace(label, change=(0.1, 0.2))).startswith("No temperature helps")
    unclear = temperature_words(replace(label, change=(-0.1, 0.2)))
    assert unclear.startswith("These texts do not show that a temperature helps: ")
    assert "log loss, −0.100 to 0.200, contains 0" in unclear
    assert temperature_words(replace(label, temperature=None)).startswith("No temperature helps")


def test_the_change_of_the_log_loss_has_the_t_interval_of_scipy() -> None:
    logits, gold = made(3)
    label = calibration(predictions(logits), ["abc"[place] for place in gold]).labels[0]
    assert label.temperature is not None
    assert label.change is not None
    tried = np.array_split(np.random.default_rng(0).permutation(len(gold)), 2)[1]
    logs = [log_softmax(logits[tried].astype(float) / by, axis=1) for by in (1.0, label.temperature)]
    before, after = (-each[np.arange(len(tried)), gold[tried]] for each in logs)
    expected = ttest_1samp(after - before, 0).confidence_interval(0.95)
    np.testing.assert_allclose(label.change, (expected.low, expected.high), rtol=1e-9)


def test_gold_labels_that_are_places_are_named_with_their_classes() -> None:
    logits, gold = made(3)
    notices = calibration(predictions(logits), [str(place) for place in gold]).notices
    assert notices == ("The gold labels are read as the classes' places: 0 is 'a', 1 is 'b', 2 is 'c'.",)
