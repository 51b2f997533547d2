"""A map by principal components equals scikit-learn's; UMAP is fitted on a sample, which is stated."""

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA

from bertviz_core.corpus.analysis import projection, row_samples
from bertviz_core.corpus.analysis.projection import corpus_map
from bertviz_core.errors import CorpusError, SupersededError, TextError
from bertviz_core.sentences.similarity import sentence_map

ROWS, DIMENSIONS = 517, 19


@pytest.fixture
def vectors() -> Any:
    rng = np.random.default_rng(0)
    return (rng.standard_normal((ROWS, DIMENSIONS)) * np.linspace(3, 0.2, DIMENSIONS) + 5).astype(np.float16)


@pytest.mark.parametrize("block", [10, 517, 16_384])
def test_components_are_those_of_scikit_learn(vectors: Any, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_samples, "BLOCK_ROWS", block)
    found = corpus_map(vectors)
    whole = vectors.astype(np.float64)
    fitted = PCA(2, svd_solver="full").fit(whole)
    signs = np.sign(fitted.components_[[0, 1], np.abs(fitted.components_).argmax(axis=1)])
    assert found.axes is not None
    assert found.explained is not None
    np.testing.assert_allclose(found.axes, fitted.components_ * signs[:, None], atol=1e-6)
    np.testing.assert_allclose(found.explained, fitted.explained_variance_ratio_, rtol=1e-6)
    np.testing.assert_allclose(found.points, fitted.transform(whole) * signs, atol=1e-5)
    assert (found.method, found.fitted) == ("pca", ROWS)
    assert f"({1 - fitted.explained_variance_ratio_.sum():.1%})" in found.note


def test_a_map_of_sentences_is_the_same(vectors: Any) -> None:
    ours, theirs = corpus_map(vectors), sentence_map(vectors.astype(np.float32))
    np.testing.assert_allclose(ours.points, theirs.points, atol=1e-5)
    assert ours.note == theirs.note


def test_a_mean_far_from_zero_costs_no_digits() -> None:
    rng = np.random.default_rng(1)
    near = rng.standard_normal((400, 5))
    far = (near + 3e4).astype(np.float32)
    expected = PCA(2, svd_solver="full").fit_transform(far.astype(np.float64))
    np.testing.assert_allclose(np.abs(corpus_map(far).points), np.abs(expected), atol=1e-3)


def test_one_row_and_equal_rows_have_a_place() -> None:
    for count in (1, 2, 9):
        found = corpus_map(np.ones((count, 3), dtype=np.float16))
        np.testing.assert_allclose(found.points, 0, atol=1e-6)


def test_progress_goes_over_all_rows_twice_and_can_end_it(vectors: Any) -> None:
    calls: list[tuple[int, int]] = []
    corpus_map(vectors, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(ROWS, 2 * ROWS), (2 * ROWS, 2 * ROWS)]

    def leave(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        corpus_map(vectors, progress=leave)


@pytest.mark.slow
def test_umap_is_fitted_on_a_sample_and_places_the_rest_near_their_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "MAX_UMAP_SENTENCES", 60)
    monkeypatch.setattr(projection, "UMAP_BLOCK_ROWS", 17)
    middles = np.repeat(np.eye(3, 8), 40, axis=0)
    vectors = (middles + np.random.default_rng(0).normal(scale=0.05, size=middles.shape)).astype(np.float32)
    found = corpus_map(vectors, "umap", seed=3)
    assert (found.fitted, found.explained, found.axes, found.method) == (60, None, None, "umap")
    assert "60 of 120 rows, drawn by seed 3" in found.note
    groups = found.points.reshape(3, 40, 2)
    centres = groups.mean(axis=1)
    nearest = np.linalg.norm(found.points[:, None] - centres, axis=-1).argmin(axis=1)
    assert (nearest == np.arange(120) // 40).mean() > 0.97
    np.testing.assert_array_equal(corpus_map(vectors, "umap", seed=3).points, found.points)


@pytest.mark.slow
def test_umap_of_few_rows_is_that_of_the_sentences_page() -> None:
    vectors = np.random.default_rng(2).standard_normal((30, 6)).astype(np.float32)
    found = corpus_map(vectors, "umap")
    np.testing.assert_array_equal(found.points, sentence_map(vectors, "umap").points)
    assert "seed" not in found.note
    with pytest.raises(TextError, match="these are 3"):
        corpus_map(vectors[:3], "umap")


def test_what_is_no_number_has_no_map(vectors: Any) -> None:
    vectors[100, 2] = np.inf
    with pytest.raises(CorpusError, match="row 100 holds NaN or infinity"):
        corpus_map(vectors)
