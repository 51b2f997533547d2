"""Run every benchmark and print one table: the work, our median, the alternative's median, the budget."""

import sys
import traceback
from collections.abc import Callable, Sequence

from benchmarks import report
from benchmarks.models import causes, compare, ledger, load_report, predictions, ranking, sentences, trace, words
from benchmarks.pages import attention, journey, layers, server
from benchmarks.pages import predictions as clicks
from benchmarks.timing import Row, table

MEASUREMENTS: Sequence[Callable[[], list[Row]]] = (
    ledger.rows,
    compare.rows,
    load_report.rows,
    trace.rows,
    sentences.rows,
    predictions.rows,
    ranking.rows,
    causes.rows,
    words.rows,
    server.rows,
    layers.rows,
    clicks.rows,
    journey.rows,
    attention.rows,
)


def main() -> None:
    """Print the table; exit code 1 if a budget is missed."""
    print(report.machine())
    rows = [row for measure in MEASUREMENTS for row in _measured(measure)]
    print(table(rows))
    report.write("bench", rows)
    sys.exit(0 if all(row.met for row in rows) else 1)


def _measured(measure: Callable[[], list[Row]]) -> list[Row]:
    """Rows of a benchmark; one that fails becomes a row, too, and the others continue."""
    try:
        return measure()
    except Exception as error:  # any error of a program, a browser or a peer
        traceback.print_exc()
        return [Row(measure.__module__.rpartition(".")[2], f"broke off: {type(error).__name__}", "", "", False)]


if __name__ == "__main__":
    main()
