"""An exact search equals brute force: the cosine of every row in float64, equal ones by row."""

from typing import Any

import numpy as np
import pytest

from bertviz_core.corpus import exact_search
from bertviz_core.corpus.exact_search import exact_cosines, nearest_rows
from bertviz_core.errors import CorpusError

ROWS, DIMENSIONS = 1_201, 23


def made(dtype: str, scale: float = 1.0) -> Any:
    """Vectors of which many have the same direction, one is zero, and some are nearly equal."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((ROWS, DIMENSIONS)).astype(dtype)
    vectors[100:180] = vectors[7]
    vectors[300:310] = 2 * vectors[8]
    vectors[400:500] = vectors[9] * (1 + 2e-3 * rng.standard_normal((100, DIMENSIONS)))
    vectors[11] = 0
    return (vectors * np.array(scale, dtype=dtype)).astype(dtype)


def brute_force(vectors: Any, query: Any, mask: Any = None) -> dict[int, float]:
    """Row -> cosine, row by row in float64, the nearest first, equal ones by row."""
    scores, exact_query = {}, query.astype(np.float64)
    for row, vector in enumerate(vectors.astype(np.float64)):
        if mask is None or mask[row]:
            lengths = np.linalg.norm(vector) * np.linalg.norm(exact_query)
            scores[row] = float(vector @ exact_query / lengths) if lengths else 0.0
    return dict(sorted(scores.items(), key=lambda each: (-each[1], each[0])))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("count", [1, 10, 90, 1_200, 5_000])
def test_the_rows_are_those_of_brute_force(dtype: str, filtered: bool, count: int) -> None:
    vectors, rng = made(dtype), np.random.default_rng(1)
    mask = rng.random(ROWS) < 0.4 if filtered else None
    for query in (rng.standard_normal(DIMENSIONS), vectors[7], 0.5 * vectors[9], vectors[400]):
        ranked = nearest_rows(vectors, query.astype(np.float32), count, mask)
        scores = brute_force(vectors, query.astype(np.float32), mask)
        rows, given = ranked.rows.tolist(), ranked.scores.tolist()
        assert len(rows) == min(count, len(scores))
        np.testing.assert_allclose(given, [scores[row] for row in rows], atol=1e-7)
        np.testing.assert_allclose(given, list(scores.values())[:count], atol=1e-7)
        assert list(zip(given, rows, strict=True)) == sorted(
            zip(given, rows, strict=True), key=lambda each: (-each[0], each[1])
        )
        # No omitted row is nearer, or equally near and before a returned one.
        assert len(set(rows)) == len(rows)
        apart = np.abs(np.diff(list(scores.values())[: count + 1])) > 1e-6
        if apart.all():
            assert rows == list(scores)[:count]


def test_equal_rows_come_in_their_order() -> None:
    vectors = made("float16")
    ranked = nearest_rows(vectors, vectors[7].astype(np.float32), 20)
    assert ranked.rows.tolist() == [7, *range(100, 119)]
    assert ranked.scores.tolist() == [1.0] * 20


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_many_blocks_are_as_one(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, query = made(dtype), np.arange(DIMENSIONS, dtype=np.float32)
    mask = np.arange(ROWS) % 3 != 1
    whole = [nearest_rows(vectors, query, 50, each) for each in (None, mask)]
    monkeypatch.setattr(exact_search, "BLOCK_ROWS", 97)
    monkeypatch.setattr(exact_search, "EXACT_ROWS", 10)
    for before, each in zip(whole, (None, mask), strict=True):
        after = nearest_rows(vectors, query, 50, each)
        np.testing.assert_array_equal(after.rows, before.rows)
        np.testing.assert_array_equal(after.scores, before.scores)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_length_changes_nothing(scale: float) -> None:
    rows = nearest_rows(made("float32"), made("float32")[50], 30).rows
    np.testing.assert_array_equal(nearest_rows(made("float32", scale), scale * made("float32")[50], 30).rows, rows)


def test_a_query_of_zeros_is_as_near_to_one_as_to_the_other() -> None:
    mask = np.arange(ROWS) % 2 == 1
    ranked = nearest_rows(made("float16"), np.zeros(DIMENSIONS, dtype=np.float32), 3, mask)
    assert (ranked.rows.tolist(), ranked.scores.tolist()) == ([1, 3, 5], [0, 0, 0])


def test_a_filter_that_leaves_nothing_gives_nothing() -> None:
    ranked = nearest_rows(made("float16"), np.ones(DIMENSIONS, dtype=np.float32), 3, np.zeros(ROWS, dtype=np.bool_))
    assert len(ranked.rows) == len(ranked.scores) == 0


def test_what_is_no_number_is_refused() -> None:
    query = np.ones(DIMENSIONS, dtype=np.float32)
    with pytest.raises(CorpusError, match="query's vector holds NaN"):
        nearest_rows(made("float16"), query * np.nan, 3)
    vectors = made("float16")
    vectors[13, 2] = np.nan
    with pytest.raises(CorpusError, match="A vector of the corpus holds NaN"):
        exact_cosines(vectors, query, np.arange(ROWS))
