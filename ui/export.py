"""How every figure is drawn and taken away: the chart, its table and the same row of downloads below."""

import re
from collections.abc import Callable
from typing import Any, Literal

import pandas as pd
import streamlit as st

from figures.export import standalone_html
from ui.components.figure_download import figure_download

CHART_CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "scrollZoom": False,
}


def chart(figure: Any, key: str, alt: str, on_select: Callable[[], None] | None = None) -> None:
    """A figure as wide as its place; on_select is called when a part of it is clicked."""
    st.plotly_chart(
        figure,
        key=key,
        theme=None,
        alt=alt,
        config=CHART_CONFIG,
        on_select=on_select or "ignore",
        selection_mode="points",
    )


def download_row(figure: Any, key: str, filename: str, caption: str, table: pd.DataFrame) -> None:
    """PNG, SVG, HTML of the figure and CSV of its numbers.

    Args:
        figure: the plotly figure that stands on the page.
        key: key of its chart.
        filename: what is seen and of which model, without an ending.
        caption: one line for below the figure.
        table: the numbers.
    """
    name = re.sub(r"[^\w.-]+", "-", filename).strip("-")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        figure_download(key, name)
        st.download_button(
            "HTML",
            lambda: standalone_html(figure, filename, caption),
            f"{name}.html",
            "text/html",
            key=f"{key}_html",
            help="One file with the figure inside; opens without a network.",
            on_click="ignore",
        )
        st.download_button(
            "CSV", lambda: csv_text(table), f"{name}.csv", "text/csv", key=f"{key}_csv", on_click="ignore"
        )


def numbers_table(
    table: pd.DataFrame, alt: str, height: int | Literal["auto"] = "auto", first: int | None = None
) -> None:
    """A table with separators in its whole numbers; `first` is the width of its first column in pixels."""
    columns: dict[str, Any] = {
        str(name): st.column_config.NumberColumn(format="localized") for name in table.select_dtypes(include="integer")
    }
    if first is not None:
        columns[table.columns[0]] = st.column_config.Column(width=first)
    st.dataframe(table, hide_index=True, height=height, alt=alt, column_config=columns)


def folded_table(key: str, table: pd.DataFrame, alt: str) -> None:
    """A table that stands folded below its figure, sent when it is opened."""
    with st.expander("The numbers as a table", key=f"{key}_table", on_change="rerun") as place:
        if place.open:
            numbers_table(table, alt)


def explained(key: str, words: str, code: str) -> None:
    """How a figure's numbers are made, with the lines of Python that reproduce them.

    Filled when it is opened: the browser's module that colours code is large.
    """
    with st.expander("How this is computed", key=f"{key}_explained", on_change="rerun") as place:
        if place.open:
            st.markdown(words)
            st.code(code, language="python")


def csv_text(table: pd.DataFrame) -> str:
    """The table as CSV; a text that a spreadsheet would run as a formula gets an apostrophe in front."""
    safe = table.copy()
    for column in safe.select_dtypes(exclude=["number", "bool"]):
        safe[column] = [f"'{cell}" if str(cell)[:1] in "=+-@\t\r" and str(cell) else cell for cell in safe[column]]
    return safe.to_csv(index=False, lineterminator="\r\n")  # as RFC 4180; a lone return in a cell is then quoted
