"""Widgets of the attention page: how maps are read, and the visible part of a long text."""

from dataclasses import replace
from typing import cast

import streamlit as st

from bertviz_core.attention.results import Block, MapOptions, Weights
from bertviz_core.questions.parameters import Param
from bertviz_core.questions.texts.attention import PART, PUNCTUATION, READINGS, SPECIAL, WEIGHTS, WORDS
from ui.address.following import bring_along
from ui.address.values import component_text
from ui.address.widgets import choice, keep_among, span, toggle, whole
from ui.components.attention.view_options import ViewOptions, from_query
from ui.widgets.cell_controls import HEAD
from ui.widgets.view_and_layer import LAYER, store_layer

SWITCHES = {
    WORDS: ("Merge pieces to words", "Weights on the pieces of a word are added up, their rows averaged."),
    SPECIAL: (
        "Hide special tokens",
        "Without [CLS], [SEP] and the like. Their share is stated beside the map; nothing is renormalised.",
    ),
    PUNCTUATION: ("Hide punctuation", "Without punctuation marks and symbols, as queries and as keys."),
}
"""Parameter -> label and help."""
LOOK = "look"
"""Name in the address."""
Shown = tuple[str, tuple[int, int]]
"""Identity of what the view shows, and (layer, head) of the open head."""


def weights_choice() -> Weights:
    """The kind of weights in the cells."""
    return choice(
        WEIGHTS,
        "Weights",
        READINGS,
        help="attention: the model's own attention weights. value-weighted: each weight times the length of the value "
        "vector that it weights. rollout: attention traced back to the input through all layers up to this one. "
        "value-zeroing: how far a token's vector turns when another token's value is set to zero in this layer.",
    )


def reading_controls(weights: Weights, blocks: tuple[Block, ...]) -> MapOptions:
    """Tokens shown in the maps; for a pair also which part of it."""
    with st.popover("Tokens", key="attention_tokens", width="content"):
        switches = {each.key: toggle(each, label, help=words) for each, (label, words) in SWITCHES.items()}
        block: Block = "all"
        if len(blocks) > 1:
            words = "A is the first text, B the second. A to B: how the first text attends to the second."
            block = choice(PART, "Part of the pair", blocks, help=words)
    return MapOptions(weights, block=block, **switches)


def store_opened(head: tuple[int, int] | None, with_head: bool) -> None:
    """Update layer and head after a head was opened in the view; a change of its looks leaves them."""
    if head is None:
        return
    if str(head[0]) != st.session_state.get(LAYER):
        store_layer(head[0])
    if with_head and head[1] != st.session_state.get(HEAD):
        st.session_state[HEAD] = head[1]


def requested_options(serial: int | None, shown: Shown) -> ViewOptions | None:
    """Return the options in the address; None if the browser has sent a message since.

    Positions in another text have no meaning in this one, and a clicked cell belongs to the head that was open.
    """
    state = component_text(LOOK, serial)
    if state is None:
        return None
    look, before = from_query(state.text), cast(Shown | None, state.shown)
    if before is None or before == shown:
        return look
    return replace(look, cell=None) if before[0] == shown[0] else replace(look, zoom=None, cell=None, pins=())


def position_range(param: Param, label: str, seq: int) -> tuple[int, int]:
    """First position and end of a part of a long text."""
    first, last = span(param, label, seq, (0, seq - 1))
    return first, last + 1


def position(param: Param, label: str, seq: int) -> int:
    """One position of a text."""
    bring_along(param.key)
    keep_among(param.key, range(seq), 0)
    return whole(param, label, 0, seq - 1, 0)
