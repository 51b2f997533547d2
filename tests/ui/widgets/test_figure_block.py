"""The CSV of a table: unchanged numbers, and no cell that a spreadsheet executes."""

import csv
import io
import warnings
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.tables.typeset import csv_text
from ui.components import chart
from ui.widgets import figure_block

FORMULAS = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    '=HYPERLINK("http://evil.example","x")',
    "=",
    "-",
    "=a,b\nc",
    "\n=1+1",
    "＝1+1",
    "＋1",
    "－1",
    "＠SUM(1)",
)
RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_numbers_of_a_column_have_four_digits_behind_the_point_where_these_show_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: dict[str, Any] = {}
    monkeypatch.setattr(figure_block.st, "dataframe", lambda _, **how: shown.update(how["column_config"]))
    table = pd.DataFrame({"cosine": [1.0, 0.665, np.nan, 0.0], "difference": [1e-7, 0.5, 0, 0], "count": [1, 2, 3, 4]})
    figure_block.numbers_table(table, "words")
    assert {name: each["type_config"]["format"] for name, each in shown.items()} == {
        "cosine": "%.4f",
        "count": "localized",
    }


def test_numbers_below_zero_are_written_with_a_minus_and_stay_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: dict[str, Any] = {}
    monkeypatch.setattr(figure_block.st, "dataframe", lambda data, **how: sent.update(how, data=data))
    table = pd.DataFrame({"cosine": [-0.5, 0.25, np.nan], "share": [-0.125, 0.5, 1], "tokens": [1, 2, 3]})
    table["rise"] = [-1_200, 0, 3]
    figure_block.numbers_table(table, "words", formats={"share": "%.1f ×"})
    pd.testing.assert_frame_equal(sent["data"].data, table)
    written = sent["data"].to_html()
    for cell in ("−0.5000", "0.2500", "−0.1 ×", "−1,200", "0"):
        assert f">{cell}</td>" in written
    assert "nan" not in written
    assert list(sent["column_config"]) == ["tokens"]  # a column's format would override the formatted cells


def test_the_place_of_a_chart_is_as_high_as_its_figure_before_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[int] = []
    monkeypatch.setattr(chart, "_chart", lambda height, **how: places.append(height))
    for layout in ({"height": 321}, {}):
        figure_block.chart(FigureSpec("title", "alt", lambda _, layout=layout: go.Figure(layout=layout)), "a_chart")
    assert places == [321, 450]  # plotly's default height for a figure without one


@pytest.mark.parametrize("cell", FORMULAS)
def test_a_formula_becomes_text(cell: str) -> None:
    rows = read(csv_text(pd.DataFrame({"name": [cell], "count": [7]})))
    assert rows == [["name", "count"], [f"'{cell}", "7"]]


def test_no_head_is_run_as_a_formula_and_heads_may_be_equal() -> None:
    cells = [["=1", 7, "-2"]]
    table = pd.DataFrame(cells, columns=["+", "a", "+"])
    assert read(csv_text(table)) == [["'+", "a", "'+"], ["'=1", "7", "'-2"]]
    assert table.to_numpy().tolist() == cells


@settings(deadline=None)
@example("a\r=1")
@example("a\n=1")
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_no_cell_begins_like_a_formula_and_no_word_is_lost(cell: str) -> None:
    header, row = read(csv_text(pd.DataFrame({"count": [7], "name": [cell]})))
    (_, found) = row
    assert header == ["count", "name"]
    assert not found.startswith(RISKY)
    assert found in (cell, f"'{cell}")


def test_numbers_and_truths_stay_what_they_are() -> None:
    table = pd.DataFrame({"count": [-3, 22_713_216], "share": [-0.25, 1e-9], "trainable": [True, False]})
    assert csv_text(table).splitlines() == ["count,share,trainable", "-3,-0.25,True", "22713216,1e-09,False"]
    back = pd.read_csv(io.StringIO(csv_text(table)))
    pd.testing.assert_frame_equal(back, table)


def test_plain_words_commas_and_quotes_come_back() -> None:
    names = ["embeddings.LayerNorm.weight", "(30522, 384)", 'a "quoted" name', "größer 模型", "12 × 7 + 1", ""]
    assert [row[0] for row in read(csv_text(pd.DataFrame({"name": names, "x": 1})))[1:]] == names


def test_the_table_itself_is_not_changed() -> None:
    table = pd.DataFrame({"name": ["=1+1", "a"], "count": [1, 2]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        csv_text(table)
    assert list(table["name"]) == ["=1+1", "a"]


def test_an_empty_table_keeps_its_header() -> None:
    assert read(csv_text(pd.DataFrame({"name": [], "count": []}))) == [["name", "count"]]
