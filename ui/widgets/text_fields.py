"""The fields of the text and the second text, in the sidebar and on a page, and buttons that fill them in."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import streamlit as st

from bertviz_core.text import escape_markdown, shortened
from ui.session import DEFAULT_TEXT, SECOND_TEXT

SECOND_LABEL = "Second text, one input with the first"
PAIR_HELP = (
    "Makes a pair: both texts in one input, with a separator between them. A model that was trained on pairs needs "
    "both: a premise, then its hypothesis."
)
APPLY_HELP = "Ctrl + Enter in the field does the same."
TEXT_ON_PAGE, TEXT_PLACE = "text_on_page", "text_place"
"""Keys of a page's own field for the session's text, and of the container for it."""
MOST_QUOTED, LONGEST_EXAMPLE = 60, 200
"""Most characters of a text on a button, and of an example."""

ANSWERED = "What does the python eat?", "My python sleeps all day. Once a week it eats a mouse."
"""A question, and a text with its answer."""
PAIRS: Mapping[str, tuple[str, str, str]] = {
    "cosine": ("The cosine compares the text with a second one", DEFAULT_TEXT, SECOND_TEXT),
    "late-interaction": ("The second text is the query that the text is scored for", ANSWERED[1], ANSWERED[0]),
    "question-answering": ("The text is a question, and its answer is looked for in a second text", *ANSWERED),
    "next-sentence": (
        "Next-sentence prediction needs two texts",
        DEFAULT_TEXT,
        "It sleeps in a warm corner of the kitchen.",
    ),
}
"""Task or kind of target that reads two texts -> why, as a sentence without a full stop, and an example of both."""


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


def two_texts(use: str) -> tuple[str, str]:
    """The text and the second text; without a second one an example, which one line marks as such.

    An example belongs to the view that shows it: it is written neither into the session nor into the address, and no
    other page reads it.

    Args:
        use: what reads both, one of PAIRS.
    """
    if (own := pair()) is not None:
        return text(), own
    what, first, second = PAIRS[use]
    read = first if text() == DEFAULT_TEXT else text()
    second = next(each for each in (second, DEFAULT_TEXT) if each != read)
    say_example(second, f"{what}. Write your own in the sidebar.", read if read != text() else None)
    return read, second


def say_example(second: str, words: str, first: str | None = None) -> None:
    """Mark an example of a second text as such, in one line.

    Args:
        second: the second text.
        words: what it is for, in sentences.
        first: the text that goes with it; None for the reader's own.
    """
    quoted = _quoted(second, LONGEST_EXAMPLE)
    read = f"second text {quoted}" if first is None else f"{_quoted(first, LONGEST_EXAMPLE)} and {quoted}"
    st.markdown(f":material/edit_note: **Example:** {read} :gray[{escape_markdown(words)}]")


def put_text_button(second: str) -> None:
    """Show a button that fills in a second text."""
    st.button(f"Second text: {_quoted(second)}", key="put_example", on_click=put_texts, args=(text(), second))


def put_texts(first: str, second: str) -> None:
    """Fill in the texts of the sidebar."""
    st.session_state.update(text=first, pair=second)


def _quoted(text: str, most: int = MOST_QUOTED) -> str:
    return f"“{escape_markdown(shortened(text, most))}”"
