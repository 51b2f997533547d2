"""The theme in which figures are taken away: one choice for all of them, kept for the session."""

import streamlit as st

from bertviz_core.figures.base.style import THEMES

AS_SHOWN = "as shown"
CHOICES = (AS_SHOWN, *THEMES)
_CHOSEN = "picture_theme"
FILES = "files"
"""Name of the choice in a link."""


def picture_theme(key: str) -> str:
    """The theme of the files of a figure, AS_SHOWN for that of the page; what one row chooses, all rows have."""
    name = f"{key}_theme"
    st.session_state[name] = st.session_state.get(_CHOSEN, AS_SHOWN)
    return str(
        st.segmented_control(
            "Theme of the files",
            CHOICES,
            key=name,
            required=True,
            label_visibility="collapsed",
            on_change=_take,
            args=(name,),
            width="content",
            help="How PNG, SVG and HTML are drawn. Print is white and can be read without colours.",
        )
    )


def chosen_theme() -> str:
    """The theme chosen for all files; "" for that of the page."""
    chosen = str(st.session_state.get(_CHOSEN, AS_SHOWN))
    return "" if chosen == AS_SHOWN else chosen


def take_theme(name: str) -> None:
    """Take the theme that a link names; a strange word changes nothing."""
    if name in THEMES:
        st.session_state[_CHOSEN] = name


def _take(name: str) -> None:
    st.session_state[_CHOSEN] = st.session_state[name]
