"""Measure what readers wait for on each page, and print one table: `make bench-pages`.

The rows are the first picture of every page and every control of every view.
"""

import sys

from benchmarks import report
from benchmarks.pages import controls, first_pictures
from benchmarks.timing import rows_or_failure, table


def main() -> None:
    """Print the table; exit code 1 if a budget is missed."""
    print(report.machine())
    parts = {"first pictures": first_pictures.rows, "controls": controls.rows}
    rows = [row for name, measure in parts.items() for row in rows_or_failure(name, measure)]
    print(table(rows))
    report.write("bench-pages", rows)
    sys.exit(0 if all(row.met for row in rows) else 1)


if __name__ == "__main__":
    main()
