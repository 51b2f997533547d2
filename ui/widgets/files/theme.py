"""The theme and the size of downloaded figures: one choice for all of them, kept for the session."""

import streamlit as st

from bertviz_core.figures.base.export import COLUMN, COLUMN_MM, SLIDE, SLIDE_PIXELS
from bertviz_core.figures.base.style import THEMES

AS_SHOWN = "as on the page"
CHOICES = (AS_SHOWN, *THEMES)
MEDIA = {AS_SHOWN: "", "Slide 16:9": SLIDE, "Paper column": COLUMN}
"""Label of a size -> the medium of the files."""
_CHOSEN, _SIZE = "picture_theme", "picture_size"
FILES = "files"
"""Name of the choice in a link."""


def theme_select(key: str) -> None:
    """A popover with the theme and the size of downloads, which all figures share."""
    name, size_name = f"{key}_theme", f"{key}_size"
    current, size = str(st.session_state.get(_CHOSEN, AS_SHOWN)), _size()
    chosen = [each for each in (current, size) if each != AS_SHOWN]
    with st.popover(f"Colours and size: {', '.join(chosen) or AS_SHOWN}", key=f"{key}_colours"):
        st.session_state[name], st.session_state[size_name] = current, size
        st.segmented_control(
            "Colours of PNG, SVG and HTML",
            CHOICES,
            key=name,
            required=True,
            on_change=_take,
            args=(name, _CHOSEN),
            width="content",
            help="For the files of all figures. Print is white and can be read without colours.",
        )
        st.segmented_control(
            "Size of PNG and SVG",
            list(MEDIA),
            key=size_name,
            required=True,
            on_change=_take,
            args=(size_name, _SIZE),
            width="content",
            help=f"A slide has {SLIDE_PIXELS[0]:,} × {SLIDE_PIXELS[1]} pixels, with the text as its heading; a column "
            f"of a paper is {COLUMN_MM} mm wide, and is offered as PDF, too.",
        )


def chosen_theme() -> str:
    """The theme of downloads; "" for that of the page."""
    chosen = str(st.session_state.get(_CHOSEN, AS_SHOWN))
    return "" if chosen == AS_SHOWN else chosen


def chosen_medium() -> str:
    """The medium of downloads, "slide" or "column"; "" for the size of the page."""
    return MEDIA[_size()]


def take_theme(name: str) -> None:
    """Use the theme named by a link; other words are ignored."""
    if name in THEMES:
        st.session_state[_CHOSEN] = name


def _size() -> str:
    size = str(st.session_state.get(_SIZE, AS_SHOWN))
    return size if size in MEDIA else AS_SHOWN


def _take(name: str, chosen: str) -> None:
    st.session_state[chosen] = st.session_state[name]
