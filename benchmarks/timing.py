"""Medians of repeated runs, and the rows of the table."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    work: str
    """What was done."""
    ours: str
    """Median of this project."""
    alternative: str
    """What it is measured against, in the same run."""
    budget: str
    """What was promised."""
    met: bool
    """Whether it holds."""

    @property
    def verdict(self) -> str:
        """Whether the budget holds, in a word."""
        return "ok" if self.met else "MISSED"


def median_s(work: Callable[[], object], runs: int) -> float:
    """Median seconds of a number of runs, after one that is not counted."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
