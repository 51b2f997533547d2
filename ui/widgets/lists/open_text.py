"""The open text of a list: a number field beside the table, which a click on a row fills, too."""

from collections.abc import Sequence

import streamlit as st

WIDTH = 480
"""Pixels of the field."""


def opened_select(opened: str, rows: Sequence[int], shown: str) -> int:
    """Choose the open text among the rows of a table.

    Args:
        opened: session key of its number, from 1.
        rows: index of each row's text, one at least.
        shown: how these rows are described, such as "shown".

    Returns:
        Index of the open text.
    """
    stored = st.session_state.get(opened)
    if isinstance(stored, int) and stored > len(rows):  # the table has become shorter
        st.session_state[opened] = 1
    label = f"Open text, 1 to {len(rows):,} of those {shown}"
    words = "A click on a row of the table chooses it, too."
    place = st.number_input(
        label, 1, len(rows), 1, step=1, key=opened, persist_state="session", width=WIDTH, help=words
    )
    return rows[int(place) - 1]


def open_row(table: str, opened: str) -> None:
    """Open the text of the selected row; a callback of `numbers_table`.

    Args:
        table: session key of the table.
        opened: session key of the open text's number, from 1.
    """
    event = st.session_state.get(table)
    rows = event["selection"]["rows"] if event else []
    if rows:
        st.session_state[opened] = int(rows[0]) + 1
