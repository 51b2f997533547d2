"""What an address says, read once in every run before any control does: numbers are short, words have a length.

Anyone may write an address, and Streamlit hands what stands in it to the controls that are bound to it: a number
that is too large for one ends the page there. What no control could take is left out before, and said in a sentence.
"""

import re

import streamlit as st
from streamlit.runtime.state import get_session_state

from ui.components.navigation import ARRIVE

NUMBERS = frozenset(
    (
        "cluster",
        "clusters",
        "count",
        "depth",
        "first_row",
        "from",
        "group",
        "guess",
        "head",
        "hit",
        "hits",
        "key",
        "keys",
        "labels",
        "levels",
        "longest",
        "position",
        "queries",
        "query",
        "seed",
        "shown",
        "target_dimension",
        "token",
        "tokens",
        "window",
    )
)
"""Names of the controls that hold a number, or two of them as the ends of a part."""
TYPED = frozenset(
    (
        "text", "pair", "word", "first", "second", "sentences", "query_sentence", "compare", "edited", "edited_pair",
        "labelled_texts", "many_texts", "effect_sentences", "corpus_query", "where", "target_word", "direction_from",
        "direction_to",
    )
)  # fmt: skip
"""Names of what a reader typed; the model's own limit is theirs."""
MOST_DIGITS, MOST_CHARACTERS, MOST_VALUES = 9, 10_000, 100
"""Of a number; of another value, far more than any control has a use for; of values under one name."""
SHOWN_CHARACTERS, SHOWN_NAMES = 20, 3
NUMBER = re.compile(rf"-?[0-9]{{1,{MOST_DIGITS}}}")


def whole(written: str | None) -> int | None:
    """A whole number from 0 as an address says it; None for anything else, and for more than nine digits."""
    digits = (written or "").lstrip("0") or (written or "")[-1:]
    return int(digits) if NUMBER.fullmatch(digits) and not digits.startswith("-") else None


def clean() -> str:
    """Leave out of the address what no control takes; what was left out and why in a sentence, "" for nothing."""
    refused = {name: value for name in st.query_params if (value := _refused(name)) is not None}
    if not refused:
        return ""
    # st.query_params refuses to change what a control of the run before was bound to; a step back may name it.
    with get_session_state().query_params() as params:
        *others, last = refused
        for name in others:
            params.discard_param_no_forward_msg(name)
        params.remove_param(last)  # tells the browser, once
        params.set_initial_query_params_from_current()
    named = [f"{_short(name)}={_short(value)}" for name, value in refused.items()][:SHOWN_NAMES]
    more = f" and {len(refused) - len(named):,} more" if len(refused) > len(named) else ""
    return (
        f"The address asks for {', '.join(named)}{more}, which no control takes: a number is whole and has at most "
        f"{MOST_DIGITS} digits, and other words have at most {MOST_CHARACTERS:,} characters."
    )


def _refused(name: str) -> str | None:
    """The value under a name that no control takes; None where there is none."""
    values = st.query_params.get_all(name)
    if name in TYPED:
        return None
    if name in NUMBERS:
        return next((value for value in values if not NUMBER.fullmatch(value)), None)
    if len(values) > MOST_VALUES or len(name) > MOST_CHARACTERS:
        return values[-1]
    most = 4 * MOST_CHARACTERS if name == ARRIVE else MOST_CHARACTERS  # another address, in which every sign is coded
    return next((value for value in values if len(value) > most), None)


def _short(words: str) -> str:
    return words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]}…"
