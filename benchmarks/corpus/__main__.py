"""Benchmark corpora and print one table: `make bench-corpus`, and for more rows than fit `make simulate-corpus`."""

import argparse
import os
import sys
import time

from benchmarks import report
from benchmarks.corpus import embedding, scale_page, search, simulate
from benchmarks.timing import table

ROWS = 40_000


def main() -> None:
    """Print the table; exit code 1 if a budget is missed. A run with fewer rows writes no document."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus", description="Measure corpora.")
    parser.add_argument("--rows", type=int, help=f"rows of the longest input ({ROWS}, simulated {simulate.ROWS})")
    parser.add_argument("--simulate", action="store_true", help="made vectors, growth, and arithmetic for more rows")
    parser.add_argument("--parts", nargs="*", default=(), metavar="PART", help=f"only {', '.join(simulate.PARTS)}")
    options = parser.parse_args()
    print(report.machine(), time.strftime("%H:%M"))
    if options.simulate:
        _simulate(options.rows or simulate.ROWS, options.parts)
        return
    count = options.rows or ROWS
    lines = [*embedding.rows(count), *search.rows()]
    print(table(lines))
    if count >= ROWS:
        report.write("bench-corpus", lines)
    sys.exit(0 if all(line.met for line in lines) else 1)


def _simulate(rows: int, parts: list[str]) -> None:
    growths = simulate.growths(simulate.Sizes.upto(rows), parts)
    load = f"with a load of {os.getloadavg()[2]:.0f} on them" if hasattr(os, "getloadavg") else "with an unknown load"
    found = scale_page.Measurements(f"{time.strftime('%Y-%m-%d')}, on {report.machine()}, {load}", growths)
    print(scale_page.tables(found))
    if rows >= simulate.ROWS:
        scale_page.store(found)


if __name__ == "__main__":
    main()
