"""Widgets that choose one cell of attention: layer, head, query token and key token; keys are names in the address.

The pages on heads and on attention share them, so that both show the same head.
"""

import streamlit as st

from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from ui.widgets.controls import BOUND, bring_along
from ui.widgets.formatting import escape_markdown

NARROW, WIDE = 118, 235
"""Widths of a number with its two buttons, by the length of its label."""
LAYER, HEAD, QUERY, KEY = "at", "head", "query", "key"
WORDS = {LAYER: "layer", HEAD: "head", QUERY: "position", KEY: "position"}


def layer_select(layers: int) -> int:
    """A layer, zero-based; shown without a choice where there is only one."""
    return _index("Layer", layers, LAYER, 0, f"0 to {layers - 1}.", NARROW)


def head_select(heads: int) -> int:
    """A head of the layer, zero-based; shown without a choice where there is only one."""
    return _index("Head", heads, HEAD, 0, f"0 to {heads - 1}.", NARROW)


def query_position(tokens: Tokens) -> int:
    """Position of the query token, which attends."""
    first = longest_piece(tokens)
    words = f"Its position, 0 to {len(tokens) - 1}."
    return _index("Query token", len(tokens), QUERY, first, words, WIDE)


def key_position(tokens: Tokens) -> int:
    """Position of the key token, which is attended to; a click on its weight sets it too."""
    before = max(longest_piece(tokens) - 1, 0)
    words = f"Its position, 0 to {len(tokens) - 1}; a click on a bar of the row sets it too."
    return _index("Key token", len(tokens), KEY, before, words, WIDE)


def take_key(chart_key: str, curve: int) -> None:
    """Make the bar that was clicked in a chart's row of weights the key token."""
    event = st.session_state.get(chart_key)
    points = event["selection"]["points"] if event else []
    if points and points[0].get("curve_number") == curve:
        st.session_state[KEY] = int(points[0]["x"])


def _index(label: str, count: int, key: str, default: int, help_text: str, pixels: int) -> int:
    """A whole number from 0; one that does not exist for this model or text becomes the last."""
    most = count - 1
    bring_along(key, default)
    requested = st.query_params.get(key) or _by_its_other_name(key) or "0"
    if not (requested.isascii() and requested.isdigit() and int(requested[:9]) <= most):
        what = f"{WORDS[key].capitalize()} {requested[:20]}"
        st.toast(escape_markdown(f"{what} does not exist here; the last one is {most}."))
    if int(st.session_state.get(key) or 0) > most:
        st.session_state[key] = most
    return int(st.number_input(label, 0, most, default, step=1, key=key, help=help_text, width=pixels, **BOUND))


def _by_its_other_name(key: str) -> str | None:
    """What an address says of a layer by the word "layer", taken once.

    The control has another key than the layer of hidden states, which begins with the embeddings.
    """
    if key != LAYER or WORDS[LAYER] not in st.query_params:
        return None
    requested = st.query_params[WORDS[LAYER]]
    del st.query_params[WORDS[LAYER]]
    if requested.isascii() and requested.isdigit():
        st.session_state[key] = int(requested[:9])
        st.query_params[key] = requested[:9]
    return requested
