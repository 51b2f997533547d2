"""Tables as LaTeX and Markdown, read back by a parser of their own and by markdown-it."""

import re

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

from bertviz_core.tables.typeset import MOST_ROWS, latex_table, markdown_table

TEXTS = ("50% & more", "a_b\\c", "x|y", "$5 {#1}", "*[bold]* <b> `code`", "two\nlines", "~ ^ !", "שלום", "")
TABLE = pd.DataFrame({"to_ken": TEXTS, "count": range(len(TEXTS)), "share": np.linspace(-0.5, 1e-7, len(TEXTS))})
UNESCAPED = {r"\textbackslash ": "\\", r"\textasciitilde ": "~", r"\textasciicircum ": "^"}


def latex_cells(text: str) -> list[list[str]]:
    """Header and rows of a LaTeX table."""
    body = text.partition(r"\toprule")[2].partition(r"\bottomrule")[0].replace(r"\midrule", "")
    rows = [row for row in re.split(r"(?<!\\)\\\\\s*\n", body) if row.strip()]
    return [[_plain(cell) for cell in re.split(r"(?<!\\)&", row)] for row in rows]


def _plain(cell: str) -> str:
    cell = cell.strip().replace(r"\space ", "\0")
    if cell.startswith("$"):
        return cell.strip("$").replace(r"\mathrm{e}", "e")
    for written, sign in UNESCAPED.items():
        cell = cell.replace(written, sign)
    return re.sub(r"\\([&%$#_{}])", r"\1", cell).replace("\0", " ")


def markdown_cells(text: str) -> list[list[str]]:
    """Header and rows of a Markdown table, as CommonMark with tables reads them."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "tr_open":
            rows.append([])
        if token.type == "inline" and rows:
            assert all(child.type in ("text", "text_special") for child in token.children or ()), token.content
            rows[-1].append("".join(child.content for child in token.children or ()))
    return rows


@pytest.mark.parametrize(("write", "read"), [(latex_table, latex_cells), (markdown_table, markdown_cells)])
def test_every_cell_is_read_back(write, read) -> None:
    header, *rows = read(write(TABLE, "50% of_all"))
    assert header == list(TABLE.columns)
    assert [row[0] for row in rows] == [" ".join(text.split()) for text in TEXTS]
    assert [int(row[1]) for row in rows] == list(TABLE["count"])
    np.testing.assert_allclose([float(row[2]) for row in rows], TABLE["share"], rtol=1e-5)


def test_latex_has_the_rules_of_booktabs_and_an_escaped_caption() -> None:
    text = latex_table(TABLE, r"50% of \all")
    assert r"\caption{50\% of \textbackslash{}all}" in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{lrr}"):
        assert rule in text


@pytest.mark.parametrize("write", [latex_table, markdown_table])
def test_a_long_table_says_how_many_rows_it_shows(write) -> None:
    text = write(pd.DataFrame({"row": range(MOST_ROWS + 1)}))
    assert "The first 500 of 501 rows." in text
    assert "501 &" not in text


def test_missing_numbers_are_empty_or_a_dash() -> None:
    table = pd.DataFrame({"a": [1.5, float("nan")]})
    assert markdown_cells(markdown_table(table))[2] == [""]
    assert latex_cells(latex_table(table))[2] == ["--"]


def test_cells_of_any_type_are_escaped_in_latex() -> None:
    table = pd.DataFrame({"a": [["x_y", "\\input{z}"], {"k&": 1}, ("50%",), {"~"}, b"#", None, 1.5]})
    rows = [line for line in latex_table(table).splitlines() if line.endswith(r"\\") and line != r"a \\"]
    for row, mark in zip(rows, (r"\_", r"\&", r"50\%", "textasciitilde", r"\#", "--", "1.5"), strict=True):
        assert mark in row
    assert not any(re.search(r"(?<!\\)[_&%#~]|\\input", row) for row in rows)
