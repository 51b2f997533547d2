"""The byte cache: never above its budget except for one value, least recently used first, each value computed once."""

import threading
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from bertviz_core.errors import SupersededError
from bertviz_core.parameters.results import Parameter
from bertviz_core.resources import ByteCache, retained_nbytes


def block(nbytes: int) -> bytes:
    return bytes(nbytes)


def test_the_values_used_longest_ago_make_room() -> None:
    cache = ByteCache(100)
    for key in "abc":
        cache.get_or_compute(key, lambda: block(30), len)
    cache.get_or_compute("a", lambda: pytest.fail("a is at hand"), len)
    cache.get_or_compute("d", lambda: block(30), len)
    assert (len(cache), cache.nbytes) == (3, 90)
    cache.get_or_compute("a", lambda: pytest.fail("a was used after b"), len)
    made: list[str] = []
    cache.get_or_compute("b", lambda: made.append("b") or block(30), len)
    assert made == ["b"]


def test_a_value_beyond_the_budget_is_kept_alone() -> None:
    cache = ByteCache(100)
    cache.get_or_compute("small", lambda: block(60), len)
    cache.get_or_compute("large", lambda: block(500), len)
    assert (len(cache), cache.nbytes) == (1, 500)
    cache.get_or_compute("next", lambda: block(60), len)
    assert (len(cache), cache.nbytes) == (1, 60)


def test_room_is_made_before_a_value_is() -> None:
    cache = ByteCache(100)
    cache.get_or_compute("old", lambda: block(90), len)

    def make() -> bytes:
        cache.make_room(50)
        assert len(cache) == 0
        return block(50)

    cache.get_or_compute("new", make, len)
    assert cache.nbytes == 50


def test_several_who_ask_at_once_get_one() -> None:
    cache, made, begun, go_on = ByteCache(100), [], threading.Event(), threading.Event()

    def make() -> bytes:
        made.append(1)
        begun.set()
        assert go_on.wait(20)
        return block(10)

    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(cache.get_or_compute("key", make, len))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(20)
    assert cache.get_or_compute("other", lambda: block(1), len) == block(1), "another key does not wait"
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert len(made) == 1
    assert len({id(each) for each in found}) == 1
    assert len(found) == 4


def test_what_fails_is_not_kept_and_is_tried_again() -> None:
    cache = ByteCache(100)

    def fail() -> bytes:
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        cache.get_or_compute("key", fail, len)
    assert len(cache) == 0
    assert cache.get_or_compute("key", lambda: block(3), len) == block(3)


@pytest.mark.parametrize(("error", "tries"), [(OSError("no disk"), 1), (SupersededError(), 4)])
def test_an_error_is_that_of_all_who_wait_unless_only_its_caller_was_superseded(error: Exception, tries: int) -> None:
    cache, made, go_on = ByteCache(100), [], threading.Event()

    def fail() -> bytes:
        made.append(1)
        assert go_on.wait(20)
        raise error

    def ask() -> None:
        try:
            cache.get_or_compute("key", fail, len)
        except Exception as raised:  # noqa: BLE001  # each error is compared
            raised_by.append(raised)

    raised_by: list[Exception] = []
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    while "key" not in cache._making or cache._making["key"].callers < 4:
        pass
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert raised_by == [error] * 4
    assert len(made) == tries
    assert cache.get_or_compute("key", lambda: block(3), len) == block(3), "the next tries again"


def test_a_value_that_was_replaced_is_not_removed_again() -> None:
    cache, old = ByteCache(100), block(3)
    cache.put("key", old, 3)
    cache.pop("key", old)
    cache.put("key", block(5), 5)
    cache.pop("key", old)
    assert (cache.get("key"), cache.nbytes) == (block(5), 5)


def test_none_is_a_value() -> None:
    cache = ByteCache(10_000)
    assert cache.get_or_compute("key", lambda: None) is None
    assert cache.get_or_compute("key", lambda: pytest.fail("made twice")) is None


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    values: np.ndarray
    parts: tuple[np.ndarray, ...]


def test_arrays_are_counted_to_the_byte_wherever_they_are() -> None:
    array = np.zeros((1000, 250), np.float32)
    result = Result("name", array, (array[0].copy(), np.zeros(5000, np.uint8)))
    arrays = 1_000_000 + 1_000 + 5_000
    assert arrays < retained_nbytes(result) < arrays + 2_000
    assert retained_nbytes({"a": result, "b": [result]}) > 2 * arrays


def test_a_view_counts_what_it_keeps_alive() -> None:
    assert retained_nbytes(np.zeros((1000, 250), np.float32)[:1]) > 1_000_000


def test_a_long_table_is_measured_by_a_sample_of_its_rows() -> None:
    rows = tuple(
        Parameter(f"layer.{i}.weight", None, (2, 3), 6, "float32", True, None, "encoder", i, "query")
        for i in range(10_000)
    )
    one = retained_nbytes(rows[5000])
    assert 200 < one < 2_000
    assert retained_nbytes(rows) == pytest.approx(10_000 * (one + 8), rel=0.05)


def test_a_budget_of_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="0"):
        ByteCache(0)


def test_every_long_text_is_counted_and_a_shared_one_once() -> None:
    texts = ["x"] * 10_000
    texts[3_333] = "y" * 10**6
    assert 10**6 < retained_nbytes(tuple(texts)) < 10**6 + 200_000
    assert retained_nbytes(("z" * 10**6,) * 100) < 10**6 + 10_000


def test_a_table_counts_its_texts_once() -> None:
    frame = pd.DataFrame({"a": pd.Series(["z" * 10**6] * 100, dtype=object), "b": pd.Series(["b"] * 100, dtype=object)})
    assert 10**6 < retained_nbytes(frame) < 10**6 + 10_000
