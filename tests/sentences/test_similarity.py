"""Similarity of vectors: properties on arrays; results by blocks equal those of the whole."""

from typing import Any

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import cdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.decomposition import PCA

from bertviz_core.errors import SupersededError, UnsupportedModelError
from bertviz_core.sentences import similarity
from bertviz_core.sentences.results import MEASURES, Measure
from bertviz_core.sentences.similarity import (
    block_summary,
    closest_pairs,
    cluster_order,
    nearest,
    sentence_map,
    similarity_matrix,
)

COUNT, DIMENSIONS = 23, 7


@pytest.fixture
def vectors() -> Any:
    return np.random.default_rng(0).normal(size=(COUNT, DIMENSIONS)).astype(np.float32)


def definition(vectors: Any, measure: Measure) -> Any:
    """The matrix by SciPy's own distances, in float64."""
    wide = vectors.astype(np.float64)
    if measure == "dot":
        return np.array([[float(a @ b) for b in wide] for a in wide])
    found = cdist(wide, wide, measure)
    return 1 - found if measure == "cosine" else found


@pytest.mark.parametrize("measure", MEASURES)
def test_the_matrix_is_symmetric_and_by_definition(vectors: Any, measure: Measure) -> None:
    found = similarity_matrix(vectors, measure)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, definition(vectors, measure), atol=1e-5)


