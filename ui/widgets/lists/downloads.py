"""The files of a table that belongs to no figure: CSV for spreadsheets, Parquet for programs."""

import io
from collections.abc import Callable

import pandas as pd
import streamlit as st

from bertviz_core.text import repair_surrogates
from ui.widgets.figure_block import csv_text, file_name

PARQUET = "application/vnd.apache.parquet"


def table_files(table: Callable[[], pd.DataFrame], key: str, filename: str) -> None:
    """A row of buttons; the table is made when one of them is used.

    Args:
        table: makes the table.
        key: of the row, which begins with the page's name.
        filename: what is seen, without an ending.
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
    """The table as Parquet; half characters, which no file can hold, repaired."""
    plain = table.map(lambda cell: repair_surrogates(cell) if isinstance(cell, str) else cell)
    target = io.BytesIO()
    plain.to_parquet(target, index=False)
    return target.getvalue()
