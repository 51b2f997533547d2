"""Tells the server which cell of a heatmap was clicked; nothing of its own is seen."""

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "cell_click", html="<span></span>", js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
)


def cell_click(chart_key: str) -> tuple[int, int] | None:
    """(row, column) of the cell that was clicked last in the chart of this key, in the chart's own numbers."""
    found = _component(
        key=f"{chart_key}_cell",
        data={"chart": chart_key},
        default={"cell": None},
        on_cell_change=lambda: None,
        height="content",
    )
    return (int(found.cell[0]), int(found.cell[1])) if found.cell else None
