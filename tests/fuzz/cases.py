"""A case of untrusted input, and how reading it failed.

Time is measured as processor time of all threads of this process, since on a busy machine a case takes longer in real
time. Work in a child with its own limits is not counted, since nobody waits for it. Neither is what the damage of the
input itself takes: time and memory are those of its reading.
"""

import resource
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import process_time
from typing import NamedTuple

from bertviz_core.errors import BertvizError

START_S = 2.0
"""Seconds of processor time for any case."""
S_PER_NBYTE = 1 / 100_000
"""Additional seconds of processor time per byte of a case."""
MOST_JUMP_NBYTES = 1024**3
"""Most growth of the process in one case."""


class Brought(NamedTuple):
    """The input of a case."""

    nbytes: int
    """Its size in bytes."""
    read: Callable[[], object]
    """Reads it."""
    start_s: float = START_S
    """Seconds of processor time, independent of its size."""

    @property
    def most_s(self) -> float:
        """Most seconds of processor time."""
        return self.start_s + self.nbytes * S_PER_NBYTE


Case = Callable[[Random], Brought]


def random_of(target: str, seed: int, case: int) -> Random:
    """The random generator of one case, independent of earlier cases."""
    return Random(f"{target}/{seed}/{case}")  # noqa: S311  # made to be repeated


def fault(run: Case, rng: Random) -> str:
    """How and where a case failed; "" if it was read, or refused with a message, in time."""
    brought = run(rng)
    before, started = used_nbytes(), process_time()
    words = _failure(brought.read)
    used, grown = process_time() - started, used_nbytes() - before
    if not words and used > brought.most_s:
        return f"{used:.1f} s of the processor for {brought.nbytes:,} bytes; at most {brought.most_s:.1f}"
    if not words and grown > MOST_JUMP_NBYTES:
        return f"{grown / 1024**2:,.0f} MiB more after one case"
    return words


def used_nbytes() -> int:
    """Memory of this process now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _failure(read: Callable[[], object]) -> str:
    """How a reading ended with neither a result nor a refusal."""
    try:
        read()
    except BertvizError as error:
        return "" if str(error).strip() else "a refusal without words"
    except Exception as error:  # any exception is a fault
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
        where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
        return f"{type(error).__name__} in {where}: {str(error)[:200]}"
    return ""
