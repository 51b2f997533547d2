"""The tables of docs/corpus-at-scale.md: what was measured, and what follows from it for more rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.corpus.arithmetic import Estimate, Unit, estimates
from benchmarks.corpus.growth import Growth
from benchmarks.report import ROOT

DOCUMENT = ROOT / "docs" / "corpus-at-scale.md"
MEASURED = Path(__file__).with_name("measured.json")
COUNTS = (10**7, 10**8, 10**9)
BEGIN, END = "<!-- tables of the simulation -->", "<!-- end of the tables -->"
SPANS = (("years", 365 * 86_400.0), ("days", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3))
SIZES = (("TiB", 1024.0**4), ("GiB", 1024.0**3), ("MiB", 1024.0**2), ("KiB", 1024.0))


@dataclass(frozen=True, slots=True)
class Measurements:
    """What a run of the simulation found."""

    when: str
    """Day and machine."""
    growths: Mapping[str, Growth]
    """Name of a quantity -> its growth."""


def stored() -> Measurements:
    """Read the measurements that the document is made from."""
    return msgspec.json.decode(MEASURED.read_bytes(), type=Measurements)


def store(found: Measurements) -> None:
    """Store measurements, beside earlier ones of other quantities, and write the document's tables from all."""
    before = stored().growths if MEASURED.exists() else {}
    merged = Measurements(found.when, {**before, **found.growths})
    MEASURED.write_bytes(msgspec.json.format(msgspec.json.encode(merged), indent=1) + b"\n")
    DOCUMENT.write_text(replaced(DOCUMENT.read_text(encoding="utf-8"), merged), encoding="utf-8")


def replaced(document: str, found: Measurements) -> str:
    """Replace the tables of the document."""
    before, _, rest = document.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{tables(found)}\n\n{END}{rest.partition(END)[2]}"


def tables(found: Measurements) -> str:
    """Return both tables as Markdown."""
    lines = [f"Measured {found.when}.", ""]
    lines += ["| measured | at | found | grows as | the line misses by at most |", "| --- | --- | --- | --- | --- |"]
    for name, growth in found.growths.items():
        unit: Unit = "seconds" if "seconds" in name else "bytes"
        sizes = ", ".join(f"{size:,}" for size in growth.sizes)
        values = ", ".join(text(value, unit) for value in growth.values)
        grows = f"{growth.law}; last step as {growth.of}^{growth.exponent():.2f}"
        lines.append(f"| {name} | {sizes} {growth.of} | {values} | {grows} | {growth.error():.0%} |")
    lines += ["", "What follows from it by arithmetic:", ""]
    lines.append("| | " + " | ".join(f"{count:,} rows" for count in COUNTS) + " | measured up to |")
    lines.append("| --- |" + " --- |" * (len(COUNTS) + 1))
    for each in estimates(found.growths, COUNTS):
        values = " | ".join(text(value, each.unit) for value in each.values)
        lines.append(f"| {each.job} | {values} | {_reach(each)} |")
    return "\n".join(lines)


def text(value: float, unit: Unit) -> str:
    """Write a value with two digits that count, in a unit that suits its size; counts with all their digits."""
    if unit == "count":
        return f"{value:,.0f}"
    scales: Sequence[tuple[str, float]] = SPANS if unit == "seconds" else SIZES
    name, scale = next(((name, scale) for name, scale in scales if value >= scale), scales[-1])
    scaled = value / scale
    return f"{scaled:,.0f} {name}" if scaled >= 10 else f"{scaled:.2g} {name}"


def _factor(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"


def _reach(each: Estimate) -> str:
    """Say how far the largest measurement is from the numbers of rows."""
    if not each.of:
        return each.source
    factors = ", ".join("reached" if factor <= 1 else f"{_factor(factor)} times as far" for factor in each.factors)
    return f"{each.measured:,} {each.of}: {factors}"
