"""Widgets of the tokens page."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.figures.tokens.box_rows import BELOW, Below
from bertviz_core.questions.texts.tokens import BELOW_TOKENS, TOKEN, TOKENIZER
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.reference_tokenizers import REFERENCE_TOKENIZERS
from bertviz_core.trace.tokenization import longest_piece
from ui.address.widgets import choice, keep_among, select, whole
from ui.session import model_names, settings
from ui.widgets.models.fields import complete

WIDTH = 320
"""Pixels of a widget."""
CHART = "tokens_text"
"""Key of the chart in which a click selects a token."""


def below_choice() -> Below:
    """What is written below each token."""
    return choice(BELOW_TOKENS, "Below each token", BELOW, width="content")


def token_position(tokens: Tokens) -> int:
    """Position of the selected token, chosen by number or by a click in the figure."""
    most, first = len(tokens) - 1, longest_piece(tokens)
    keep_among(TOKEN.key, range(len(tokens)), first)
    # A position and not the token itself: the selection is in the address, which must not contain text.
    return whole(TOKEN, f"Token, by its position from 0 to {most}", 0, most, first, width=WIDTH)


def take_token() -> None:
    """Select the clicked token."""
    event = st.session_state.get(CHART)
    points = event["selection"]["points"] if event else []
    if points:
        at = points[0].get("customdata")
        st.session_state[TOKEN.key] = int(at[0] if isinstance(at, list) else at)


def tokenizer_select(here: Sequence[str], own: str) -> str:
    """The second tokenizer: a reference tokenizer, one on this machine, or any other by name."""
    others = [name for name in here if name != own]
    options = list(dict.fromkeys((*REFERENCE_TOKENIZERS, *others, *(name for name in model_names() if name != own))))
    return select(
        TOKENIZER,
        "Second tokenizer",
        options,
        width=WIDTH,
        on_change=complete,
        args=(TOKENIZER.key, options),
        accept_new_options=not settings().allowed_models,
        help="The first two are made here. Of the models, those on this machine come first; a folder below the models "
        "folder or a Hub id can be typed.",
    )
