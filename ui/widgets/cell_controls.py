"""Widgets that choose a cell of attention: head, query token and key token.

The pages Heads and Attention share them, so that both show the same head.
"""

import streamlit as st

from bertviz_core.text import escape_controls, escape_markdown, isolated
from bertviz_core.trace.results import Tokens
from ui.address.following import bring_along, rewrite, source_of, write
from ui.address.query import whole
from ui.address.widgets import BOUND, keep_within

NARROW, WIDE = 150, 200
"""Pixels of a number field, and of a list of tokens."""
HEAD = "head"


def head_select(heads: int) -> int:
    """A head of the layer, counted from 0; no widget where there is only one."""
    most = heads - 1
    if most <= 0:
        return 0
    bring_along(HEAD)
    requested = st.query_params.get(HEAD) or "0"
    if _position(requested, most) is None:
        st.toast(escape_markdown(f"There is no head {requested[:20]} here; the last one is {most}."))
    keep_within(HEAD, 0, most)
    return int(st.number_input(f"Head, 0 to {most}", 0, most, 0, step=1, key=HEAD, width=NARROW, **BOUND))


def token_names(tokens: Tokens) -> list[str]:
    """Position and text of every token, for lists."""
    return [f"{place} {isolated(escape_controls(token))}" for place, token in enumerate(tokens.tokens)]


def put_token(key: str, place: int) -> None:
    """Select a position, as a click in a figure does, and update the address."""
    st.session_state[key] = place
    rewrite(key, str(place))


def token_select(label: str, tokens: Tokens, key: str, default: int, help_text: str) -> int:
    """A list of tokens; the address contains only the position, since tokens are the reader's text."""
    widget, of, most = f"{key}_token", (tokens.text, tokens.pair), len(tokens) - 1
    place = st.session_state.get(key, default)
    match source_of(key, of):
        case "address":
            written = st.query_params[key]
            named = _position(written, most)
            if named is None:
                st.toast(escape_markdown(f"There is no token {written[:20]} here; the last one is {most}."))
            place = most if named is None else named
        case "default":
            place = default
    place = default if place > most else place
    st.session_state[key] = st.session_state[widget] = place
    write(key, None if place == default else str(place), of)
    names = token_names(tokens)
    st.selectbox(
        label,
        range(len(tokens)),
        format_func=names.__getitem__,
        key=widget,
        help=help_text,
        width=WIDE,
        on_change=_take_token,
        args=(key,),
    )
    return int(place)


def _take_token(key: str) -> None:
    """Select the token chosen in the list, and update the address."""
    put_token(key, int(st.session_state[f"{key}_token"]))


def _position(written: str, most: int) -> int | None:
    """Parse a whole number from 0 to `most`; None for anything else."""
    place = whole(written)
    return place if place is not None and place <= most else None
