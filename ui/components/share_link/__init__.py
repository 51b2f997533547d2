"""The address of the view that is on the page, to be copied; it is read in the browser, which alone knows it all."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

_HTML = (
    '<div class="share"><label>Link to this view<input readonly spellcheck="false"></label>'
    '<button type="button">Copy</button><p role="status"></p></div>'
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
p { grid-column: 1 / -1; margin: 0; font-size: 0.875rem; min-height: 1.3em; }
"""
_component = st.components.v2.component(
    "share_link", html=_HTML, css=_CSS, js=Path(__file__).with_name("share_link.js").read_text(encoding="utf-8")
)


def share_link(carried: Sequence[tuple[str, str]], key: str) -> None:
    """The link with its button.

    Args:
        carried: what it holds besides the address of the page.
        key: of the field.
    """
    _component(key=key, data={"carried": [list(each) for each in carried]}, height="content")
