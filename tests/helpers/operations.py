"""Count what the project's code does, whatever the load of the machine, and how the count grows with its input."""

import sys
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
PROJECT = str(Path(__file__).parents[2])
LINEAR = 2.5
"""Largest growth for an input of double size of code that goes through it a fixed number of times."""


class WatchedTuple(tuple[T, ...]):
    """A tuple of which each step counts, also one inside a function of C."""

    def __iter__(self) -> Iterator[T]:
        yield from (self[place] for place in range(len(self)))

    def __contains__(self, value: object) -> bool:
        return any(value == each for each in self)


class WatchedDict(dict[str, T]):
    """The same of a dictionary."""

    def __iter__(self) -> Iterator[str]:
        yield from (each for each in self.keys())  # noqa: SIM118  # iter(self) is this method


class WatchedArray(array):  # type: ignore[type-arg]  # array[int] does not exist at run time in Python 3.11
    """An array of which each comparison counts."""

    def __contains__(self, value: object) -> bool:
        return any(value == self[place] for place in range(len(self)))


def operations(work: Callable[[], object]) -> int:
    """The instructions of the project's own code that `work` executes, in this thread."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "call":
            if not frame.f_code.co_filename.startswith(PROJECT) or "site-packages" in frame.f_code.co_filename:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(prepare: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times as much is done for an input of double size.

    Args:
        prepare: makes an input of a size, and returns what is done with it.
        size: large enough that what does not depend on it is small beside the rest.
    """
    once, twice = (operations(prepare(count)) for count in (size, 2 * size))
    return twice / once
