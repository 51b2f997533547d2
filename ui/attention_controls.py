"""Widgets of the attention page: how maps are read, and what of a long text is looked at."""

import streamlit as st

from bertviz_core.results.attention import Block, Reading, Weights
from ui.controls import BOUND, choice

WEIGHTS: tuple[Weights, ...] = ("attention", "value-weighted", "rollout")
SWITCHES = {"words": "Merge words", "hide_special": "Hide special", "hide_punctuation": "Hide punctuation"}


def weights_choice() -> Weights:
    """What a cell holds."""
    return choice(
        "What a cell holds",
        WEIGHTS,
        "weights",
        help="attention: the probability. value-weighted: times the length of what the value hands over. "
        "rollout: the heads' mean, multiplied through the layers.",
    )


def reading_controls(weights: Weights, blocks: tuple[Block, ...]) -> Reading:
    """How the maps are read; the part of a pair only where there is a pair."""
    switches = {key: st.toggle(label, key=key, **BOUND) for key, label in SWITCHES.items()}
    block: Block = "all"
    if len(blocks) > 1:
        if st.session_state.get("part", "all") not in blocks:
            st.session_state["part"] = "all"
        block = choice("Part of the pair", blocks, "part", help="Queries of one text, keys of one text.")
    return Reading(weights, block=block, **switches)


def take_opened(head: tuple[int, int] | None, with_head: bool) -> None:
    """Let the selects of layer and head follow a head that was opened in the view."""
    if head is not None:
        st.session_state["at"] = head[0]
        if with_head:
            st.session_state["head"] = head[1]


def position_range(label: str, key: str, seq: int) -> tuple[int, int]:
    """First position and the one behind the last, of a part of a long text."""
    first, last = st.session_state.get(key, (0, seq - 1))
    if last >= seq:
        st.session_state[key] = (min(first, seq - 2), seq - 1)
    first, last = st.slider(label, 0, seq - 1, (0, seq - 1), key=key, **BOUND)
    return int(first), int(last) + 1


def position(label: str, key: str, seq: int) -> int:
    """One position of a text."""
    if st.session_state.get(key, 0) >= seq:
        st.session_state[key] = 0
    return int(st.number_input(label, 0, seq - 1, 0, key=key, **BOUND))
