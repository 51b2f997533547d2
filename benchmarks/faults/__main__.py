"""Check what readers see when something fails, and that nothing is lost: `make faults`, on loopback."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import report
from benchmarks.faults import checkpoint, corpus, hub, models, session, store
from benchmarks.timing import Row, table

CASES: Mapping[str, Callable[[Path], list[Row]]] = {
    "store": store.rows,
    "checkpoint": checkpoint.rows,
    "hub": hub.rows,
    "models": models.rows,
    "corpus": corpus.rows,
    "session": session.rows,
}


def main() -> None:
    """Print the table; exit code 1 if a case fails. Only a run of all cases writes the document."""
    parser = argparse.ArgumentParser(prog="make faults", description="Break things around a running instance.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; all by default")
    cases = parser.parse_args().cases or list(CASES)
    if unknown := [name for name in cases if name not in CASES]:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(CASES)}")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in cases:
            rows += CASES[name](Path(folder) / name)
    print(table(rows))
    if set(cases) == set(CASES):
        report.write("faults", rows, "The second column is what the reader saw; the third is what was kept.")
    sys.exit(0 if all(row.met for row in rows) else 1)


if __name__ == "__main__":
    main()
