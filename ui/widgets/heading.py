"""The heading of a page: its title, what stands beside it, and its question."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.pages import PAGES
from bertviz_core.models.sources import resolve
from bertviz_core.text import escape_markdown
from ui.address.journey_place import show_in_journey
from ui.session import settings, store, stored
from ui.widgets.models.second import second_name

ABOVE = "notices_above"
"""Session key of the notices below the heading of the page."""

_beside_title: ContextVar[Callable[[], None]] = ContextVar("beside_title", default=lambda: None)


@contextmanager
def beside_title(draw: Callable[[], None]) -> Iterator[None]:
    """Draw something beside the title of the page that runs inside the block."""
    before = _beside_title.set(draw)
    try:
        yield
    finally:
        _beside_title.reset(before)


def heading(page: str, question: str = "") -> Callable[..., None]:
    """Write the title of a page and its question.

    Args:
        page: name of the page.
        question: replaces the page's question.

    Returns:
        A function that writes a model's name, and a note on it, behind the question, and the notices about it below.
    """
    entry = PAGES[page]
    question = question or entry.question
    with st.container(horizontal=True, vertical_alignment="bottom", key="page_title"):
        st.title(entry.title, anchor=False, width="content")
        show_in_journey(page)
        _beside_title.get()()
    place = st.empty()
    place.markdown(question)

    def name_model(model: str, note: str, notices: Iterable[str] = ()) -> None:
        place.markdown(f"{question} :gray[{escape_markdown(model)}: {escape_markdown(note)}]")
        every = tuple(dict.fromkeys((*_notices(model), *notices)))
        store(ABOVE, every)
        for notice in every:
            st.warning(escape_markdown(notice), icon=":material/rule:")

    return name_model


def unshown(notices: Iterable[str]) -> list[str]:
    """The notices that do not stand below the heading of the page already, each once."""
    above = stored(ABOVE, ())
    return [notice for notice in dict.fromkeys(notices) if notice not in above]


def _notices(model: str) -> tuple[str, ...]:
    """What of the files of the models of this page decides numbers and is not followed, one sentence each."""
    notices: list[str] = []
    for name in filter(None, (model, second_name())):
        with suppress(BertvizError):  # of a second model, which may be a rounded copy; a page says what it lacks itself
            notices += resolve(name, replace(settings(), allow_hub=False)).notices
    return tuple(dict.fromkeys(notices))
