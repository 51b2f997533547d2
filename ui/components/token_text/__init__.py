"""A text in place, cut into its tokens: every token a button, marked by what it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

_HTML = '<div class="text"></div>'
_component = st.components.v2.component(
    "token_text",
    html=_HTML,
    css=Path(__file__).with_name("token_text.css").read_text(encoding="utf-8"),
    js=Path(__file__).with_name("token_text.js").read_text(encoding="utf-8"),
)


def token_text(
    runs: list[dict[str, Any]],
    key: str,
    label: str,
    selected: int | None = None,
    on_click: Callable[[], None] | None = None,
) -> None:
    """The pieces of a text (ui.views.tokens.pieces); with on_click each one can be chosen by mouse or keyboard.

    Args:
        runs: words of chips and gaps.
        key: of the component; what was clicked is its state "token" while on_click runs.
        label: what a screen reader calls the whole.
        selected: position of the chosen token.
        on_click: called when a token was chosen; without it the pieces are no buttons.
    """
    _component(
        key=key,
        data={"runs": runs, "label": label, "selected": selected, "clickable": on_click is not None},
        on_token_change=on_click or _nothing,
        height="content",
    )


def _nothing() -> None:
    """Pieces that are no buttons send nothing."""
