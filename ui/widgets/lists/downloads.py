"""Downloads of a table without a figure: CSV for spreadsheets, Parquet for programs."""

import io
from collections.abc import Callable

import pandas as pd
import streamlit as st

from bertviz_core.tables.typeset import csv_text
from bertviz_core.text import repair_surrogates
from ui.widgets.figure_block import file_name

PARQUET = "application/vnd.apache.parquet"


def table_files(table: Callable[[], pd.DataFrame], key: str, filename: str) -> None:
    """Show a row of download buttons; the table is computed when one of them is clicked.

    Args:
        table: computes the table.
        key: key of the row, which begins with the page's name.
        filename: description of the content, without an extension.
    """
    name = file_name(key, filename)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            "CSV", lambda: csv_text(table()), f"{name}.csv", "text/csv", key=f"{key}_csv", on_click="ignore"
        )
        st.download_button(
            "Parquet",
            lambda: parquet_bytes(table()),
            f"{name}.parquet",
            PARQUET,
            key=f"{key}_parquet",
            on_click="ignore",
        )


def parquet_bytes(table: pd.DataFrame) -> bytes:
    """Encode the table as Parquet; lone surrogates, which cannot be encoded, are replaced."""
    plain = table.map(lambda cell: repair_surrogates(cell) if isinstance(cell, str) else cell)
    target = io.BytesIO()
    plain.to_parquet(target, index=False)
    return target.getvalue()
