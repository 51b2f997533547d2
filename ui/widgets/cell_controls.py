"""Widgets that choose one cell of attention in a layer: head, query and key token; keys are names in the address.

The pages on heads and on attention share them, so that both show the same head.
"""

import streamlit as st

from bertviz_core.text import escape_controls, isolated
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from ui.address.bounds import keep_within
from ui.address.following import bring_along, rewrite, source_of, write
from ui.address.query import whole
from ui.widgets.controls import BOUND
from ui.widgets.formatting import escape_markdown

NARROW, WIDE = 150, 200
"""Widths of a number with its two buttons, and of a token."""
HEAD, QUERY, KEY = "head", "query", "key"


def head_select(heads: int) -> int:
    """A head of the layer, zero-based; no choice where there is only one."""
    most = heads - 1
    if most <= 0:
        return 0
    bring_along(HEAD, 0)
    requested = st.query_params.get(HEAD) or "0"
    if _position(requested, most) is None:
        st.toast(escape_markdown(f"There is no head {requested[:20]} here; the last one is {most}."))
    keep_within(HEAD, 0, most)
    return int(st.number_input(f"Head, 0 to {most}", 0, most, 0, step=1, key=HEAD, width=NARROW, **BOUND))


def query_select(tokens: Tokens) -> int:
    """Position of the query token, which attends."""
    return token_select("Query token", tokens, QUERY, longest_piece(tokens), "The token that looks at all others.")


def key_select(tokens: Tokens) -> int:
    """Position of the key token, which is attended to; a click on its weight sets it too."""
    words = "The token that is looked at; a click on a bar of the row of weights chooses it too."
    return token_select("Key token", tokens, KEY, max(longest_piece(tokens) - 1, 0), words)


def token_names(tokens: Tokens) -> list[str]:
    """Position and word of every token, as lists of choices name them."""
    return [f"{place} {isolated(escape_controls(token))}" for place, token in enumerate(tokens.tokens)]


def put_token(key: str, place: int) -> None:
    """Make a position the chosen one under a key, as a click in a figure does; the address follows."""
    st.session_state[key] = place
    rewrite(key, str(place))


def take_key(chart_key: str, curve: int) -> None:
    """Make the bar that was clicked in a chart's row of weights the key token."""
    event = st.session_state.get(chart_key)
    points = event["selection"]["points"] if event else []
    if points and points[0].get("curve_number") == curve:
        put_token(KEY, int(points[0]["x"]))


def token_select(label: str, tokens: Tokens, key: str, default: int, help_text: str) -> int:
    """A token by its position and word; the address holds the position alone, since words are the reader's text."""
    widget, of, most = f"{key}_token", (tokens.text, tokens.pair), len(tokens) - 1
    place = st.session_state.get(key, default)
    match source_of(key, of):
        case "address":
            asked = st.query_params[key]
            named = _position(asked, most)
            if named is None:
                st.toast(escape_markdown(f"There is no token {asked[:20]} here; the last one is {most}."))
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
    """Take the token that was chosen in the list; the address follows."""
    put_token(key, int(st.session_state[f"{key}_token"]))


def _position(written: str, most: int) -> int | None:
    """A whole number from 0 to the last one; None for anything else."""
    place = whole(written)
    return place if place is not None and place <= most else None
