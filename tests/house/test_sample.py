"""The sample of parametrized tests that `make test` runs. Covers `tests/helpers/sample.py`."""

from typing import Any

import pytest

from tests.helpers.sample import leave_to_the_slow


class Example:
    """The parts of a collected test that the sample reads."""

    def __init__(self, name: str, number: int, count: int | None) -> None:
        self.nodeid = f"{name}[{number}]"
        self.count = count
        self.slow = False

    def get_closest_marker(self, _name: str) -> Any:
        return None if self.count is None else pytest.mark.sample(self.count).mark

    def add_marker(self, _marker: Any) -> None:
        self.slow = True


def left(name: str, examples: int, count: int | None) -> list[int]:
    """Indices of the examples that `make test` runs."""
    items: list[Any] = [Example(name, number, count) for number in range(examples)]
    leave_to_the_slow(items)
    return [number for number, item in enumerate(items) if not item.slow]


def test_a_sample_stands_evenly_among_all() -> None:
    for name in ("tests/test_a.py::test_a", "tests/test_b.py::test_b"):
        chosen = left(name, 13, 4)
        gaps = {(after - before) % 13 for before, after in zip(chosen, [*chosen[1:], chosen[0]], strict=True)}
        assert len(chosen) == 4
        assert gaps <= {3, 4}
        assert chosen == left(name, 13, 4)


def test_files_take_different_examples() -> None:
    assert len({tuple(left(f"tests/test_{name}.py::test", 13, 3)) for name in "abcdef"}) > 1


def test_without_a_mark_or_with_few_examples_all_are_asked() -> None:
    assert left("tests/test_a.py::test_a", 5, None) == list(range(5))
    assert left("tests/test_a.py::test_a", 3, 4) == list(range(3))
