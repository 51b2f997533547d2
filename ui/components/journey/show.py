"""The link from a page to its place in the drawing of the Journey."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.figures.pages import FIRST, PAGES
from ui.components.navigation import HISTORY_JS

JOURNEY = "journey"
"""Name of the page."""
_HERE = Path(__file__).parent
PLACES_JS = (_HERE / "places.js").read_text(encoding="utf-8")
_CSS = """
a {
  display: inline-flex; align-items: center; gap: 0.3rem; color: var(--st-link-color); font-family: var(--st-font);
  font-size: 0.9rem; line-height: 2rem; white-space: nowrap; text-decoration: none;
}
a:hover { text-decoration: underline; }
a:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; border-radius: 2px; }
span { font-family: "Material Symbols Rounded"; font-size: 1.1rem; width: 1.1rem; overflow: hidden; user-select: none; }
@media (max-width: 640px), (pointer: coarse) { a { line-height: 2.75rem; } }
@media print { a { display: none; } }
"""
_component = st.components.v2.component(
    "show_in_journey",
    html=f'<a><span aria-hidden="true">{PAGES[JOURNEY].icon}</span>Show in Journey</a>',
    css=_CSS,
    js=HISTORY_JS + PLACES_JS + (_HERE / "show.js").read_text(encoding="utf-8"),
)


def show_link(
    left: Sequence[tuple[str, str]], views: Sequence[Mapping[str, Any]], place: Mapping[str, str], key: str
) -> None:
    """Show the link.

    Args:
        left: names and values in the address of the Journey as it was left.
        views: views of the page, from `ui.address.journey_links.page_links`.
        place: field of the drawing's selection -> its name in the address of the Journey.
        key: key of the component.
    """
    data = {"page": "" if JOURNEY == FIRST else JOURNEY, "place": dict(place), "left": list(left), "views": list(views)}
    _component(key=key, data=data, width="content", height="content")
