"""The theme of downloaded figures: one choice for all of them, kept for the session."""

import streamlit as st

from bertviz_core.figures.base.style import THEMES

AS_SHOWN = "as on the page"
CHOICES = (AS_SHOWN, *THEMES)
_CHOSEN = "picture_theme"
FILES = "files"
"""Name of the choice in a link."""


def theme_select(key: str) -> None:
    """A popover with the theme of downloads, which all figures share."""
    name = f"{key}_theme"
    current = str(st.session_state.get(_CHOSEN, AS_SHOWN))
    with st.popover(f"Colours: {current}", key=f"{key}_colours"):
        st.session_state[name] = current
        st.segmented_control(
            "Colours of PNG, SVG and HTML",
            CHOICES,
            key=name,
            required=True,
            on_change=_take,
            args=(name,),
            width="content",
            help="For the files of all figures. Print is white and can be read without colours.",
        )


def chosen_theme() -> str:
    """The theme of downloads; "" for that of the page."""
    chosen = str(st.session_state.get(_CHOSEN, AS_SHOWN))
    return "" if chosen == AS_SHOWN else chosen


def take_theme(name: str) -> None:
    """Use the theme named by a link; other words are ignored."""
    if name in THEMES:
        st.session_state[_CHOSEN] = name


def _take(name: str) -> None:
    st.session_state[_CHOSEN] = st.session_state[name]
