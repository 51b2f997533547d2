"""Links to views of the dashboard within the session: the page stays loaded, so typed texts are kept."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from bertviz_core.figures.pages import FIRST
from bertviz_core.questions.view import LONGEST_LINKED as LONGEST_LINKED
from ui.components.navigation import HISTORY_JS

_HERE = Path(__file__)
LINKS_JS = HISTORY_JS + _HERE.with_name("links.js").read_text(encoding="utf-8")
"""Functions that make and follow such links in the browser: `linked`, `onClick`, `openAgain` and `MAIN`."""
_component = st.components.v2.component(
    "step_links",
    html='<nav class="links"></nav>',
    css=_HERE.with_name("step_links.css").read_text(encoding="utf-8"),
    js=LINKS_JS + _HERE.with_name("step_links.js").read_text(encoding="utf-8"),
)


_opener = st.components.v2.component(
    "open_at_once",
    html="<span></span>",
    js=LINKS_JS + _HERE.with_name("open_at_once.js").read_text(encoding="utf-8"),
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
        links: the links.
        key: key of the component.
        label: label for screen readers.
        is_list: whether they are shown as a list.
    """
    _component(
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
        key: key of the component.
        back: whether the reader returns to a view outside a lesson; steps care for their whole address themselves.
    """
    _opener(key=key, data={"address": whole, "number": number, "back": back}, height=0)
