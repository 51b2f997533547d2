"""Rows that change their nearest rows under another model, by scikit-learn; what rounding decides is no change.

Covers `bertviz_core/corpus/analysis/neighbours.py`.
"""

from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from bertviz_core.corpus.analysis.neighbours import compared_rows, neighbour_changes
from bertviz_core.corpus.analysis.results import NeighbourChanges
from bertviz_core.corpus.folder import Corpus
from bertviz_core.errors import CorpusError, TextError
from tests.helpers.made_corpora import DIMENSIONS, ROWS, made_corpus

RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return made_corpus(tmp_path_factory.mktemp("corpora") / "mine", vector_dtype="float32")


def nearest(vectors: np.ndarray, count: int) -> np.ndarray:
    found: np.ndarray = (
        NearestNeighbors(n_neighbors=count, metric="cosine").fit(vectors).kneighbors(return_distance=False)
    )
    return found


def compared(corpus: Corpus, vectors: np.ndarray, rows: int = ROWS, neighbours: int = 10) -> NeighbourChanges:
    return neighbour_changes(corpus, compared_rows(corpus, rows), vectors, "other", neighbours)


@pytest.mark.parametrize("rows", [700, ROWS])
def test_neighbours_are_those_of_scikit_learn(rows: int, corpus: Corpus) -> None:
    vectors = RNG.standard_normal((rows, 9))
    changes = compared(corpus, vectors, rows)
    assert changes.rows.tolist() == [place * ROWS // rows for place in range(rows)]
    before, now = nearest(corpus.vectors()[changes.rows], 10), nearest(vectors, 10)
    np.testing.assert_array_equal(changes.first_nearest, before)
    np.testing.assert_array_equal(changes.second_nearest, now)
    kept = [len(set(one) & set(other)) for one, other in zip(before.tolist(), now.tolist(), strict=True)]
    assert changes.same.tolist() == kept
    assert changes.changed == sum(each < 10 for each in kept)
    assert changes.counts.tolist() == np.bincount(kept, minlength=11).tolist()
    assert [kept[place] for place in changes.most_changed.tolist()] == sorted(each for each in kept if each < 10)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_same_vectors_before_they_were_rounded_change_nothing(dtype: str, tmp_path: Path) -> None:
    rounded = made_corpus(tmp_path / "rounded", vector_dtype=dtype)
    exact = np.random.default_rng(0).standard_normal((ROWS, DIMENSIONS)) * 3.0
    assert compared(rounded, exact).changed == 0
    turned = exact.copy()
    turned[7] = -turned[7]
    assert compared(rounded, turned).same[7] == 0


def test_equal_vectors_may_take_each_others_place(corpus: Corpus) -> None:
    stored = np.asarray(corpus.vectors()[np.arange(ROWS)], dtype=np.float64)
    other = stored.copy()
    twin = int(nearest(stored, 1)[0, 0])
    apart = nearest(stored, ROWS - 1)[0]
    other[apart[-1]] = stored[twin]  # the farthest row is now as near as the nearest one
    changes = compared(corpus, other, neighbours=1)
    assert changes.same[0] == 1
    other[twin] = -stored[0]
    assert compared(corpus, other, neighbours=1).same[0] == 0


def test_wrong_numbers_and_corpora_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    for rows in (2, 5_001):
        with pytest.raises(TextError, match="give 3 to 5,000"):
            compared_rows(corpus, rows)
    with pytest.raises(TextError, match="give 1 to 100"):
        compared(corpus, np.ones((ROWS, 2)), neighbours=101)
    with pytest.raises(CorpusError, match="3 vectors of 'other' hold NaN"):
        compared(corpus, np.full((3, 2), np.nan), 3)
    with pytest.raises(CorpusError, match="keeps no texts"):
        compared_rows(made_corpus(tmp_path / "bare", text_column=None), 10)


def test_few_rows_have_few_neighbours(corpus: Corpus) -> None:
    rows = compared_rows(corpus, 4)
    assert rows.notices == ("4 of the 1,301 rows are compared with each other, evenly spaced in the corpus.",)
    changes = neighbour_changes(corpus, rows, RNG.standard_normal((4, 2)), "other", 10)
    assert (changes.neighbours, changes.same.tolist()) == (3, [3, 3, 3, 3])
    assert rows.texts[1] == "Row 325 of the corpus."