def test_the_cosine_is_at_most_1_and_1_on_the_diagonal(vectors: Any) -> None:
    found = similarity_matrix(np.concatenate((vectors, vectors * 1e20, vectors * 1e-20, -vectors)))
    assert np.abs(found).max() == 1
    np.testing.assert_array_equal(np.diag(found), 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("broken", [np.nan, np.inf])
@pytest.mark.parametrize("measure", MEASURES)
def test_a_vector_that_is_not_finite_has_no_similarity_to_itself(vectors: Any, measure: Measure, broken: float) -> None:
    expected = similarity_matrix(vectors, measure)
    vectors[3, 1] = broken
    found = similarity_matrix(vectors, measure)
    assert not np.isfinite(found[3]).any()
    assert not np.isfinite(found[:, 3]).any()
    others = np.arange(COUNT) != 3
    np.testing.assert_array_equal(found[others][:, others], expected[others][:, others])


@pytest.mark.parametrize("measure", MEASURES)
def test_a_zero_vector_has_cosine_0_and_no_nan(vectors: Any, measure: Measure) -> None:
    vectors[3] = 0
    found = similarity_matrix(vectors, measure)
    assert np.isfinite(found).all()
    if measure == "cosine":
        assert not found[3].any()
        assert np.delete(np.diag(found), 3).tolist() == [1] * (COUNT - 1)
    assert np.isfinite(nearest(vectors[3], vectors, 4, measure).score).all()
    assert np.isfinite(closest_pairs(vectors, 500, measure).score).all()
    assert np.isfinite(block_summary(vectors, 4).similarity).all()
    assert np.isfinite(cluster_order(similarity_matrix(vectors)).linkage).all()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("rows", [3, 8, 2048])
def test_closest_pairs_are_the_best_of_all_pairs(
    vectors: Any, measure: Measure, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "BLOCK_ROWS", rows)
    calls: list[tuple[int, int]] = []
    found = closest_pairs(vectors, 9, measure, lambda done, total: calls.append((done, total)))
    matrix = definition(vectors, measure)
    every = [(matrix[i, j], i, j) for i in range(COUNT) for j in range(i + 1, COUNT)]
    expected = sorted(every, key=lambda each: each[0] if measure == "euclidean" else -each[0])[:9]
    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == [pair[1:] for pair in expected]
    np.testing.assert_allclose(found.score, [pair[0] for pair in expected], atol=1e-5)
    assert calls[-1] == (COUNT, COUNT)


def test_more_pairs_than_there_are_gives_all(vectors: Any) -> None:
    assert len(closest_pairs(vectors[:5], 100).score) == 10
    assert len(closest_pairs(vectors[:1], 3).score) == 0
    assert len(closest_pairs(vectors, 0).score) == 0


def test_a_search_ends_when_it_is_superseded(vectors: Any) -> None:
    def stop(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        closest_pairs(vectors, 3, progress=stop)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_nearest_are_the_best_rows(vectors: Any, measure: Measure) -> None:
    found = nearest(vectors[4], vectors, 6, measure)
    row = definition(vectors, measure)[4]
    assert found.index.tolist() == np.argsort(row if measure == "euclidean" else -row)[:6].tolist()
    np.testing.assert_allclose(found.score, row[found.index], atol=1e-5)


def test_the_order_puts_groups_together_and_the_joins_are_average_linkage(vectors: Any) -> None:
    mixed = np.concatenate((vectors[:4] + 30, vectors[4:8] - 30))[[0, 4, 1, 5, 2, 6, 3, 7]]
    matrix = similarity_matrix(mixed)
    found = cluster_order(matrix)
    assert sorted(found.order.tolist()) == list(range(8))
    assert {frozenset((found.order[:4] % 2).tolist()), frozenset((found.order[4:] % 2).tolist())} == {
        frozenset({0}),
        frozenset({1}),
    }
    # The last merge of average linkage is the mean distance of the two groups.
    across = 1 - matrix[::2, 1::2]
    assert found.linkage[-1, 2] == pytest.approx(float(across.mean()), abs=1e-6)
    assert squareform(cophenet(found.linkage.astype(np.float64)))[0, 1] == pytest.approx(float(across.mean()), abs=1e-6)


def test_the_joins_are_those_of_scikit_learn(vectors: Any) -> None:
    matrix = similarity_matrix(vectors)
    own = AgglomerativeClustering(1, metric="precomputed", linkage="average", compute_distances=True)
    own.fit(np.clip(1 - matrix.astype(np.float64), 0, None))
    found = cluster_order(matrix).linkage
    np.testing.assert_allclose(found[:, 2], own.distances_, atol=1e-6)
    np.testing.assert_array_equal(np.sort(found[:, :2], axis=1), np.sort(own.children_, axis=1))


def test_the_map_is_scikit_learns_up_to_the_signs(vectors: Any) -> None:
    own = PCA(2, svd_solver="full").fit(vectors.astype(np.float64))
    found = sentence_map(vectors)
    np.testing.assert_allclose(found.explained, own.explained_variance_ratio_, atol=1e-6)
    np.testing.assert_allclose(np.abs(found.points), np.abs(own.transform(vectors)), atol=1e-4)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_sentences_have_an_order_too(vectors: Any, count: int) -> None:
    found = cluster_order(similarity_matrix(vectors[:count]))
    assert sorted(found.order.tolist()) == list(range(count))
    assert found.linkage.shape == (max(count - 1, 0), 4)


def test_too_many_sentences_are_not_clustered_one_by_one() -> None:
    with pytest.raises(ValueError, match="2001"):
        cluster_order(np.zeros((2001, 2001), dtype=np.float32))


@pytest.mark.parametrize("blocks", [1, 4, 23, 40])
def test_blocks_hold_the_mean_cosines_of_their_sentences(vectors: Any, blocks: int) -> None:
    found = block_summary(vectors, blocks)
    assert sorted(found.order.tolist()) == list(range(COUNT))
    assert found.sizes.sum() == COUNT
    assert len(found.sizes) == min(blocks, COUNT)
    assert found.sizes.max() - found.sizes.min() <= found.sizes.max() / 2 + 1
    matrix = definition(vectors, "cosine")
    parts = [found.order[start : start + size] for start, size in zip(found.starts, found.sizes, strict=True)]
    for i, first in enumerate(parts):
        assert found.examples[i] in first
        for j, second in enumerate(parts):
            cells = [matrix[a, b] for a in first for b in second if a != b]
            assert found.similarity[i, j] == pytest.approx(np.mean(cells) if cells else 1.0, abs=1e-5)


def test_the_map_is_an_orthogonal_projection_with_the_largest_variance(vectors: Any) -> None:
    found = sentence_map(vectors)
    assert found.explained is not None
    centred = vectors - vectors.mean(axis=0)
    singular = np.linalg.svd(centred.astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(found.explained, (singular**2 / (singular**2).sum())[:2], atol=1e-6)
    np.testing.assert_allclose((found.points**2).sum(axis=0), singular[:2] ** 2, rtol=1e-4)
    assert abs(float(found.points[:, 0] @ found.points[:, 1])) < 1e-3
    assert (np.linalg.norm(found.points, axis=1) <= np.linalg.norm(centred, axis=1) + 1e-5).all()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_map_of_few_or_equal_sentences(vectors: Any, count: int) -> None:
    assert np.isfinite(sentence_map(vectors[:count]).points).all()
    same = sentence_map(np.repeat(vectors[:1], count, axis=0))
    np.testing.assert_allclose(same.points, 0, atol=1e-5)


def test_what_has_no_place_in_a_plane_is_refused(vectors: Any) -> None:
    vectors[0, 0] = np.nan
    with pytest.raises(UnsupportedModelError, match="NaN"):
        sentence_map(vectors)
