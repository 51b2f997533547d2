"""The address of the current view, to be copied, embedded or opened.

It is read in the browser, since the server does not have all of its parameters.
"""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

_FIELDS = (
    '<div class="share"><label>Link to this view<input readonly spellcheck="false"></label>'
    '<button type="button">Copy</button></div>'
    '<div class="share"><label>Code of a frame with this view<input readonly spellcheck="false"></label>'
    '<button type="button" aria-label="Copy the code">Copy</button></div>'
    '<div class="share"><label>Code of a frame with the figure alone<input readonly spellcheck="false"></label>'
    '<button type="button" aria-label="Copy the code of the figure">Copy</button></div><p role="status"></p>'
)
_CSS = """
.share { display: grid; grid-template-columns: 1fr auto; gap: 0.4rem 0.5rem; align-items: end; }
label { font-size: 0.875rem; display: grid; gap: 0.25rem; min-width: 0; }
input, button {
  font: inherit; font-size: 0.875rem; height: 2.5rem; box-sizing: border-box; padding: 0 0.75rem; min-width: 0;
  color: var(--st-text-color); background: var(--st-secondary-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.5rem);
}
input { width: 100%; }
button { cursor: pointer; background: var(--st-background-color); }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
input:focus-visible, button:focus-visible { outline: none; box-shadow: 0 0 0 2px var(--st-primary-color); }
.share + .share { margin-top: 0.75rem; }
p { margin: 0; font-size: 0.875rem; }
p:not(:empty) { margin-top: 0.25rem; }
"""
_LINK_CSS = """
a { font-size: 0.875rem; line-height: 2.5rem; color: var(--st-link-color); white-space: nowrap; }
a:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; border-radius: 2px; }
"""
_HERE = Path(__file__).parent
_ADDRESS_JS = (_HERE / "address.js").read_text(encoding="utf-8")
_fields = st.components.v2.component(
    "share_link", html=_FIELDS, css=_CSS, js=_ADDRESS_JS + (_HERE / "share_link.js").read_text(encoding="utf-8")
)
_link = st.components.v2.component(
    "whole_view",
    html='<a target="_blank" rel="noopener">Open in Inside BERT ↗</a>',
    css=_LINK_CSS,
    js=_ADDRESS_JS + (_HERE / "whole_view.js").read_text(encoding="utf-8"),
)


def share_link(carried: Sequence[tuple[str, str]], title: str, key: str) -> None:
    """Show the link, and the HTML of frames with the view and with its figure only, each with a button to copy it.

    Args:
        carried: names and values added to the address of the page.
        title: title of the frame, for screen readers.
        key: key of the component.
    """
    _fields(key=key, data={"carried": [list(each) for each in carried], "title": title}, height="content")


def whole_view_link(carried: Sequence[tuple[str, str]], key: str) -> None:
    """Show a link from a frame to the view in a window of its own.

    Args:
        carried: names and values added to the address of the frame.
        key: key of the component.
    """
    _link(key=key, data={"carried": [list(each) for each in carried]}, width="content", height="content")
