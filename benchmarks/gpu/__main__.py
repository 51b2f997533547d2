"""Benchmark the work on a GPU and print tables: the work, our figure, the peer's on the same card, the budget.

With names (`python -m benchmarks.gpu memory`) only those run. With `--device cpu` the same table is that of the CPU,
which shows that everything here works. Both leave the document as it is.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial

from benchmarks import report
from benchmarks.device import card, measured_device
from benchmarks.gpu import attention, corpus, effects, memory, readers, sentences
from benchmarks.timing import Row, rows_or_failure, table
from bertviz_core.errors import BertvizError
from bertviz_core.models.loading import device_kind

MEASUREMENTS: dict[str, Callable[[str], list[Row]]] = {
    "attention": attention.rows,
    "effects": effects.rows,
    "sentences": sentences.rows,
    "corpus": corpus.rows,
    "memory": memory.rows,
    "readers": readers.rows,
}


def main() -> None:
    """Print the table; exit code 1 if a budget is missed, 2 with one sentence if there is no such device."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 for the second GPU, or cpu")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in MEASUREMENTS]:
        parser.error(f"no benchmark {unknown[0]!r}; choose from {', '.join(MEASUREMENTS)}")
    try:
        device = measured_device(arguments.device)
    except BertvizError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    print(report.machine(card(device)))
    rows: list[Row] = []
    for name in arguments.names or MEASUREMENTS:
        found = rows_or_failure(name, partial(MEASUREMENTS[name], device))
        print(table(found), flush=True)  # a run that is cut short keeps what it has found
        rows += found
    if not arguments.names and device_kind(device) == "cuda":
        report.write("bench-gpu", rows, card=card(device))
    sys.exit(0 if all(row.met for row in rows) else 1)


if __name__ == "__main__":
    main()
