"""Validate the query string once per run, before any widget reads it.

Anyone may write an address, and Streamlit passes its values to the bound widgets: a number that is too large ends the
page. Values that no widget accepts are removed first, and a message is shown.
"""

import re

import streamlit as st

from ui.address.registry import NUMBERS, TYPED
from ui.address.streamlit_query import discard
from ui.components.navigation import ARRIVE

MOST_DIGITS, MOST_CHARACTERS, MOST_VALUES = 9, 10_000, 100
"""Limits of a number, of any other value, and of the values of one name."""
SHOWN_CHARACTERS, SHOWN_NAMES = 20, 3
NUMBER = re.compile(rf"-?[0-9]{{1,{MOST_DIGITS}}}")


def whole(written: str | None) -> int | None:
    """Parse a whole number from 0 of at most nine digits; None for anything else."""
    digits = (written or "").lstrip("0") or (written or "")[-1:]
    return int(digits) if NUMBER.fullmatch(digits) and not digits.startswith("-") else None


def clean() -> str:
    """Remove values that no widget accepts; returns a sentence about them, "" for none."""
    named = {name: st.query_params.get_all(name) for name in st.query_params}
    left_out = {name: value for name, values in named.items() if (value := refused(name, values)) is not None}
    if not left_out:
        return ""
    discard(left_out)
    words = [f"{_short(name)}={_short(value)}" for name, value in left_out.items()][:SHOWN_NAMES]
    more = f" and {len(left_out) - len(words):,} more" if len(left_out) > len(words) else ""
    return (
        f"The address has {', '.join(words)}{more}, which no control accepts: numbers are whole and have at most "
        f"{MOST_DIGITS} digits, and other values have at most {MOST_CHARACTERS:,} characters."
    )


def refused(name: str, values: list[str]) -> str | None:
    """The value of a name that no widget accepts; None where there is none."""
    if name in TYPED:
        return None
    if name in NUMBERS:
        return next((value for value in values if not NUMBER.fullmatch(value)), None)
    if len(values) > MOST_VALUES or len(name) > MOST_CHARACTERS:
        return values[-1]
    most = 4 * MOST_CHARACTERS if name == ARRIVE else MOST_CHARACTERS  # a whole percent-encoded address
    return next((value for value in values if len(value) > most), None)


def _short(words: str) -> str:
    return words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]}…"
