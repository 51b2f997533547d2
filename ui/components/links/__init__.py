"""Links to views within the session, and the card of a lesson's step, which has such links."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from bertviz_core.figures.pages import FIRST
from bertviz_core.questions.view import LONGEST_LINKED as LONGEST_LINKED
from ui.components import component, file_text
from ui.components.frame import HISTORY_JS

_text = partial(file_text, __file__)

LINKS_JS = HISTORY_JS + _text("links.js")
"""Functions that make and follow such links in the browser: `linked`, `onClick`, `openAgain` and `MAIN`."""
_step_links = component(
    "step_links", html='<nav class="links"></nav>', css=_text("step_links.css"), js=LINKS_JS + _text("step_links.js")
)


_opener = component("open_at_once", html="<span></span>", js=LINKS_JS + _text("open_at_once.js"))


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a view."""

    label: str
    """Its label, as plain text."""
    address: str
    """Page and query, relative to the dashboard's own address; "" for a disabled link."""
    main: bool = False
    current: bool = False
    carried: Sequence[str] = ()
    """Names that it copies from the address in which it is followed."""


def address(page: str, query: Sequence[tuple[str, str]]) -> str:
    """Address of a view relative to the dashboard's own address, which is that of the first page."""
    return f"{'' if page == FIRST else page}?{urlencode(query)}"


def step_links(links: Sequence[Link], key: str, label: str, is_list: bool = False) -> None:
    """Show links in a row, or as a list."""
    _step_links(
        key=key,
        data={"links": [asdict(each) for each in links], "label": label, "list": is_list},
        width="stretch" if is_list else "content",
        height="content",
    )


def open_at_once(whole: str, number: int, key: str, back: bool = False) -> None:
    """Have the browser open an address in place of the current one, without a new entry in its history.

    The same address under the same number is opened once. `back`: the reader returns to a view outside a lesson; steps
    care for their whole address themselves.
    """
    _opener(key=key, data={"address": whole, "number": number, "back": back}, height=0)


_lesson_card = component(
    "lesson_card",
    html='<section class="lesson-card"></section>',
    css=_text("lesson_card.css"),
    js=LINKS_JS + _text("lesson_card.js"),
    isolate_styles=False,  # its container is sticky, and the glossary marks its words
)


def lesson_card(card: Mapping[str, Any], key: str, again: str = "") -> None:
    """Show the card, whose content `lesson_card.js` names; the browser at once opens `again`, "" for none."""
    _lesson_card(key=key, data={**card, "again": again}, width="stretch", height="content")
