"""Widgets of the attention page: how maps are read, and what of a long text is looked at."""

from dataclasses import dataclass, replace

import streamlit as st

from bertviz_core.attention.results import Block, MapOptions, Weights
from bertviz_core.questions.texts.attention import READINGS
from ui.address.bounds import keep_among, keep_span
from ui.address.following import bring_along
from ui.components.attention.url import ViewOptions, from_query, to_query
from ui.widgets.controls import BOUND, choice
from ui.widgets.view_and_layer import store_layer

SWITCHES = {
    "words": ("Merge pieces to words", "Weights on the pieces of a word are added up, their rows averaged."),
    "hide_special": (
        "Hide special tokens",
        "Without [CLS], [SEP] and the like. What they hold is stated beside the map; nothing is renormalised.",
    ),
    "hide_punctuation": ("Hide punctuation", "Without punctuation marks and symbols, as queries and as keys."),
}
"""Key -> label and help."""
OPTIONS_KEY, RESTORED_KEY = "look", "attention_look"
Shown = tuple[str, tuple[int, int]]
"""Identity of what the view shows, and (layer, head) of the opened head."""


@dataclass(frozen=True, slots=True)
class RestoredOptions:
    """The look that the address names, and what was so when it was taken from it or written into it."""

    text: str = ""
    """The word in the address."""
    said: int | None = None
    """Number of the last thing that the browser had said."""
    shown: Shown | None = None
    """What was shown with it; None where nothing has been."""
    taken: int = 0
    """How many times a word was taken from the address."""


def weights_choice() -> Weights:
    """What a cell holds."""
    return choice(
        "Weights",
        READINGS,
        "weights",
        help="attention: the model's own attention weights. value-weighted: each weight times the length of the value "
        "vector that it weights. rollout: attention traced back to the input through all layers up to this one. "
        "value-zeroing: how far a token's vector turns when another token's value is set to zero in this layer.",
    )


def reading_controls(weights: Weights, blocks: tuple[Block, ...]) -> MapOptions:
    """Which tokens the maps show; the part of a pair only where there is a pair."""
    with st.popover("Tokens", key="attention_tokens", width="content"):
        switches = {key: st.toggle(label, key=key, help=words, **BOUND) for key, (label, words) in SWITCHES.items()}
        block: Block = "all"
        if len(blocks) > 1:
            keep_among("part", blocks, "all")
            words = "A is the first text, B the second. A to B: how the first text attends to the second."
            block = choice("Part of the pair", blocks, "part", help=words)
    return MapOptions(weights, block=block, **switches)


def store_opened(head: tuple[int, int] | None, with_head: bool) -> None:
    """Let the selects of layer and head follow a head that was opened in the view."""
    if head is not None:
        store_layer(head[0])
        if with_head:
            st.session_state["head"] = head[1]


def restore_options(said: int | None) -> None:
    """Take the look from an address that something else than the view has changed: a link, or the way back.

    To be called when the whole page runs. What the browser says at the same time counts more: it sends the address
    along as it was before the last change to it.

    Args:
        said: number of the last thing that the browser said about the view.
    """
    held, text = _restored_options(), st.query_params.get(OPTIONS_KEY, "")
    if text != held.text and said in (None, held.said):
        st.session_state[RESTORED_KEY] = RestoredOptions(text, said, None, held.taken + 1)


def requested_options(said: int | None, shown: Shown) -> ViewOptions | None:
    """The look that the address asks for; None where the browser has said something since.

    Places in another text mean nothing in this one, and a clicked cell is one of the head that was open.
    """
    held = _restored_options()
    if said not in (None, held.said):
        return None
    look = from_query(held.text)
    if held.shown is None or held.shown == shown:
        return look
    return replace(look, cell=None) if held.shown[0] == shown[0] else replace(look, zoom=None, cell=None, pins=())


def store_options(look: ViewOptions, said: int | None, shown: Shown) -> int:
    """Let the address name this look, without a run for it; how many times a look was taken from it so far."""
    text, taken = to_query(look), _restored_options().taken
    st.session_state[RESTORED_KEY] = RestoredOptions(text, said, shown, taken)
    if text and st.query_params.get(OPTIONS_KEY) != text:
        st.query_params[OPTIONS_KEY] = text
    elif not text and OPTIONS_KEY in st.query_params:
        del st.query_params[OPTIONS_KEY]
    return taken


def _restored_options() -> RestoredOptions:
    restored = st.session_state.get(RESTORED_KEY)
    return restored if isinstance(restored, RestoredOptions) else RestoredOptions()


def position_range(label: str, key: str, seq: int) -> tuple[int, int]:
    """First position and the one behind the last, of a part of a long text."""
    keep_span(key, seq)
    first, last = st.slider(label, 0, seq - 1, (0, seq - 1), key=key, **BOUND)
    return int(first), int(last) + 1


def position(label: str, key: str, seq: int) -> int:
    """One position of a text."""
    bring_along(key, 0)
    keep_among(key, range(seq), 0)
    return int(st.number_input(label, 0, seq - 1, 0, key=key, **BOUND))
