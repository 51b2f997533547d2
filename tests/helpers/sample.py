"""Sampling of parametrized tests: `make test` runs a sample of their examples, `make test-all` all of them."""

import zlib
from collections import defaultdict
from collections.abc import Iterable

import pytest


def leave_to_the_slow(items: Iterable[pytest.Item]) -> None:
    """Mark the examples of tests marked `sample(count)` that are outside the sample as slow.

    The sample is evenly spaced, with an offset that depends on the file's name: tests of the same pages or families in
    one file use the same examples, so that they share costly results, and those of other files use different ones.
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
