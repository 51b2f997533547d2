"""Tells the server how wide the place of the figures is, by steps, and for a frame how high it is; nothing is seen."""

from pathlib import Path

import streamlit as st

from bertviz_core.figures.base.style import WIDE, WIDTHS, width_class
from ui.session import WINDOW_WIDTH, component_state

KEY = "page_width"
"""Of the component; its stylesheet takes the room from it that an element of a page has."""
_component = st.components.v2.component(
    KEY, html="<div></div>", js=Path(__file__).with_name("page_width.js").read_text(encoding="utf-8")
)


MOST_PIXELS = 10_000
"""Of a window's height."""
MARGINS, PHONE_MARGINS, SIDEBAR = 80, 32, 300
"""Pixels beside the figures, on a phone, and of the sidebar."""
FOLDED, PHONE = 768, 640
"""Windows narrower than these have their sidebar folded; narrow margins (see ui/server/frame.css)."""


def page_width(tall: bool = False) -> int:
    """The width of WIDTHS that the page has; by the width of the window until the browser has said another.

    The browser speaks only where that is not so and when the reader changes the window or folds the sidebar, so that
    no page runs twice.

    Args:
        tall: whether the browser is to say the height of the window as well, which `window_height` then knows.
    """
    usual = first_width(str(st.context.cookies.get(WINDOW_WIDTH, "")))
    state = _component(
        key=KEY,
        data={"widths": list(WIDTHS), "usual": usual, "tall": tall},
        default={"pixels": None, "height": None},
        on_pixels_change=lambda: None,
        on_height_change=lambda: None,
        height="content",
    )
    return state.pixels if state.pixels in WIDTHS else usual


def window_height() -> int:
    """Pixels of the window's height, as the browser said it; 0 before it has."""
    said = getattr(component_state(KEY), "height", None)
    return said if isinstance(said, int) and 0 < said <= MOST_PIXELS else 0


def first_width(window: str) -> int:
    """The width of WIDTHS of the figures' place in a window as its cookie says it; a desk's where it says no number.

    Args:
        window: pixels of the window.
    """
    if not (window.isascii() and window.isdigit() and len(window) < 6):
        return WIDE
    pixels = int(window)
    beside = (PHONE_MARGINS if pixels <= PHONE else MARGINS) + (SIDEBAR if pixels >= FOLDED else 0)
    return width_class(pixels - beside)
