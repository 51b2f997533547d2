"""The open text of a list: a number field beside the table, which a click on a row fills, too."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.questions.view import LONG_LIST

WIDTH = 480
"""Pixels of the field."""
NARROW, SHOWN = 190, 90
"""Pixels of the number of a text of a long list, and most characters of a text of a short one."""


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


def text_select(key: str, label: str, names: Sequence[str], first: int) -> int:
    """Index of a text of a list, which is kept in the session, since an address has no text; a number in a long list.

    Args:
        key: session key of the index.
        label: label of the widget.
        names: the texts.
        first: the default.
    """
    count = len(names)
    if not 0 <= int(st.session_state.get(key, -1)) < count:
        st.session_state[key] = first
    if count > LONG_LIST:
        place = int(st.session_state[key]) + 1
        return int(st.number_input(label, 1, count, place, step=1, key=f"{key}_number", width=NARROW)) - 1
    shown = [f"{place + 1}  {text[:SHOWN]}" for place, text in enumerate(names)]
    chosen = st.selectbox(label, range(count), key=key, persist_state="session", format_func=shown.__getitem__)
    return int(chosen or 0)
