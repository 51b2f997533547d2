"""Keep typed texts in the browser's session storage, so that they survive a reload.

They are in no address and on no server, and are deleted with the tab. Every tab has its own.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from ui.session import TEXT_STORE

KEY, FOUND = "tab_texts", "found"
MOST_CHARACTERS = 1_000_000
"""Most characters of all texts together; browsers store about five times as many."""
_component = st.components.v2.component(
    "tab_texts",
    html="<span></span>",
    js=f'const NAME = "{TEXT_STORE}";\n' + Path(__file__).with_name("tab_texts.js").read_text(encoding="utf-8"),
)


def store_tab_texts(texts: Mapping[str, str], visit: str, take: Callable[[], None]) -> None:
    """Store texts in the browser, after it has sent those of an earlier session.

    Args:
        texts: key of a field -> its text.
        visit: id of this session.
        take: called when the browser has sent its texts, which `found_texts` returns then.
    """
    total = sum(map(len, texts.values()))
    data = {"texts": dict(texts) if total <= MOST_CHARACTERS else None, "visit": visit, "always_answer": False}
    _component(key=KEY, data=data, on_found_change=take, height="content")


def request_tab_texts(visit: str, take: Callable[[], None]) -> None:
    """Ask the browser for its texts without storing any; it always answers, so that the script runs again.

    Args:
        visit: id of this session.
        take: called when the browser has sent its texts, which `found_texts` returns then.
    """
    _component(
        key=KEY, data={"texts": None, "visit": visit, "always_answer": True}, on_found_change=take, height="content"
    )


def found_texts(state: Any) -> dict[str, str]:
    """The texts in a state of the component; none where it is malformed."""
    found = (state or {}).get(FOUND)
    if not isinstance(found, dict) or len(found) > 20:
        return {}
    return {name: text for name, text in found.items() if isinstance(text, str) and len(text) <= MOST_CHARACTERS}
