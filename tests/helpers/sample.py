"""Of a law that is asked of many examples `make test` asks a sample, and `make test-all` every one."""

import zlib
from collections import defaultdict
from collections.abc import Iterable

import pytest


def leave_to_the_slow(items: Iterable[pytest.Item]) -> None:
    """Mark as slow the examples that a test marked `sample(count)` leaves out.

    Those that stay stand evenly among all in their order. Where they begin depends on the file's name: tests of the
    same pages or families take the same ones within a file, where they share what is costly, and different ones beyond.
    """
    examples: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample"):
            examples[item.nodeid.partition("[")[0]].append(item)
    for name, of_test in examples.items():
        marker = of_test[0].get_closest_marker("sample")
        assert marker is not None
        (count,) = marker.args
        first = zlib.crc32(name.partition("::")[0].encode())
        stay = {(first + place * len(of_test) // count) % len(of_test) for place in range(count)}
        for place, item in enumerate(of_test):
            if place not in stay:
                item.add_marker(pytest.mark.slow)
