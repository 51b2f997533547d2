"""A case: what a stranger brings, and how the reading of it failed.

The time that counts is the processor's, of all threads of this process: on a busy machine a case takes longer by the
clock and not by that. What a child reads under limits of its own is not counted; it keeps nobody waiting.
"""

import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import process_time
from typing import NamedTuple

from bertviz_core.errors import BertvizError

START_S = 2.0
"""Seconds of the processor that any case may take."""
S_PER_NBYTE = 1 / 100_000
"""Seconds of the processor that each byte of a case adds."""


class Brought(NamedTuple):
    """What a case brings, ready to be read."""

    nbytes: int
    """Its size."""
    read: Callable[[], object]
    """Reads it."""
    start_s: float = START_S
    """Seconds of the processor that it may take whatever its size."""

    @property
    def most_s(self) -> float:
        """Seconds of the processor that it may take."""
        return self.start_s + self.nbytes * S_PER_NBYTE


Case = Callable[[Random], Brought]


def random_of(target: str, seed: int, case: int) -> Random:
    """The generator of one case, whatever cases ran before it."""
    return Random(f"{target}/{seed}/{case}")  # noqa: S311  # made to be repeated


def fault(run: Case, rng: Random) -> str:
    """How a case failed, and where; "" where it was read, or refused in a sentence, in time."""
    brought = run(rng)
    started = process_time()
    words = _failure(brought.read)
    taken = process_time() - started
    if not words and taken > brought.most_s:
        return f"{taken:.1f} s of the processor for {brought.nbytes:,} bytes; at most {brought.most_s:.1f}"
    return words


def _failure(read: Callable[[], object]) -> str:
    """How a reading ended that gave neither a result nor a sentence."""
    try:
        read()
    except BertvizError as error:
        return "" if str(error).strip() else "a refusal without words"
    except Exception as error:  # whatever it is, it is what is looked for
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
        where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
        return f"{type(error).__name__} in {where}: {str(error)[:200]}"
    return ""
