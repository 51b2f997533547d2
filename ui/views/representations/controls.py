"""Widgets of the representations page."""

import streamlit as st

from bertviz_core.hidden_states.geometry import first_tokens, shared_word
from bertviz_core.questions.texts.hidden_states import FIRST, MOST_PATHS, TOKENS, WIDTH, WINDOW
from bertviz_core.questions.texts.hidden_states import PICKED as PICKED_TOKENS
from bertviz_core.trace.results import Tokens, Trace
from ui.address.following import source_of, write, write_brought
from ui.address.query import whole
from ui.address.registry import param
from ui.address.widgets import BOUND, choice, keep_among, keep_span, level, span
from ui.session import FIRST_TEXT, SECOND_TEXT, WORD
from ui.widgets.cell_controls import token_names
from ui.widgets.text_fields import pair, text
from ui.widgets.view_and_layer import state_select

WORD_KEYS = ("word", "first_text", "second_text")
FILLED_IN = "word_filled_in"
"""Session key: the word and the sentences that were filled in for the reader."""
MOST_TOKENS = 512
PICKED = PICKED_TOKENS.key
VECTORS = param("vectors_of")


def pooler_chosen(trace: Trace) -> bool:
    """Whether [CLS] and the pooler are shown instead of the values of all tokens; no widget without a pooler."""
    if trace.pooler_output is None:
        return False
    return choice(VECTORS, "Show", label_visibility="collapsed") == VECTORS.options[1]


def layer_slider(layers: int) -> int:
    """An entry of the hidden states: 0 is the embedding output, the last is the model's output."""
    return state_select(layers, "The embeddings, or the output of this layer.")


def window_select(sizes: list[int]) -> int:
    """How many dimensions are drawn."""
    first = WINDOW if WINDOW in sizes else sizes[0]
    keep_among(WIDTH.key, sizes, sizes[0])
    stored = st.session_state.get(WIDTH.key, first)
    write_brought(WIDTH.key, None if stored == first else str(stored))
    chosen = st.selectbox("Dimensions shown", sizes, sizes.index(first), key=WIDTH.key, width=160, **BOUND)
    return int(chosen or sizes[0])


def first_dimension(hidden: int, window: int) -> int:
    """Where the window of dimensions begins."""
    return level(FIRST, "First dimension", hidden - window, 0, least=0, width=320)


def token_range(count: int, shown: int) -> tuple[int, int]:
    """First and last position of the tokens drawn; no widget where all of them are drawn."""
    if count <= 2:
        return 0, count - 1
    if count <= shown:
        keep_span(TOKENS.key, count)
        return 0, count - 1
    help_text = f"Positions from and to, at most {MOST_TOKENS} at once."
    first, last = span(TOKENS, "Tokens", count, (0, shown - 1), help=help_text, width=320)
    if last - first >= MOST_TOKENS:
        last = first + MOST_TOKENS - 1
        st.caption(f"Showing tokens {first} to {last}; at most {MOST_TOKENS} are drawn at once.")
    return first, last


def picked_tokens(tokens: Tokens) -> list[int]:
    """Positions of the tokens whose paths are drawn; the address contains positions only."""
    own, of = first_tokens(tokens), (tokens.text, tokens.pair)
    match source_of(PICKED, of):
        case "address":
            st.session_state[PICKED] = _positions(st.query_params[PICKED], len(tokens)) or own
        case "default" | "elsewhere":
            st.session_state[PICKED] = own
    names = token_names(tokens)
    words = f"Whose paths are drawn, up to {MOST_PATHS}."
    picked = st.multiselect(
        "Tokens",
        range(len(tokens)),
        format_func=names.__getitem__,
        key=PICKED,
        max_selections=MOST_PATHS,
        help=words,
        persist_state="session",
    )
    places = sorted(int(place) for place in picked)
    write(PICKED, ".".join(map(str, places)) if places and places != own else None, of)
    return places


def _positions(written: str, count: int) -> list[int]:
    """Parse positions such as 1.4.5; empty for anything else."""
    places = [whole(part) for part in written.split(".")]
    valid = {place for place in places if place is not None}
    return sorted(place for place in valid if place < count) if None not in places and len(places) <= MOST_PATHS else []


def word_inputs() -> tuple[str, str, str]:
    """A word and two sentences that contain it: the reader's own texts, if they have a word in common.

    They follow the texts of the sidebar until the reader changes one of the three.
    """
    first_text, second_text = text(), pair() or ""
    shared = shared_word(first_text, second_text)
    usual = (WORD, FIRST_TEXT, SECOND_TEXT)
    own = (shared, first_text, second_text) if shared else usual
    now = tuple(st.session_state.get(key) for key in WORD_KEYS)
    if now in ((None, None, None), st.session_state.get(FILLED_IN)):
        st.session_state.update(zip(WORD_KEYS, own, strict=True))
        st.session_state[FILLED_IN] = own
    for key, default in zip(WORD_KEYS, usual, strict=True):
        st.session_state.setdefault(key, default)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        word = st.text_input("Word", key="word", persist_state="session", width=160)
        first = st.text_input("Sentence 1", key="first_text", persist_state="session")
        second = st.text_input("Sentence 2", key="second_text", persist_state="session")
    return (word or "").strip() or WORD, first or FIRST_TEXT, second or SECOND_TEXT
