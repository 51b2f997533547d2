"""Tells the server which cell of a heatmap was clicked; nothing of its own is seen."""

import re
from pathlib import Path

import streamlit as st

CELL = "cell"
CHOOSING = ("checkpoint_weights", "checkpoint_changes", "predictions_lens", "predictions_confusion", "causes_effects")
"""Charts whose cell only chooses what the address names by itself: a link that named the cell could contradict it."""
_component = st.components.v2.component(
    "cell_click", html="<span></span>", js=Path(__file__).with_name("cell_click.js").read_text(encoding="utf-8")
)


def cell_click(chart_key: str) -> tuple[int, int] | None:
    """(row, column) of the cell that was clicked last in the chart of this key, in the chart's own numbers.

    A map whose trace says in its meta that it is turned has its rows side by side.

    The address names the chart with its cell, as in cell=representations_values.3.17, so that a link restores it;
    whether such a cell exists is for the caller to check.
    """
    state = _component(
        key=f"{chart_key}_cell",
        data={"chart": chart_key},
        default={"cell": None},
        on_cell_change=lambda: None,
        height="content",
    )
    named = chart_key not in CHOOSING
    if not state.cell:
        return _in_address(chart_key) if named else None
    row, column = int(state.cell[0]), int(state.cell[1])
    text = f"{chart_key}.{row}.{column}"
    if named and st.query_params.get(CELL) != text:
        st.query_params[CELL] = text
    return row, column


def _in_address(chart_key: str) -> tuple[int, int] | None:
    """The cell of this chart that the address names; a stranger's word, of which anything malformed is ignored."""
    match = re.fullmatch(rf"{re.escape(chart_key)}\.([0-9]{{1,6}})\.([0-9]{{1,6}})", st.query_params.get(CELL, ""))
    return (int(match[1]), int(match[2])) if match else None
