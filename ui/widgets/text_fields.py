"""The fields of the text and the second text, in the sidebar and on a page, and buttons that fill them in."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from bertviz_core.text import shortened
from ui.session import DEFAULT_TEXT
from ui.widgets.formatting import escape_markdown

SECOND_LABEL = "Second text, one input with the first"
PAIR_HELP = (
    "Makes a pair: both texts in one input, with a separator between them. A model that was trained on pairs needs "
    "both: a premise, then its hypothesis."
)
APPLY_HELP = "Ctrl + Enter in the field does the same."
TEXT_ON_PAGE, TEXT_PLACE = "text_on_page", "text_place"
"""Keys of a page's own field for the session's text, and of the container for it."""
MOST_QUOTED = 60
"""Most characters of a text on a button."""


def text_inputs(shown: bool = True) -> None:
    """The session's text and second text in the sidebar, which are never written into the address.

    Args:
        shown: whether the view reads them; their values are kept otherwise.
    """
    st.session_state.setdefault("text", DEFAULT_TEXT)
    st.session_state.setdefault("pair", "")
    if not shown:
        return
    st.text_area("Text", key="text", height=68, persist_state="session", help="What the model reads.")
    # Leaving a field applies its text, so the button does nothing itself: it gives readers something to click or tap.
    # It is above the second text, since below it would be out of sight in a window 768 pixels high.
    st.button("Apply the text", key="apply_text", width="stretch", help=APPLY_HELP)
    st.text_area(
        SECOND_LABEL,
        key="pair",
        height=68,
        persist_state="session",
        placeholder="none",
        help=PAIR_HELP,
    )


def place_for_text(height: int | None = None) -> None:
    """Reserve a place on the page for a field with the session's text.

    Args:
        height: pixels that are kept free for it, so that nothing below it moves; None for none.
    """
    st.session_state[TEXT_PLACE] = st.container(height=height or "content", border=False, key="place_for_text")


@contextmanager
def text_on_page(label: str) -> Iterator[None]:
    """Draw the field in the place that the page inside the block reserves, if it does.

    The shell draws it and not the page: text typed in a page's own field is lost when a link to another page is
    clicked at once. A place that an interrupted run reserved is forgotten: on another page an element is there, and
    a browser that shall draw inside it ends with an empty page.
    """
    st.session_state.pop(TEXT_PLACE, None)
    yield
    place = st.session_state.pop(TEXT_PLACE, None)
    if place is None:
        return
    st.session_state[TEXT_ON_PAGE] = text()
    with place.container(horizontal=True, vertical_alignment="bottom"):
        st.text_area(label, key=TEXT_ON_PAGE, height=68, on_change=_take_text_on_page)
        st.button("Apply", key="apply_text_on_page", help=APPLY_HELP)


def _take_text_on_page() -> None:
    # It needs its own key: the sidebar's field is another widget, which would start empty.
    st.session_state["text"] = st.session_state[TEXT_ON_PAGE]


def text() -> str:
    """The text of the session."""
    return str(st.session_state.get("text", DEFAULT_TEXT))


def pair() -> str | None:
    """The second text; None where there is none."""
    second = str(st.session_state.get("pair", ""))
    return second if second.strip() else None


def needs_pair(what: str, *examples: tuple[str | None, str]) -> bool:
    """Return whether there is no second text; in that case, ask for one and offer examples.

    Args:
        what: what needs two texts, as the start of a sentence.
        examples: pairs of a first and a second text; None as the first text keeps the reader's own.
    """
    if pair() is not None:
        return False
    way = ", or put in an example" if examples else ""
    st.info(f"{what}: write a second text in the sidebar{way}.", icon=":material/info:")
    for place, (first, second) in enumerate(examples):
        put_text_button(second, first, f"put_example_{place}" if place else "put_example")
    return True


def put_text_button(second: str, first: str | None = None, key: str = "put_example") -> None:
    """Show a button that fills in texts.

    Args:
        second: the second text.
        first: the text; None keeps the reader's own.
        key: key of the button.
    """
    label = f"Second text: {_quoted(second)}" if first is None else f"Texts: {_quoted(first)} and {_quoted(second)}"
    st.button(label, key=key, on_click=put_texts, args=(first, second))


def put_texts(first: str | None, second: str) -> None:
    """Fill in the texts of the sidebar; None as the first text keeps the reader's own."""
    if first is not None:
        st.session_state["text"] = first
    st.session_state["pair"] = second


def _quoted(text: str) -> str:
    return f"“{escape_markdown(shortened(text, MOST_QUOTED))}”"
