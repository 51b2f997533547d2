"""Links to pages and views; Back and Forward go one view at a time and restore each as it was left.

A click changes the address and notifies Streamlit as Back and Forward do, so that the browser's history has one entry
per view. Streamlit drops parameters of the previous page's widgets from an address, also after Back. So an address that
is left repeats its query under ARRIVE, from which `ui/address/navigation.py` restores it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import streamlit as st

from ui.session import PRESENT

ARRIVE, LINK, EXACT = "arrive", "link", "exact"
"""Parameter of a page that is being opened, and two of its values: LINK keeps the session's choices, EXACT belongs to a
complete address. Any other value is the query with which the view was left."""
CARRIED = ("model", PRESENT)
"""Names that a link to a page copies from the address; a link to a view copies all."""
_FILES = Path(__file__).parent
HISTORY_JS = f'const ARRIVE = "{ARRIVE}", LINK = "{LINK}", EXACT = "{EXACT}";\n' + _FILES.joinpath(
    "history.js"
).read_text(encoding="utf-8")
"""Functions of links in the browser: `stamp`, `tell`, `follow`, `later` and `root`."""
_component = st.components.v2.component(
    "navigation",
    html="<nav></nav>",
    css=(_FILES / "navigation.css").read_text(encoding="utf-8"),
    js=HISTORY_JS + (_FILES / "navigation.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link to a page."""

    label: str
    """Its label."""
    address: str
    """Path below the dashboard's own address, and query; "" for the first page."""
    icon: str
    """Name of a Material Symbol."""
    current: bool = False
    """Whether it is the current page."""


def page_links(
    groups: Sequence[tuple[str, Sequence[PageLink]]],
    key: str,
    again: str = "",
    label: str = "Pages",
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """Show links to pages.

    Args:
        groups: name of each group, "" for none, and its links.
        key: key of the component.
        again: query of the current page that the browser opens at once; "" for none.
        label: label for screen readers.
        width: width of the component.
    """
    shown = [{"name": name, "links": [asdict(link) for link in links]} for name, links in groups]
    data = {"groups": shown, "again": again, "carried": list(CARRIED), "label": label}
    _component(key=key, data=data, width=width, height="content")


def view_links(views: Sequence[str], current: str, name: str, key: str) -> None:
    """Show links to the views of a page.

    Args:
        views: names of the views.
        current: the current view.
        name: name of the view parameter in the address.
        key: key of the component.
    """
    data = {"views": list(views), "current": current, "name": name, "carried": list(CARRIED)}
    _component(key=key, data=data, height="content")
