"""Run every benchmark and print one table: the work, our median, the alternative's median, the budget.

With names (`python -m benchmarks pages.journey`) only those run, and the document stays as it is.
"""

import argparse
import sys
from collections.abc import Callable, Sequence

from benchmarks import command_line, report
from benchmarks.models import (
    adapters,
    causes,
    compare,
    ledger,
    load_report,
    long_work,
    predictions,
    ranking,
    sentences,
    trace,
    two_models,
    words,
)
from benchmarks.pages import attention, journey, layers, memory, server
from benchmarks.pages import predictions as clicks
from benchmarks.timing import Row, rows_or_failure, table

MEASUREMENTS: Sequence[Callable[[], list[Row]]] = (
    ledger.rows,
    adapters.rows,
    compare.rows,
    two_models.rows,
    load_report.rows,
    trace.rows,
    sentences.rows,
    predictions.rows,
    ranking.rows,
    causes.rows,
    words.rows,
    long_work.rows,
    command_line.rows,
    server.rows,
    memory.rows,
    layers.rows,
    clicks.rows,
    journey.rows,
    attention.rows,
)


def main() -> None:
    """Print the table; exit code 1 if a budget is missed."""
    measures = {measure.__module__.removeprefix("benchmarks."): measure for measure in MEASUREMENTS}
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(measures))
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in measures]:
        parser.error(f"no benchmark {unknown[0]!r}; choose from {', '.join(measures)}")
    print(report.machine())
    rows = [row for name in names or measures for row in rows_or_failure(name, measures[name])]
    print(table(rows))
    if not names:
        report.write("bench", rows)
    sys.exit(0 if all(row.met for row in rows) else 1)


if __name__ == "__main__":
    main()
