"""Medians of repeated runs, and rows of the table."""

import statistics
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PEAK = "from benchmarks.timing import peak_mb as peak\n"
"""Line for a process of its own that measures its memory."""


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


def rows_or_failure(name: str, measure: Callable[[], list[Row]]) -> list[Row]:
    """Rows of a benchmark; one that fails becomes a row, too, so that the others continue.

    Args:
        name: name of the benchmark.
        measure: runs it.
    """
    try:
        return measure()
    except Exception as error:  # any error of a program, a browser or a peer
        traceback.print_exc()
        return [Row(name, f"broke off: {type(error).__name__}", "", "", False)]


def table(rows: Sequence[Row]) -> str:
    """Format the rows for a terminal."""
    width, ours, other = (max(len(getattr(row, name)) for row in rows) for name in ("work", "ours", "alternative"))
    return "\n".join(
        f"{row.work.ljust(width)}  {row.ours:>{ours}}  {row.alternative:<{other}}  {row.budget:<22}  {row.verdict}"
        for row in rows
    )


def peak_mb() -> float:
    """Largest memory of this process alone so far in MB; `ru_maxrss` would begin with what the parent used."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(each for each in status.splitlines() if each.startswith("VmHWM")).split()[1]) / 1024


def duration(seconds: float) -> str:
    """Seconds with two decimals, or below a tenth of one milliseconds: "1.25 s", "8.4 ms"."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"


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
