"""Medians of repeated runs, and rows of the table."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    work: str
    """The measured work."""
    ours: str
    """Median of this project."""
    alternative: str
    """The alternative's result in the same run."""
    budget: str
    """The promised limit."""
    met: bool
    """Whether the budget is met."""

    @property
    def verdict(self) -> str:
        """Whether the budget is met, in a word."""
        return "ok" if self.met else "MISSED"


def table(rows: Sequence[Row]) -> str:
    """Format the rows for a terminal."""
    width, ours, other = (max(len(getattr(row, name)) for row in rows) for name in ("work", "ours", "alternative"))
    return "\n".join(
        f"{row.work.ljust(width)}  {row.ours:>{ours}}  {row.alternative:<{other}}  {row.budget:<22}  {row.verdict}"
        for row in rows
    )


def median_s(work: Callable[[], object], runs: int) -> float:
    """Median seconds of a number of runs, after one warm-up run."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def medians_s(
    quick: Callable[[], object], slow: Callable[[], object], rounds: int, quick_per_round: int = 1
) -> tuple[float, float]:
    """Median seconds of two works, run alternately under the same conditions, after one warm-up run each."""
    quick()
    slow()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for kept, work, runs in zip(times, (quick, slow), (quick_per_round, 1), strict=True):
            for _ in range(runs):
                start = time.perf_counter()
                work()
                kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def all_medians_s(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each work, run in turn in every round, after one warm-up run each."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in times.items()}
