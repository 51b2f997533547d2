"""Links to views of the dashboard that keep the session: the page stays loaded, so nothing that was typed is lost."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from ui.components.navigation import HISTORY_JS

_HERE = Path(__file__)
LINKS_JS = HISTORY_JS + _HERE.with_name("links.js").read_text(encoding="utf-8")
"""What makes and follows such links in the browser: `linked`, `onClick`, `openAgain` and `MAIN`."""
LONGEST_LINKED = 1_500
"""Characters of texts that a link carries; addresses of more are cut by some programs."""
_component = st.components.v2.component(
    "step_links",
    html='<nav class="links"></nav>',
    css=_HERE.with_name("step_links.css").read_text(encoding="utf-8"),
    js=LINKS_JS + _HERE.with_name("step_links.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class Link:
    """One link."""

    label: str
    """What it says, as plain text."""
    address: str
    """Page and query, relative to where the dashboard is; "" where it leads nowhere now."""
    main: bool = False
    """Whether it is the one that most readers take."""
    current: bool = False
    """Whether it leads to where the reader is."""


def address(page: str, query: Sequence[tuple[str, str]]) -> str:
    """Address of a view relative to where the dashboard is; the overview has no name of its own there."""
    return f"{'' if page == 'overview' else page}?{urlencode(query)}"


def step_links(links: Sequence[Link], key: str, label: str, is_list: bool = False) -> None:
    """The links in a row, or below each other.

    Args:
        links: in their order.
        key: of the links.
        label: names them for those who do not see them.
        is_list: whether they stand below each other.
    """
    _component(
        key=key,
        data={"links": [asdict(each) for each in links], "label": label, "list": is_list},
        width="stretch" if is_list else "content",
        height="content",
    )
