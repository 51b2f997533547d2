"""Report the clicked cell of a heatmap to the server."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

CELL = "cell"
CHOOSING = (
    *("checkpoint_weights", "checkpoint_changes", "predictions_lens", "predictions_confusion", "causes_effects"),
    "attention_changed",
)
"""Charts in which a click selects something that is in the address anyway; their cell is not."""
_component = st.components.v2.component(
    "cell_click", html="<span></span>", js=Path(__file__).with_name("cell_click.js").read_text(encoding="utf-8")
)


def cell_click(chart_key: str, on_cell: Callable[[int, int], None] | None = None) -> tuple[int, int] | None:
    """Return (row, column) of the cell last clicked in a chart, in the chart's own indices; None for none.

    Rows and columns are swapped if the trace's meta says that the map is transposed. The address has the chart and its
    cell, as in cell=representations_values.3.17. The caller checks whether such a cell exists.

    Args:
        chart_key: key of the chart.
        on_cell: called with row and column of a new click before the script runs, so that it may set other widgets.
    """
    state = _component(
        key=f"{chart_key}_cell",
        data={"chart": chart_key},
        default={"cell": None},
        on_cell_change=partial(_report, f"{chart_key}_cell", on_cell),
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


def _report(key: str, on_cell: Callable[[int, int], None] | None) -> None:
    state = st.session_state.get(key)
    if on_cell is not None and state and state["cell"]:
        on_cell(int(state["cell"][0]), int(state["cell"][1]))


def _in_address(chart_key: str) -> tuple[int, int] | None:
    """The chart's cell in the address; None where it is missing or malformed."""
    match = re.fullmatch(rf"{re.escape(chart_key)}\.([0-9]{{1,6}})\.([0-9]{{1,6}})", st.query_params.get(CELL, ""))
    return (int(match[1]), int(match[2])) if match else None
