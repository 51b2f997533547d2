"""Values of a column in few groups: counts equal those of a Counter, ranges have equally many rows."""

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bertviz_core.corpus.analysis.duplicates import column_values


def chunked(values: list[Any], kind: Any = None) -> Any:
    return pa.chunked_array([pa.array(values[:5], kind), pa.array(values[5:], kind)])


def test_the_most_frequent_values_come_first_and_the_rest_is_one() -> None:
    words = list("aabbbccccddddde") + [None]
    found = column_values(chunked(words), named=3)
    assert found.names == ("d", "c", "b", "2 others", "no value")
    named = [found.names[code] for code in found.codes.tolist()]
    expected = [word if word in "dcb" else "2 others" if word else "no value" for word in [w or "" for w in words]]
    assert named == ["no value" if word is None else name for word, name in zip(words, expected, strict=True)]


@pytest.mark.parametrize(
    "values",
    [["b", "a", "b", "a", "c", "c"], [True, False, True, True, False, False], [3, 1, 3, 2, 1, 3]],
    ids=["words", "truths", "numbers"],
)
def test_few_values_are_all_told_apart(values: list[Any]) -> None:
    found = column_values(chunked(values))
    counts = Counter(map(str, values))
    assert Counter(found.names[code] for code in found.codes.tolist()) == counts
    order = [(-counts[name], name) for name in found.names]
    assert order == sorted(order)


def test_a_name_for_others_is_needed_from_nine_values_on() -> None:
    words = list("aabbccddeeffgghh")
    assert column_values(chunked(words)).names == tuple("abcdefgh")
    assert column_values(chunked([*words, "i"])).names == (*"abcdefgh", "1 other")


def test_a_dictionary_is_what_its_values_are() -> None:
    words = ["b", None, "b", "a", "c", "b", "a"]
    plain, coded = column_values(chunked(words)), column_values(chunked(words).dictionary_encode())
    assert coded.names == plain.names
    np.testing.assert_array_equal(coded.codes, plain.codes)


def test_many_numbers_become_ranges_of_equally_many_rows() -> None:
    numbers = np.random.default_rng(0).permutation(np.arange(700.0)).tolist()
    found = column_values(chunked([*numbers, None, float("nan")]), named=7)
    assert len(found.names) == 8
    assert found.names[-1] == "no value"
    assert np.bincount(found.codes).tolist() == [100] * 7 + [2]
    for number, code in zip(numbers, found.codes.tolist(), strict=False):
        low, high = (float(word) for word in found.names[code].split(" to "))
        assert low <= number <= high + 1


def test_an_empty_column_has_one_value() -> None:
    for kind in (pa.string(), pa.float64()):
        found = column_values(chunked([None] * 7, kind))
        assert found.names == ("no value",)
        assert found.codes.tolist() == [0] * 7


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([10**18 + row for row in range(40)]),
        pa.array([2**63 + row for row in range(40)], pa.uint64()),
        pa.array(list(range(40))).dictionary_encode(),
        pa.array(np.arange(40, dtype=np.float16)),
        pa.array([Decimal(row) for row in range(40)], pa.decimal256(60, 2)),
    ],
    ids=["ids", "large", "dictionary", "float16", "decimal"],
)
def test_numbers_of_every_type_become_ranges(cells: Any) -> None:
    found = column_values(pa.chunked_array([cells]), named=4)
    assert (np.diff(found.codes) >= 0).all()
    assert len(found.names) == int(found.codes.max()) + 1


def test_infinite_numbers_are_in_the_outermost_ranges() -> None:
    numbers = [float("-inf"), *map(float, range(38)), float("inf")]
    found = column_values(chunked(numbers), named=4)
    assert not any("nan" in name for name in found.names)
    assert (found.names[0].partition(" ")[0], found.names[-1].rpartition(" ")[2]) == ("-inf", "inf")
    assert (np.diff(found.codes) >= 0).all()
    assert Counter(found.codes.tolist()).most_common()[-1][1] >= 9


def test_a_value_that_is_the_name_of_the_missing_ones_stays_apart() -> None:
    values = ["no value"] * 3 + ["(no value)"] * 2 + [None] + ["1 other"] * 2 + ["rare"]
    found = column_values(chunked(values), named=3)
    assert found.names == ("no value", "(no value)", "1 other", "(1 other)", "((no value))")
    assert found.codes.tolist() == [0, 0, 0, 1, 1, 4, 2, 2, 3]
