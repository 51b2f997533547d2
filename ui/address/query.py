"""What the query string says, checked once in every run before any control reads it.

Anyone may write an address, and Streamlit hands what stands in it to the controls that are bound to it: a number
that is too large for one ends the page there. What no control could take is left out before, and said in a sentence.
"""

import re

import streamlit as st

from ui.address.registry import NUMBERS, TYPED
from ui.address.streamlit_query import discard
from ui.components.navigation import ARRIVE

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
    named = {name: st.query_params.get_all(name) for name in st.query_params}
    left_out = {name: value for name, values in named.items() if (value := refused(name, values)) is not None}
    if not left_out:
        return ""
    discard(left_out)
    words = [f"{_short(name)}={_short(value)}" for name, value in left_out.items()][:SHOWN_NAMES]
    more = f" and {len(left_out) - len(words):,} more" if len(left_out) > len(words) else ""
    return (
        f"The address asks for {', '.join(words)}{more}, which no control takes: a number is whole and has at most "
        f"{MOST_DIGITS} digits, and other words have at most {MOST_CHARACTERS:,} characters."
    )


def refused(name: str, values: list[str]) -> str | None:
    """The value under a name that no control takes; None where there is none."""
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
