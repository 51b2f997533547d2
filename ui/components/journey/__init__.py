"""The drawing of a journey in a page: what it shows, and what the reader did in it."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from bertviz_core.figures.journey.html_file import HTML, script, style
from bertviz_core.figures.journey.payload import Path
from ui.session import component_state

_component = st.components.v2.component(
    "journey_view", html=HTML, css=style(), js=f"{script()}\nexport default journeyView;"
)


def journey_view(payload: bytes, key: str, on_change: Callable[[], None]) -> None:
    """The drawing; its place on the page stays the same while the data changes.

    Args:
        payload: as bertviz_core.figures.journey.payload.journey_payload makes it.
        key: of the drawing.
        on_change: called when the reader chose a token, opened or closed a part, or changed what is drawn.
    """
    _component(key=key, data=payload, default={"path": None}, on_path_change=on_change, height="content")


def said(key: str) -> Mapping[str, Any]:
    """What the browser said last; a stranger's word, so every part of it is checked where it is used."""
    state = component_state(key)
    path = state.get("path") if isinstance(state, Mapping) else None
    return path if isinstance(path, Mapping) else {}


def serial(key: str) -> int:
    """Number of what the browser said last; 0 before it said anything."""
    number = said(key).get("serial")
    return number if isinstance(number, int) else 0


def chosen_path(key: str) -> Path | None:
    """What the reader chose and opened, as the browser says it; None where it says nothing of the kind."""
    words = said(key)
    token, opened, head, asked = (words.get(name) for name in ("token", "open", "head", "key"))
    if not isinstance(token, int) or not isinstance(opened, str):
        return None
    numbers = [number if isinstance(number, int) and 0 <= number < 10**9 else None for number in (head, asked)]
    return Path(token, opened[:12], *numbers)
