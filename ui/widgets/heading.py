"""The heading of a page: its title, what stands beside it, and its question."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st

from bertviz_core.figures.pages import PAGES
from ui.address.journey_place import show_in_journey
from ui.widgets.formatting import escape_markdown

_beside_title: ContextVar[Callable[[], None]] = ContextVar("beside_title", default=lambda: None)


@contextmanager
def beside_title(draw: Callable[[], None]) -> Iterator[None]:
    """Draw something beside the title of the page that runs inside the block."""
    before = _beside_title.set(draw)
    try:
        yield
    finally:
        _beside_title.reset(before)


def heading(page: str, question: str = "") -> Callable[[str, str], None]:
    """Write the title of a page and its question.

    Args:
        page: name of the page.
        question: replaces the page's question.

    Returns:
        A function that writes a model's name, and a note on it, behind the question.
    """
    entry = PAGES[page]
    question = question or entry.question
    with st.container(horizontal=True, vertical_alignment="bottom", key="page_title"):
        st.title(entry.title, anchor=False, width="content")
        show_in_journey(page)
        _beside_title.get()()
    place = st.empty()
    place.markdown(question)

    def name_model(model: str, note: str) -> None:
        place.markdown(f"{question} :gray[{escape_markdown(model)}: {escape_markdown(note)}]")

    return name_model
