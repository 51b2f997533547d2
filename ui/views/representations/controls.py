"""Widgets of the pages that run a text: layer, window, tokens, words; keys are names in the address."""

import streamlit as st

from ui.session import FIRST_TEXT, SECOND_TEXT, WORD
from ui.widgets.controls import BOUND

MOST_TOKENS = 512


def layer_slider(layers: int) -> int:
    """An entry of the hidden states: 0 is the embedding output, the last is the model's output."""
    if st.session_state.get("layer", 0) > layers:
        st.session_state["layer"] = layers
    return int(st.slider("Layer", 0, layers, layers, key="layer", help="0 is the embedding output.", **BOUND))


def window_select(sizes: list[int]) -> int:
    """How many dimensions are drawn."""
    if st.session_state.get("window", sizes[0]) not in sizes:
        st.session_state["window"] = sizes[0]
    default = sizes.index(64) if 64 in sizes else 0
    return int(st.selectbox("Dimensions shown", sizes, index=default, key="window", **BOUND) or sizes[0])


def first_dimension(hidden: int, window: int) -> int:
    """Where the window of dimensions begins."""
    most = hidden - window
    if most == 0:
        return 0
    if st.session_state.get("from", 0) > most:
        st.session_state["from"] = most
    return int(st.slider("First dimension", 0, most, 0, key="from", **BOUND))


def token_range(count: int, shown: int) -> tuple[int, int]:
    """First and last position of the tokens drawn; all of them without asking where they are few."""
    if count <= 2:
        return 0, count - 1
    first, last = st.session_state.get("tokens", (0, 0))
    if last >= count:
        st.session_state["tokens"] = (min(first, count - 2), count - 1)
    if count <= shown:
        return 0, count - 1
    words = f"Positions from and to, at most {MOST_TOKENS} at once."
    first, last = st.slider("Tokens", 0, count - 1, (0, shown - 1), key="tokens", help=words, **BOUND)
    if last - first >= MOST_TOKENS:
        last = first + MOST_TOKENS - 1
        st.caption(f"Showing tokens {first} to {last}; at most {MOST_TOKENS} are drawn at once.")
    return int(first), int(last)


def word_inputs() -> tuple[str, str, str]:
    """A word and two texts that it stands in."""
    for key, default in (("word", WORD), ("first", FIRST_TEXT), ("second", SECOND_TEXT)):
        st.session_state.setdefault(key, default)
    with st.container(horizontal=True):
        word = st.text_input("Word", key="word", persist_state="session")
        first = st.text_input("First text", key="first", persist_state="session")
        second = st.text_input("Second text", key="second", persist_state="session")
    return (word or "").strip() or WORD, first or FIRST_TEXT, second or SECOND_TEXT
