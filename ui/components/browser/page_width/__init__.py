"""Tells the server how wide the place of the figures is, by steps, so that they are drawn for it; nothing is seen."""

from pathlib import Path

import streamlit as st

from bertviz_core.figures.base.style import WIDE, WIDTHS

KEY = "page_width"
"""Of the component; its stylesheet takes the room from it that an element of a page has."""
_component = st.components.v2.component(
    KEY, html="<div></div>", js=Path(__file__).with_name("page_width.js").read_text(encoding="utf-8")
)


def page_width() -> int:
    """The width of WIDTHS that the page has; that of a desk until the browser has said another.

    The browser speaks only where that is not so and when the reader changes the window or folds the sidebar, so that
    on a desk no page runs twice.
    """
    state = _component(
        key=KEY,
        data={"widths": list(WIDTHS), "usual": WIDE},
        default={"pixels": None},
        on_pixels_change=lambda: None,
        height="content",
    )
    return state.pixels if state.pixels in WIDTHS else WIDE
