"""Probes: scikit-learn fitted directly on independent vectors, chance for shuffled labels, a planted signal."""

from functools import cache

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from bertviz_core.errors import SupersededError
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.probing.reading import example_set
from bertviz_core.predictions.probing.results import LabelledTexts, ProbeScores
from bertviz_core.predictions.probing.scores import fitted_probe, layer_vectors, probe_scores
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer

SEED = 3


@cache
def bundled() -> tuple[LoadedModel, TextTokenizer]:
    settings = Settings.from_environment()
    source = resolve("all-MiniLM-L6-v2", settings)
    return load_model(source, settings), load_tokenizer(source, settings)


@cache
def some() -> LabelledTexts:
    """Every second text of three classes of different sizes."""
    examples = example_set()
    chosen = [at for at in range(0, 132, 2) if at > 20]
    return LabelledTexts(
        "some", tuple(examples.texts[at] for at in chosen), tuple(examples.labels[at] for at in chosen)
    )


@cache
def vectors() -> np.ndarray:
    return layer_vectors(*bundled(), some().texts, "mean")


def outside(layer: int) -> np.ndarray:
    """Mean-pooled states from transformers only, one text at a time."""
    loaded, tokenizer = bundled()
    rows = []
    with torch.no_grad():
        for text in some().texts:
            inputs = tokenizer.tokenizer(text, return_tensors="pt")
            rows.append(loaded.model(**inputs, output_hidden_states=True).hidden_states[layer][0].mean(dim=0).numpy())
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize("layer", [0, 4])
def test_scores_are_those_of_scikit_learn_on_vectors_computed_outside(layer: int) -> None:
    own, gold = outside(layer), np.array(some().labels)
    np.testing.assert_allclose(vectors()[layer], own, atol=1e-5)
    scores = probe_scores(bundled()[0], some(), "mean", vectors(), SEED)
    expected = []
    for fitted, held_out in StratifiedKFold(5, shuffle=True, random_state=SEED).split(own, gold):
        scaler = StandardScaler().fit(own[fitted])
        model = LogisticRegression(max_iter=1000).fit(scaler.transform(own[fitted]), gold[fitted])
        answers = model.predict(scaler.transform(own[held_out]))
        expected.append((accuracy_score(gold[held_out], answers), f1_score(gold[held_out], answers, average="macro")))
    np.testing.assert_allclose(scores.accuracy[layer], np.array(expected)[:, 0], atol=1e-12)
    np.testing.assert_allclose(scores.macro_f1[layer], np.array(expected)[:, 1], atol=1e-12)
    probe = fitted_probe(some(), scores, vectors(), layer)
    scaler = StandardScaler().fit(own)
    whole = LogisticRegression(max_iter=1000).fit(scaler.transform(own), gold)
    logits = vectors()[layer] @ probe.weight.T + probe.bias
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax, whole.predict_proba(scaler.transform(own)), atol=2e-3)
    assert scores.majority == max(np.unique(gold, return_counts=True)[1]) / len(gold)


def test_of_two_classes_the_probabilities_are_scikit_learns_too() -> None:
    rows = np.random.default_rng(0).normal(size=(1, 40, 6)).astype(np.float32)
    labels = tuple("ab"[int(value > 0)] for value in rows[0, :, 0])
    pair = LabelledTexts("pair", tuple(map(str, range(40))), labels)
    loaded = bundled()[0]
    scores = probe_scores(loaded, pair, "pooler" if loaded.has_pooler else "mean", rows, 0)
    scores_layer = scores.layers[0]
    probe = fitted_probe(pair, scores, rows, scores_layer)
    scaler = StandardScaler().fit(rows[0])
    whole = LogisticRegression(max_iter=1000).fit(scaler.transform(rows[0]), labels)
    logits = rows[0] @ probe.weight.T + probe.bias
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax, whole.predict_proba(scaler.transform(rows[0])), atol=1e-5)


def test_an_accuracy_is_the_share_of_right_answers_without_rounding() -> None:
    rows = np.random.default_rng(3).normal(size=(1, 30, 6)).astype(np.float32)
    pair = LabelledTexts("pair", tuple(map(str, range(30))), tuple("ab" * 15))
    scores = probe_scores(bundled()[0], pair, "mean", rows, 0)
    for shares in (scores.accuracy, scores.control_accuracy):  # of 6 held-out texts
        np.testing.assert_array_equal(shares, (shares * 6).round().astype(int) / 6)
        assert (shares % 0.5 != 0).any()


@pytest.mark.slow
def test_a_planted_signal_is_seen_from_its_layer_on_and_shuffled_labels_give_chance() -> None:
    draw = np.random.default_rng(7)
    labels = np.repeat(np.arange(4), 60)
    states = draw.normal(size=(7, 240, 24)).astype(np.float32)
    states[4:, np.arange(240), labels] += 4
    planted = LabelledTexts("planted", tuple(map(str, range(240))), tuple(map(str, labels)))
    scores = probe_scores(bundled()[0], planted, "mean", states)
    means, control = scores.accuracy.mean(axis=1), scores.control_accuracy.mean(axis=1)
    assert (means[:4] < 0.4).all()
    assert (means[4:] > 0.9).all()
    # With 240 texts at a chance of 1/4, deviations of more than 4 standard deviations do not occur by luck.
    assert (np.abs(control - 0.25) < 4 * (0.25 * 0.75 / 240) ** 0.5).all()
    assert (scores.selectivity[4:] > 0.6).all()
    assert scores.best >= 4


def test_intermediate_scores_are_the_first_layers_of_the_whole() -> None:
    partly: list[ProbeScores] = []
    whole = probe_scores(bundled()[0], some(), "mean", vectors()[:3, :, :8], SEED, on_partial=partly.append)
    assert [each.layers for each in partly] == [(0,), (0, 1)]
    for scores in partly:
        for name in ("accuracy", "macro_f1", "control_accuracy"):
            np.testing.assert_array_equal(getattr(scores, name), getattr(whole, name)[: len(scores.layers)])


@pytest.mark.slow
def test_a_seed_gives_the_same_numbers_and_the_work_can_be_ended() -> None:
    first, again = (probe_scores(bundled()[0], some(), "mean", vectors()[:1], SEED) for _ in range(2))
    np.testing.assert_array_equal(first.control_accuracy, again.control_accuracy)

    def stop(done: int, total: int) -> None:
        assert total == 2 * 5 * 1
        raise SupersededError

    with pytest.raises(SupersededError):
        probe_scores(bundled()[0], some(), "mean", vectors()[:1], SEED, stop)
