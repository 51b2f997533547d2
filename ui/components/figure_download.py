"""Buttons that save a chart as PNG (twice its size) or SVG, in the browser: the server needs no image renderer."""

from pathlib import Path

import streamlit as st

_HTML = '<div><button data-format="png">PNG</button><button data-format="svg">SVG</button></div>'
_CSS = """
div { display: flex; gap: 0.75rem; }
button {
  font: inherit; font-size: 0.875rem; line-height: 1.6; min-height: 2.5rem; padding: 0.25rem 0.9rem; cursor: pointer;
  color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.5rem);
}
button:hover, button:focus-visible {
  border-color: var(--st-primary-color); color: var(--st-primary-color); outline: none;
}
button:focus-visible { box-shadow: 0 0 0 2px var(--st-primary-color); }
"""
_component = st.components.v2.component(
    "figure_download", html=_HTML, css=_CSS, js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
)


def figure_download(chart_key: str, filename: str) -> None:
    """The two buttons for the chart of this key."""
    _component(
        key=f"{chart_key}_images", data={"chart": chart_key, "filename": filename}, width="content", height="content"
    )
