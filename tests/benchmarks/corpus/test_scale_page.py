"""The document has the tables of what was measured, and no figure beside them."""

import re

import pytest

from benchmarks.corpus.growth import Growth
from benchmarks.corpus.scale_page import BEGIN, DOCUMENT, END, Measurements, replaced, stored, tables, text

FIGURE = re.compile(r"\d[\d,.]* ?(ms|s|min|h|hours|days|KiB|MiB|GiB|TiB|MB|GB|TB)\b")


def test_the_tables_of_the_document_are_those_of_the_measurements() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    assert replaced(document, stored()) == document, "make the document again: make simulate-corpus"


def test_no_measured_figure_is_written_by_hand() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    prose = document.partition(BEGIN)[0] + document.partition(END)[2]
    assert [match[0] for match in FIGURE.finditer(prose)] == []


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (100_001.0, "count", "100,001"),
        (0.0042, "seconds", "4.2 ms"),
        (0.0, "seconds", "0 ms"),
        (59.0, "seconds", "59 s"),
        (90.0, "seconds", "1.5 min"),
        (86_400.0 * 400, "seconds", "1.1 years"),
        (1_023.0, "bytes", "1 KiB"),
        (1.5 * 1024**4, "bytes", "1.5 TiB"),
    ],
)
def test_a_value_has_two_digits_and_a_unit(value: float, unit: str, expected: str) -> None:
    assert text(value, unit) == expected


def test_a_table_says_how_far_it_goes_beyond_what_was_measured() -> None:
    exact = Growth("n", "rows", (10**5, 10**6), (0.05, 0.5))
    found = tables(Measurements("today", {"exact search seconds": exact}))
    assert (
        "| exact search seconds | 100,000, 1,000,000 rows | 50 ms, 500 ms | n; last step as rows^1.00 | 0% |" in found
    )
    last = "1,000,000 rows: 10 times as far, 100 times as far, 1,000 times as far"
    assert f"| exact search, the file of vectors in memory | 5 s | 50 s | 8.3 min | {last} |" in found
