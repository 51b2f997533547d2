"""Widgets of the tokens page; keys are names in the address."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.figures.tokens.box_rows import BELOW, Below
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.reference_tokenizers import REFERENCE_TOKENIZERS
from bertviz_core.trace.tokenization import longest_piece
from ui.address.bounds import keep_among
from ui.session import model_names, settings
from ui.widgets.controls import BOUND, choice

WIDTH = 320
"""Of a control, in pixels."""
CHART = "tokens_text"
"""Key of the chart in which a token is chosen by a click."""


def below_choice() -> Below:
    """What stands below each token."""
    return choice("Below each token", BELOW, "below", width="content")


def token_position(tokens: Tokens) -> int:
    """Position of the token looked at, as it is chosen by number or by a click in the picture."""
    most = len(tokens) - 1
    keep_among("token", range(len(tokens)), longest_piece(tokens))
    # A number and not the token itself: what is chosen stands in the address, where no text belongs.
    position = st.number_input(
        f"Token, by its position from 0 to {most}",
        0,
        most,
        longest_piece(tokens),
        step=1,
        key="token",
        width=WIDTH,
        **BOUND,
    )
    return int(position or 0)


def take_token() -> None:
    """Make the clicked token the one that is looked at."""
    event = st.session_state.get(CHART)
    points = event["selection"]["points"] if event else []
    if points:
        at = points[0].get("customdata")
        st.session_state["token"] = int(at[0] if isinstance(at, list) else at)


def tokenizer_select(here: Sequence[str], own: str) -> str:
    """The second tokenizer: one that is made here, one on this machine, or any other by name."""
    others = [name for name in here if name != own]
    options = list(dict.fromkeys((*REFERENCE_TOKENIZERS, *others, *(name for name in model_names() if name != own))))
    tokenizer = st.selectbox(
        "Second tokenizer",
        options,
        key="tokenizer",
        width=WIDTH,
        accept_new_options=not settings().allowed_models,
        help="The first two are made here. Of the models, those on this machine come first; a folder below the models "
        "folder or a Hub id can be typed.",
        **BOUND,
    )
    return str(tokenizer or options[0])
