"""Near duplicates equal those of the quadratic loop for any block size; groups are chains of their pairs."""

from typing import Any

import numpy as np
import pytest

from bertviz_core.corpus.analysis import duplicates
from bertviz_core.corpus.analysis.duplicates import duplicate_groups
from bertviz_core.corpus.analysis.results import DuplicateGroups
from bertviz_core.errors import CorpusError, SupersededError

ROWS, DIMENSIONS = 211, 13


@pytest.fixture
def vectors() -> Any:
    rng = np.random.default_rng(0)
    made = rng.standard_normal((ROWS, DIMENSIONS))
    made[40:50] = made[3]
    made[100:130] = made[10] * (1 + 0.1 * rng.standard_normal((30, DIMENSIONS)))
    made[200] = 3 * made[150]
    made[201] = 0
    made[202] = 0
    return made.astype(np.float16)


def loop(vectors: Any, threshold: float) -> dict[tuple[int, int], float]:
    """All pairs with their cosine, computed one by one in float64."""
    exact, pairs = vectors.astype(np.float64), {}
    for first in range(len(exact)):
        for second in range(first + 1, len(exact)):
            lengths = np.linalg.norm(exact[first]) * np.linalg.norm(exact[second])
            cosine = exact[first] @ exact[second] / lengths if lengths else 0.0
            if np.float32(cosine) >= np.float32(threshold):
                pairs[first, second] = float(cosine)
    return pairs


def chains(pairs: Any) -> list[list[int]]:
    """Groups by merging pair after pair, the largest first."""
    groups: list[set[int]] = []
    for pair in pairs:
        touched = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in touched] + [set(pair).union(*touched)]
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group[0]))


def listed(result: DuplicateGroups) -> dict[tuple[int, int], float]:
    return {
        (first, second): score
        for first, second, score in zip(
            result.first.tolist(), result.second.tolist(), result.scores.tolist(), strict=True
        )
    }


@pytest.mark.sample(4)
@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.97, 1.0])
@pytest.mark.parametrize("block", [32, 211, 2_048])
def test_pairs_and_groups_are_those_of_the_loop(
    vectors: Any, threshold: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "BLOCK_ROWS", block)
    result, expected = duplicate_groups(vectors, threshold), loop(vectors, threshold)
    pairs = listed(result)
    assert pairs.keys() == expected.keys()
    np.testing.assert_allclose([pairs[pair] for pair in expected], list(expected.values()), atol=1e-7)
    assert (result.pairs, result.searched) == (len(expected), ROWS)
    assert [result.group(place).tolist() for place in range(len(result.starts))] == chains(expected)
    assert result.sizes.tolist() == [len(group) for group in chains(expected)]
    assert (np.diff(result.scores) <= 0).all()


def test_groups_stay_whole_where_pairs_are_too_many_to_list(vectors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = duplicate_groups(vectors, 0.9)
    monkeypatch.setattr(duplicates, "BLOCK_ROWS", 32)
    monkeypatch.setattr(duplicates, "MAX_PAIRS", 20)
    monkeypatch.setattr(duplicates, "MAX_EDGES", 7)
    few = duplicate_groups(vectors, 0.9)
    np.testing.assert_array_equal(few.rows, whole.rows)
    np.testing.assert_array_equal(few.starts, whole.starts)
    assert few.pairs == whole.pairs > 20
    np.testing.assert_array_equal(few.scores, whole.scores[:20])
    np.testing.assert_array_equal(few.first, whole.first[:20])


def test_intermediate_groups_are_those_of_the_rows_compared_so_far(
    vectors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "BLOCK_ROWS", 50)
    partly: list[DuplicateGroups] = []
    duplicate_groups(vectors, 0.9, on_partial=partly.append)
    expected = loop(vectors, 0.9)
    for result, stop in zip(partly, (50, 100, 150, 200), strict=True):
        so_far = [pair for pair in expected if pair[0] < stop]
        assert listed(result).keys() == set(so_far)
        assert [result.group(place).tolist() for place in range(len(result.starts))] == chains(so_far)


def test_none_are_found_where_none_are() -> None:
    result = duplicate_groups(np.eye(7, dtype=np.float32), 0.5)
    assert (len(result.rows), len(result.starts), result.pairs, len(result.sizes)) == (0, 0, 0, 0)


def test_it_can_be_left(vectors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "BLOCK_ROWS", 32)
    calls: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        calls.append((done, total))
        if done == 5:
            raise SupersededError

    with pytest.raises(SupersededError):
        duplicate_groups(vectors, 0.9, progress)
    assert calls == [(done, 28) for done in range(1, 6)]


@pytest.mark.parametrize("threshold", [0.49, 1.01, float("nan")])
def test_a_threshold_that_is_none_is_refused(vectors: Any, threshold: float) -> None:
    with pytest.raises(CorpusError, match="cosine from 0.5 to 1"):
        duplicate_groups(vectors, threshold)


def test_what_is_no_number_is_refused(vectors: Any) -> None:
    vectors[7, 1] = np.nan
    with pytest.raises(CorpusError, match="row 7 holds NaN"):
        duplicate_groups(vectors, 0.9)
