"""Widgets that choose a cell of attention: head, query token and key token.

The pages Heads and Attention share them, so that both show the same head.
"""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.text import escape_controls, escape_markdown, isolated
from bertviz_core.trace.results import Tokens
from ui.address.following import bring_along, rewrite, source_of, write
from ui.address.query import whole
from ui.address.widgets import BOUND, keep_within

NARROW, WIDE = 150, 200
"""Pixels of a number field, and of a list of tokens."""
NO_POSITIONS = "none"
HEAD, QUERY, KEY = "head", "query", "key"


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


def several_tokens(label: str, tokens: Tokens, key: str, default: str, allowed: Sequence[int], most: int) -> str:
    """A list of tokens of which several are chosen, such as 2,5, or none; the address contains only the positions.

    Args:
        label: label of the list.
        tokens: the text.
        key: key of the list, its name in the address.
        default: positions that are chosen to begin with.
        allowed: positions that can be chosen.
        most: most positions at once.
    """
    of, places = (tokens.text, tokens.pair), st.session_state.get(key)
    match source_of(key, of):
        case "address":
            written = st.query_params[key]
            places = _positions(written, len(tokens), most)
            if places is None:
                words = f"There is no {key}={written[:20]} here; write up to {most} positions of the text such as 2,5."
                st.toast(escape_markdown(words))
        case "default" | "elsewhere":
            places = None
    if places is None or max(places, default=0) >= len(tokens):
        places = _positions(default, len(tokens), most) or []
    chosen = sorted(set(places).intersection(allowed))
    text = ",".join(map(str, chosen)) or NO_POSITIONS
    st.session_state[key], st.session_state[f"{key}_most"] = chosen, most
    write(key, None if text == default else text, of)
    st.multiselect(
        label,
        allowed,
        format_func=token_names(tokens).__getitem__,
        key=key,
        max_selections=most,
        help=f"Up to {most}. A click on a token of the text takes it in, or out.",
        placeholder="none",
        select_all=False,
        persist_state="session",
    )
    return text


def toggle_token(key: str, place: int) -> None:
    """Take a position in or out of several; the first click replaces those of the default."""
    chosen, most = set(st.session_state.get(key) or ()), st.session_state.get(f"{key}_most", 1)
    if key not in st.query_params and place not in chosen:
        chosen = set()
    if place not in chosen and len(chosen) >= most:
        st.toast(f"At most {most} tokens are chosen at once; take one away first.")
    else:
        st.session_state[key] = sorted(chosen ^ {place})


def _positions(written: str, count: int, most: int) -> list[int] | None:
    """Parse positions such as 2,5; None for anything else."""
    if written == NO_POSITIONS:
        return []
    places = [whole(part) for part in written.split(",")]
    valid = [place for place in places if place is not None and place < count]
    return valid if len(valid) == len(places) <= most else None


def _take_token(key: str) -> None:
    """Select the token chosen in the list, and update the address."""
    put_token(key, int(st.session_state[f"{key}_token"]))


def _position(written: str, most: int) -> int | None:
    """Parse a whole number from 0 to `most`; None for anything else."""
    place = whole(written)
    return place if place is not None and place <= most else None
