"""Links to pages and views; the browser's back and forward go one view at a time and find each as it was left.

A click changes the address and tells Streamlit of it as back and forward do, so that one entry of the browser's history
stands for one view. Streamlit takes out of an address what a control of the page before had a name for, and does so on
the way back as well: an address that is left therefore says its query once more, under ARRIVE, and
`ui/address/navigation.py` puts it in again.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import streamlit as st

ARRIVE, LINK, EXACT = "arrive", "link", "exact"
"""Name in the address of a page that is about to be shown; its value for a link that keeps what the session remembers,
for one whose address says all, else the query that was left."""
CARRIED = ("model",)
"""Names that a link to a page takes along from the address; a link to a view takes all."""
_FILES = Path(__file__).parent
HISTORY_JS = f'const ARRIVE = "{ARRIVE}", LINK = "{LINK}", EXACT = "{EXACT}";\n' + _FILES.joinpath(
    "history.js"
).read_text(encoding="utf-8")
"""What links do in the browser: `stamp`, `tell`, `follow` and `root`."""
_component = st.components.v2.component(
    "navigation",
    html="<nav></nav>",
    css=(_FILES / "navigation.css").read_text(encoding="utf-8"),
    js=HISTORY_JS + (_FILES / "navigation.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class PageLink:
    """One page."""

    label: str
    """Its name."""
    address: str
    """Its place below the dashboard's own address, and its query; "" for the first page."""
    icon: str
    """Name of its sign among the Material Symbols."""
    current: bool = False
    """Whether it is shown now."""


def page_links(
    groups: Sequence[tuple[str, Sequence[PageLink]]],
    key: str,
    again: str = "",
    label: str = "Pages",
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """The links.

    Args:
        groups: name of each group, "" for one that needs none, and its pages.
        key: of the component.
        again: query of this page that is opened at once, without a click; "" for none.
        label: names the links for those who do not see them.
        width: of the whole.
    """
    shown = [{"name": name, "links": [asdict(link) for link in links]} for name, links in groups]
    data = {"groups": shown, "again": again, "carried": list(CARRIED), "label": label}
    _component(key=key, data=data, width=width, height="content")


def view_links(views: Sequence[str], current: str, name: str, key: str) -> None:
    """The views of a page, one of which is shown.

    Args:
        views: what they are called.
        current: the one that is shown.
        name: of the view in the address.
        key: of the component.
    """
    data = {"views": list(views), "current": current, "name": name, "carried": list(CARRIED)}
    _component(key=key, data=data, height="content")
