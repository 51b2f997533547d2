"""Clusters equal scikit-learn's if all rows are fitted; other rows belong to the nearest centre."""

from typing import Any

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from bertviz_core.corpus.analysis import clusters as clusters_module
from bertviz_core.corpus.analysis.clusters import corpus_clusters
from bertviz_core.corpus.analysis.results import CorpusClusters
from bertviz_core.corpus.analysis.row_samples import sampled_rows
from bertviz_core.errors import CorpusError, SupersededError

SIZES, DIMENSIONS = (90, 60, 45), 11
ROWS = sum(SIZES)


@pytest.fixture
def vectors() -> Any:
    """Three groups of directions with different norms."""
    rng = np.random.default_rng(0)
    middles = np.repeat(np.eye(3, DIMENSIONS), SIZES, axis=0)
    made = middles + rng.normal(scale=0.06, size=middles.shape)
    return (made * rng.uniform(0.5, 4, (ROWS, 1))).astype(np.float16)


def units(vectors: Any) -> Any:
    exact = vectors.astype(np.float64)
    return exact / np.linalg.norm(exact, axis=1, keepdims=True)


def test_k_means_is_that_of_scikit_learn(vectors: Any) -> None:
    found = corpus_clusters(vectors, "k-means", 4)
    expected = KMeans(4, n_init=3, random_state=0).fit_predict(units(vectors).astype(np.float32))
    assert adjusted_rand_score(expected, found.labels) == 1
    assert found.sizes.tolist() == sorted(np.bincount(expected).tolist(), reverse=True)
    np.testing.assert_array_equal(np.bincount(found.labels), found.sizes)
    assert found.fitted == ROWS
    assert "drawn" not in found.note


@pytest.mark.parametrize("seed", range(4))
def test_several_starts_of_k_means_are_those_of_scikit_learn(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spread = np.random.default_rng(1).standard_normal((130, DIMENSIONS)).astype(np.float32)
    monkeypatch.setattr(clusters_module, "MAX_FITTED", {"k-means": 110})
    partial: list[CorpusClusters] = []
    found = corpus_clusters(spread, "k-means", 7, seed=seed, on_partial=partial.append)
    sample = sampled_rows(130, 110, seed)
    fitted = units(spread)[sample].astype(np.float32)
    several, first = (KMeans(7, n_init=starts, random_state=seed).fit_predict(fitted) for starts in (3, 1))
    assert adjusted_rand_score(several, found.labels[sample]) == 1
    assert 1 <= len(partial) <= 2
    assert adjusted_rand_score(first, partial[0].labels[sample]) == 1
    assert partial[0].sizes.sum() == (partial[0].labels >= 0).sum() == 110
    assert found.sizes.sum() == 130


def test_hdbscan_is_that_of_scikit_learn(vectors: Any) -> None:
    vectors[::20] = np.random.default_rng(5).standard_normal(vectors[::20].shape)
    found = corpus_clusters(vectors, "HDBSCAN", least=15)
    expected = HDBSCAN(min_cluster_size=15, copy=True).fit_predict(units(vectors).astype(np.float32))
    assert (expected < 0).any()
    np.testing.assert_array_equal(found.labels < 0, expected < 0)
    assert adjusted_rand_score(expected, found.labels) == 1
    assert f"{(expected < 0).mean():.1%}" in found.note


@pytest.mark.parametrize("method", ["k-means", "HDBSCAN"])
def test_typical_rows_are_those_nearest_to_the_centre(vectors: Any, method: Any) -> None:
    found = corpus_clusters(vectors, method, count=3, least=10)
    for cluster in range(3):
        members = np.flatnonzero(found.labels == cluster)
        centre = units(vectors)[members].mean(axis=0)
        centre /= np.linalg.norm(centre)
        np.testing.assert_allclose(found.centres[cluster], centre, atol=1e-5)
        cosines = units(vectors)[members] @ centre
        nearest = members[np.argsort(-cosines, kind="stable")][:5]
        np.testing.assert_array_equal(found.typical[cluster], nearest)
        np.testing.assert_allclose(found.typical_scores[cluster], np.sort(cosines)[::-1][:5], atol=1e-5)


@pytest.mark.parametrize("method", ["k-means", "HDBSCAN"])
def test_rows_beyond_the_sample_go_to_the_nearest_centre(
    vectors: Any, method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters_module, "MAX_FITTED", {"k-means": 100, "HDBSCAN": 100})
    found = corpus_clusters(vectors, method, count=3, least=10, seed=2)
    assert found.fitted == 100
    assert "100 of 195 rows, drawn by seed 2" in found.note
    inside = found.labels >= 0
    assert inside.mean() > (0.99 if method == "k-means" else 0.85)
    groups = np.repeat(np.arange(3), SIZES)
    assert adjusted_rand_score(groups[inside], found.labels[inside]) == 1
    far = np.vstack([vectors, np.full((4, DIMENSIONS), -1, dtype=np.float16)])
    labels = corpus_clusters(far, method, count=3, least=10, seed=2).labels
    assert (labels[-1] < 0) == (method == "HDBSCAN")


def test_a_cluster_of_few_has_few_examples() -> None:
    vectors = np.vstack([np.tile([1.0, 0.0, 0.0], (8, 1)), [[0.0, 1.0, 0.0]]]).astype(np.float32)
    found = corpus_clusters(vectors, "k-means", 2)
    assert found.sizes.tolist() == [8, 1]
    assert found.typical.tolist() == [[0, 1, 2, 3, 4], [8, -1, -1, -1, -1]]
    assert np.isnan(found.typical_scores[1, 1:]).all()


def test_no_cluster_may_be_there() -> None:
    found = corpus_clusters(np.eye(9, dtype=np.float32), "HDBSCAN", least=5)
    assert (found.labels == -1).all()
    assert found.centres.shape == (0, 9)
    assert found.typical.shape == (0, 5)


@pytest.mark.parametrize("number", [1, 196, 201])
def test_a_count_that_is_not_offered_is_refused(vectors: Any, number: int) -> None:
    with pytest.raises(CorpusError, match="give 2 to 195"):
        corpus_clusters(vectors, "k-means", number)
    with pytest.raises(CorpusError, match="the least of a cluster"):
        corpus_clusters(vectors, "HDBSCAN", least=number)


def test_it_can_be_left(vectors: Any) -> None:
    def leave(done: int, total: int) -> None:
        if done:
            raise SupersededError

    with pytest.raises(SupersededError):
        corpus_clusters(vectors, progress=leave, count=3)


def test_more_clusters_than_distinct_rows_are_said_to_be_fewer_without_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    repeated = np.tile(np.eye(3, DIMENSIONS, dtype=np.float32), (4, 1))
    found = corpus_clusters(repeated, "k-means", 5)
    assert found.sizes.tolist() == [4, 4, 4]
    assert "There are 3 clusters instead of the 5 that were requested" in found.note
    assert not recwarn.list
    assert "requested" not in corpus_clusters(repeated, "k-means", 3).note
