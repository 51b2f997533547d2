"""Ranges, neighbours and differences of two models equal those of NumPy, scikit-learn and the layer comparison."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

from bertviz_core.checkpoints.layer_similarity import layer_similarity
from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.sentences.results import off_diagonal
from bertviz_core.sentences.two_models import MOST_SENTENCES, evenly_chosen, gold_cosines, sentence_comparison

NAMES = ("one", "other")


def vectors(sentences: int, dimensions: int, seed: int, shift: float = 0.3) -> np.ndarray:
    return np.random.default_rng(seed).normal(shift, 1, (sentences, dimensions)).astype(np.float32)


@pytest.mark.parametrize(("count", "neighbours"), [(3, 1), (7, 3), (40, 10)])
def test_every_number_is_that_of_its_definition(count: int, neighbours: int) -> None:
    first, second = vectors(count, 6, 0), vectors(count, 9, 1)
    second[:, :6] += 2 * first
    found = sentence_comparison(NAMES, [f"s{place}" for place in range(count)], first, second, neighbours)
    expected = [cosine_similarity(each.astype(np.float64)) for each in (first, second)]
    assert found.first_cosines == pytest.approx(expected[0], abs=1e-6)
    assert found.second_cosines == pytest.approx(expected[1], abs=1e-6)
    assert found.difference == pytest.approx(expected[1] - expected[0], abs=1e-6)
    for cosines, one in zip(expected, (found.first_range, found.second_range), strict=True):
        pairs = [cosines[row, column] for row in range(count) for column in range(row)]
        ends = np.percentile(pairs, [5, 95])
        assert (one.mean, one.low, one.high) == pytest.approx((np.mean(pairs), *ends), abs=1e-6)
        assert len(pairs) == len(off_diagonal(cosines))
    near = [NearestNeighbors(n_neighbors=neighbours, metric="cosine").fit(v).kneighbors()[1] for v in (first, second)]
    assert found.first_nearest.tolist() == near[0][:, 0].tolist()
    assert found.second_nearest.tolist() == near[1][:, 0].tolist()
    shared = [len({*one} & {*other}) / neighbours for one, other in zip(*near, strict=True)]
    assert found.shared == pytest.approx(np.array(shared))
    assert found.same_nearest == sum(one[0] == other[0] for one, other in zip(*near, strict=True))


def test_means_and_shared_neighbours_are_those_of_the_comparison_of_layers() -> None:
    first, second = vectors(25, 6, 2), vectors(25, 9, 3)
    layers = layer_similarity(NAMES, first[None], second[None])
    found = sentence_comparison(NAMES, ["s"] * 25, first, second, layers.neighbours)
    assert found.shared.mean() == pytest.approx(layers.shared_neighbours[0, 0])
    assert found.first_range.mean == pytest.approx(layers.first_cosine[0], abs=1e-6)
    assert found.second_range.mean == pytest.approx(layers.second_cosine[0], abs=1e-6)


def test_a_model_beside_itself_differs_in_nothing() -> None:
    first = vectors(8, 5, 4)
    found = sentence_comparison(NAMES, ["s"] * 8, first, first, 3)
    assert not found.difference.any()
    assert found.shared.tolist() == [1] * 8
    assert found.same_nearest == 8
    assert found.first_range == found.second_range


def test_two_sentences_are_too_few() -> None:
    with pytest.raises(TextError, match="at least 3 sentences, and 2 came"):
        sentence_comparison(NAMES, ["a", "b"], vectors(2, 4, 5), vectors(2, 4, 6), 1)


@pytest.mark.parametrize("count", [0, 1, MOST_SENTENCES, MOST_SENTENCES + 1, 1000])
def test_a_long_list_is_spread_evenly(count: int) -> None:
    chosen = evenly_chosen(count)
    assert len(chosen) == min(count, MOST_SENTENCES)
    assert all(0 <= place < count for place in chosen)
    steps = {after - before for before, after in zip(chosen, chosen[1:], strict=False)}
    assert steps <= {count // MOST_SENTENCES, count // MOST_SENTENCES + 1}


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_are_refused_and_named(broken: float) -> None:
    first, second = vectors(4, 6, 0), vectors(4, 6, 1)
    second[2, 1] = broken
    with pytest.raises(CheckpointError, match="'other' gives NaN or infinity for 1 of 4 sentences"):
        sentence_comparison(NAMES, ["a", "b", "c", "d"], first, second, 1)
    with pytest.raises(CheckpointError, match="'one' gives NaN or infinity for 1 of 4 sentences"):
        gold_cosines("one", first, second, np.arange(4.0))
