"""Links to views within the session, and the card of a lesson's step, which has such links."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from bertviz_core.figures.pages import FIRST
from bertviz_core.questions.view import LONGEST_LINKED as LONGEST_LINKED
from ui.components.frame import HISTORY_JS

_FILES = Path(__file__).parent


def _text(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


LINKS_JS = HISTORY_JS + _text("links.js")
"""Functions that make and follow such links in the browser: `linked`, `onClick`, `openAgain` and `MAIN`."""
_step_links = st.components.v2.component(
    "step_links",
    html='<nav class="links"></nav>',
    css=_text("step_links.css"),
    js=LINKS_JS + _text("step_links.js"),
)


_opener = st.components.v2.component(
    "open_at_once",
    html="<span></span>",
    js=LINKS_JS + _text("open_at_once.js"),
)


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a view."""

    label: str
    """Its label, as plain text."""
    address: str
    """Page and query, relative to the dashboard's own address; "" for a disabled link."""
    main: bool = False
    """Whether it is the primary link."""
    current: bool = False
    """Whether it leads to the current view."""
    carried: Sequence[str] = ()
    """Names that it copies from the address in which it is followed."""


def address(page: str, query: Sequence[tuple[str, str]]) -> str:
    """Address of a view relative to the dashboard's own address, which is that of the first page."""
    return f"{'' if page == FIRST else page}?{urlencode(query)}"


def step_links(links: Sequence[Link], key: str, label: str, is_list: bool = False) -> None:
    """Show links in a row, or as a list.

    Args:
        is_list: whether they are shown as a list.
    """
    _step_links(
        key=key,
        data={"links": [asdict(each) for each in links], "label": label, "list": is_list},
        width="stretch" if is_list else "content",
        height="content",
    )


def open_at_once(whole: str, number: int, key: str, back: bool = False) -> None:
    """Have the browser open an address in place of the current one, without a new entry in its history.

    Args:
        whole: the address, from `address`.
        number: another one for each opening; the same address under the same number is opened once.
        back: whether the reader returns to a view outside a lesson; steps care for their whole address themselves.
    """
    _opener(key=key, data={"address": whole, "number": number, "back": back}, height=0)


_lesson_card = st.components.v2.component(
    "lesson_card",
    html='<section class="lesson-card"></section>',
    css=_text("lesson_card.css"),
    js=LINKS_JS + _text("lesson_card.js"),
    isolate_styles=False,  # its container is sticky, and the glossary marks its words
)


@dataclass(frozen=True, slots=True)
class Card:
    """The content of the card, as plain text."""

    lesson: str
    """Title of the lesson."""
    count: str
    """Number of the step, such as "step 2 of 9"."""
    title: str
    """Title of the step."""
    note: str
    """What the view shows, and why."""
    question: str
    """What the reader may try; "" for nothing."""
    answer: str
    """The answer; "" for none."""
    trials: Sequence[Link]
    """Views that answer the question."""
    away: str
    """The page of the step's view, as a sentence; "" where the reader is on it."""
    ways: Sequence[Link]
    """Links: back, next, and to the step where the reader is elsewhere."""
    steps: Sequence[Link]
    """All steps of the lesson."""
    author: str
    """Author of the lesson; "" for none."""
    end: bool
    """Whether it is the last step."""
    summary: str
    """Summary of the lesson, at its last step; "" for none."""
    onward: Link | None
    """The next lesson, at the last step; None for none."""
    figure: str = ""
    """Name of the figure that the step speaks of; "" for the first of the page."""
    by_keys: bool = False
    """Whether Space and the arrow keys go to the next and the previous step."""
    present: str = ""
    """Address of the step in the presenter's frame; "" for no link to it."""


def lesson_card(card: Card, key: str, again: str = "") -> None:
    """Show the card.

    Args:
        card: its content.
        again: address that the browser opens at once; "" for none.
    """
    _lesson_card(key=key, data={**asdict(card), "again": again}, width="stretch", height="content")
