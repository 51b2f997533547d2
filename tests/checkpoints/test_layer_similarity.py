"""CKA, shared neighbours and mean cosines equal those of their definitions, and have their symmetries."""

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

from bertviz_core.checkpoints import layer_similarity as module
from bertviz_core.checkpoints.layer_similarity import layer_similarity
from bertviz_core.errors import TextError

NAMES = ("one", "other")


def vectors(states: int, texts: int, hidden: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(3, 1, (states, texts, hidden)).astype(np.float32)


def hsic(one: np.ndarray, other: np.ndarray) -> float:
    """The unbiased estimate of Song et al. 2012, equation 5, term by term."""
    n, one, other = len(one), one.copy(), other.copy()
    np.fill_diagonal(one, 0)
    np.fill_diagonal(other, 0)
    ones = np.ones(n)
    both = ones @ one @ ones * (ones @ other @ ones) / ((n - 1) * (n - 2))
    return float(np.trace(one @ other) + both - 2 / (n - 2) * (ones @ one @ other @ ones)) / (n * (n - 3))


def plain_cka(one: np.ndarray, other: np.ndarray) -> float:
    k, m = (each.astype(np.float64) @ each.T.astype(np.float64) for each in (one, other))
    return hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m))


@pytest.mark.parametrize("cells", [1, 100, 2**22])
def test_every_number_is_that_of_its_definition(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_CELLS", cells)
    first, second = vectors(3, 25, 6, 0), vectors(4, 25, 9, 1)
    second[1, :, :6] += 3 * first[2]
    found = layer_similarity(NAMES, first, second)
    assert found.cka == pytest.approx(np.array([[plain_cka(a, b) for b in second] for a in first]), abs=1e-9)
    assert (found.texts, found.neighbours) == (25, 10)
    for states, cosines in ((first, found.first_cosine), (second, found.second_cosine)):
        for state, cosine in zip(states, cosines, strict=True):
            assert cosine == pytest.approx(cosine_similarity(state)[~np.eye(25, dtype=bool)].mean(), abs=1e-6)
    near = [
        [NearestNeighbors(n_neighbors=10, metric="cosine").fit(state).kneighbors()[1] for state in side]
        for side in (first, second)
    ]
    share = [[np.mean([len({*r} & {*s}) for r, s in zip(a, b, strict=True)]) / 10 for b in near[1]] for a in near[0]]
    assert found.shared_neighbours == pytest.approx(np.array(share), abs=1e-6)


def test_a_state_is_like_itself_however_it_is_turned_scaled_and_shifted() -> None:
    first = vectors(2, 30, 8, 2)
    turned = (first @ ortho_group.rvs(8, random_state=0).astype(np.float32)) * 7 + 100
    assert np.diag(layer_similarity(NAMES, first, turned).cka) == pytest.approx(1, abs=1e-6)
    same = layer_similarity(NAMES, first, first)
    assert np.diag(same.cka) == pytest.approx(1, abs=1e-12)
    assert np.diag(same.shared_neighbours).tolist() == [1, 1]
    assert same.cka == pytest.approx(same.cka.T, abs=1e-12)


@pytest.mark.slow
def test_unrelated_vectors_have_none_on_average_though_they_have_more_dimensions_than_texts() -> None:
    found = [
        layer_similarity(NAMES, vectors(1, 12, 200, seed), vectors(1, 12, 300, 900 + seed)).cka[0, 0]
        for seed in range(300)
    ]
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(len(found))


def test_a_state_of_one_vector_has_no_cka_and_too_few_texts_are_one_sentence() -> None:
    first = vectors(2, 8, 5, 3)
    first[0] = first[0, :1]
    found = layer_similarity(NAMES, first, vectors(1, 8, 5, 4))
    assert np.isnan(found.cka[0, 0])
    assert np.isfinite(found.cka[1, 0])
    assert found.notices == ("A layer gives every text the same vector, so it has no CKA.",)
    with pytest.raises(TextError, match="Layers are compared over at least 4 texts, not 3"):
        layer_similarity(NAMES, vectors(1, 3, 5, 0), vectors(1, 3, 5, 1))
