"""Benchmark corpora and print one table: `make bench-corpus`."""

import argparse
import sys
import time

from benchmarks import report
from benchmarks.corpus import embedding, search
from benchmarks.timing import table


def main() -> None:
    """Print the table; exit code 1 if a budget is missed. A run with fewer rows writes no document."""
    parser = argparse.ArgumentParser(prog="make bench-corpus", description="Measure corpora.")
    parser.add_argument("--rows", type=int, default=40_000, help="rows of the longest input")
    count = parser.parse_args().rows
    print(report.machine(), time.strftime("%H:%M"))
    lines = [*embedding.rows(count), *search.rows()]
    print(table(lines))
    if count >= parser.get_default("rows"):
        report.write("bench-corpus", lines)
    sys.exit(0 if all(line.met for line in lines) else 1)


if __name__ == "__main__":
    main()
