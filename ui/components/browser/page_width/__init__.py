"""Report the available width for figures to the server, and in a frame also its height."""

from pathlib import Path

import streamlit as st

from bertviz_core.figures.base.style import WIDE, WIDTHS, width_class
from ui.session import WINDOW_WIDTH, component_state

KEY = "page_width"
"""Key of the component; its stylesheet makes it take no space."""
_component = st.components.v2.component(
    KEY, html="<div></div>", js=Path(__file__).with_name("page_width.js").read_text(encoding="utf-8")
)


MOST_PIXELS = 10_000
"""Steps of a window's height in pixels."""
MARGINS, PHONE_MARGINS, SIDEBAR = 80, 32, 300
"""Pixels beside the figures, on a phone, and of the sidebar."""
FOLDED, PHONE = 768, 640
"""Windows narrower than these have a folded sidebar and narrow margins, respectively (see ui/server/frame.css)."""


def page_width(tall: bool = False, enlarged: float = 1.0) -> int:
    """The page's width, one of WIDTHS, derived from the window's width until the browser reports another.

    The browser reports only a different width, or one that changes with the window or the sidebar, so that no page
    runs twice.

    Args:
        tall: whether the browser also reports the window's height for `window_height`.
        enlarged: how many times figures are enlarged, so that the page has room for so much narrower ones.
    """
    usual = first_width(str(st.context.cookies.get(WINDOW_WIDTH, "")))
    state = _component(
        key=KEY,
        data={"widths": list(WIDTHS), "usual": usual, "tall": tall, "enlarged": enlarged},
        default={"pixels": None, "height": None},
        on_pixels_change=lambda: None,
        on_height_change=lambda: None,
        height="content",
    )
    return state.pixels if state.pixels in WIDTHS else usual


def window_height() -> int:
    """The window's height in pixels; 0 before the browser has reported it."""
    height = getattr(component_state(KEY), "height", None)
    return height if isinstance(height, int) and 0 < height <= MOST_PIXELS else 0


def first_width(window: str) -> int:
    """The width for figures, one of WIDTHS, for the window width in a cookie; that of a desktop without a cookie."""
    if not (window.isascii() and window.isdigit() and len(window) < 6):
        return WIDE
    pixels = int(window)
    beside = (PHONE_MARGINS if pixels <= PHONE else MARGINS) + (SIDEBAR if pixels >= FOLDED else 0)
    return width_class(pixels - beside)
