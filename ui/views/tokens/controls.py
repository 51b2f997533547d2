"""Widgets of the tokens page; keys are names in the address."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from ui.session import model_names, settings
from ui.widgets.controls import BOUND

BELOW = ("id", "token", "position")
"""What can stand below a piece."""


def token_position(tokens: Tokens) -> int:
    """Position of the token looked at, also set by a click in the text."""
    most = len(tokens) - 1
    if not 0 <= int(st.session_state.get("token") or 0) <= most:
        del st.session_state["token"]
    # A number and not the token itself: what is chosen stands in the address, where no text belongs.
    position = st.number_input(
        f"Position of the token, 0 to {most}", 0, most, longest_piece(tokens), step=1, key="token", **BOUND
    )
    return int(position or 0)


def take_token(component_key: str) -> None:
    """Make the clicked piece of the text the token looked at."""
    token = st.session_state[component_key].get("token")
    if token is not None:
        st.session_state["token"] = int(token)


def tokenizer_select(here: Sequence[str], own: str) -> str | None:
    """The second tokenizer: those on this machine, or any other by name; None until one is chosen."""
    others = [name for name in here if name != own]
    tokenizer = st.selectbox(
        "Second tokenizer",
        others or [name for name in model_names() if name != own],
        index=0 if others else None,
        key="tokenizer",
        placeholder="Choose a model, or type its name",
        accept_new_options=not settings().allowed_models,
        help="Models whose tokenizer is on this machine; a folder below the models folder or a Hub id can be typed.",
        **BOUND,
    )
    return str(tokenizer) if tokenizer else None
