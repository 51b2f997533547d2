"""Run every measurement and print one table: what was done, our median, the alternative's median, the budget."""

import platform
import sys
from collections.abc import Callable, Sequence

from benchmarks import attention, layers, ledger, sentences, server, trace
from benchmarks.timing import Row

MEASUREMENTS: Sequence[Callable[[], list[Row]]] = (
    ledger.rows,
    trace.rows,
    sentences.rows,
    server.rows,
    layers.rows,
    attention.rows,
)


def main() -> None:
    """Print the table; exit code 1 if a budget is missed."""
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.processor() or 'processor unnamed'}")
    rows = [row for measure in MEASUREMENTS for row in measure()]
    width = max(len(row.work) for row in rows)
    for row in rows:
        print(f"{row.work.ljust(width)}  {row.ours:>12}  {row.alternative:<44}  {row.budget:<22}  {row.verdict}")
    sys.exit(0 if all(row.met for row in rows) else 1)


if __name__ == "__main__":
    main()
