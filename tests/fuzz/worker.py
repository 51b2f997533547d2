"""`python -m tests.fuzz.worker`: run the cases of one target, in a process that may end at any of them."""

import faulthandler
import gc
import json
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pyarrow as pa

from tests.fuzz.cases import fault, random_of, used_nbytes
from tests.fuzz.targets import TARGETS

SETTLED_CASES = 200
"""Number of cases after which the caches of a target are full."""
MOST_GROWTH_NBYTES = 256 * 1024**2
"""Most growth of a process after that."""
MEMORY_NBYTES = 8 * 1024**3
"""Address space of the process: a case that needs more fails in it and nowhere else."""


def kept_nbytes() -> int:
    """Memory of this process after garbage collection, without what Arrow has freed and not yet returned."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    return used_nbytes()


def note(folder: Path, case: int, words: str) -> None:
    """Write a fault to the folder at once, since the next case may end the process."""
    with open(folder / "faults", "a", encoding="utf-8") as file:
        file.write(json.dumps([case, words]) + "\n")


def main() -> None:
    """Run the cases; writes a line of JSON per fault, and the number of the current case, into the folder."""
    target, seed, case, most, seconds, limit_s, folder = sys.argv[1], *map(int, sys.argv[2:7]), Path(sys.argv[7])
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_NBYTES, MEMORY_NBYTES))
    run = TARGETS[target](folder)
    progress, first, settled = os.open(folder / "case", os.O_WRONLY | os.O_CREAT), case, 0
    until = monotonic() + seconds
    while monotonic() < until and case < most:
        os.pwrite(progress, f"{case:>12}".encode(), 0)
        faulthandler.dump_traceback_later(limit_s, exit=True)
        words = fault(run, random_of(target, seed, case))
        faulthandler.cancel_dump_traceback_later()
        if words:
            note(folder, case, words)
        case += 1
        if case - first == SETTLED_CASES:
            settled = kept_nbytes()
    grown = kept_nbytes() - settled
    if settled and grown > MOST_GROWTH_NBYTES:
        note(folder, case, f"{grown / 1024**2:,.0f} MiB more after {case - first:,} cases than after 200")
    os.pwrite(progress, f"{case:>12}".encode(), 0)


if __name__ == "__main__":
    main()
    # A page's work in another thread may still be running, and would abort an interpreter that exits normally. The
    # server is ended by a signal, at once.
    os._exit(0)
