"""What a reader typed, kept in the tab's own store of the browser, so that a reload brings it back.

It is in no address, on no server, and gone with the tab. Another tab has a store of its own.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from ui.session import TEXT_STORE

KEY, FOUND = "kept_texts", "found"
MOST_CHARACTERS = 1_000_000
"""Of all texts together; a browser keeps about five times as many."""
_component = st.components.v2.component(
    "kept_texts",
    html="<span></span>",
    js=f'const NAME = "{TEXT_STORE}";\n' + Path(__file__).with_name("kept_texts.js").read_text(encoding="utf-8"),
)


def kept_texts(texts: Mapping[str, str], visit: str, take: Callable[[], None]) -> None:
    """Have the browser keep these texts, once it has said what it kept before.

    Args:
        texts: by the name of their field.
        visit: names this session of the server; another one is told what was kept.
        take: called when the browser has told it; `found_texts` then has it.
    """
    total = sum(map(len, texts.values()))
    data = {"texts": dict(texts) if total <= MOST_CHARACTERS else None, "visit": visit, "asked": False}
    _component(key=KEY, data=data, on_found_change=take, height="content")


def ask_for_kept_texts(visit: str, take: Callable[[], None]) -> None:
    """Have the browser say what it kept, and keep nothing yet; it always answers, so that the script runs once more.

    Args:
        visit: names this session of the server.
        take: called when the browser has told it; `found_texts` then has it.
    """
    _component(key=KEY, data={"texts": None, "visit": visit, "asked": True}, on_found_change=take, height="content")


def found_texts(state: Any) -> dict[str, str]:
    """What the browser says that it kept; nothing where its words are not of that form.

    Args:
        state: what the component of this key has said.
    """
    found = (state or {}).get(FOUND)
    if not isinstance(found, dict) or len(found) > 20:
        return {}
    return {name: text for name, text in found.items() if isinstance(text, str) and len(text) <= MOST_CHARACTERS}
