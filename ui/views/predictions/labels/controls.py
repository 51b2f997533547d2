"""Widgets of the views of heads that label; keys are names in the address."""

import streamlit as st

from bertviz_core.figures.predictions.classes import ORDERS, ClassOrder
from bertviz_core.figures.predictions.tags import JOINED
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS
from bertviz_core.predictions.results import STRATEGIES, Strategy
from bertviz_core.text import counted
from bertviz_core.trace.results import Tokens
from ui.address.bounds import keep_among
from ui.session import store, stored
from ui.widgets.cell_controls import token_select
from ui.widgets.controls import BOUND, choice, pair, text

EDITED, EDITED_PAIR = "edited", "edited_pair"
FIELDS = {EDITED: "The edited text", EDITED_PAIR: "The edited second text"}
MOST_ANSWER_TOKENS = 100
HEIGHT = 68
"""Pixels of a field of the edit, the least that there is."""
JOIN_FIRST: tuple[Strategy, ...] = ("simple", *(each for each in STRATEGIES if each != "simple"))


def order_choice() -> ClassOrder:
    """Whether the greatest class stands first."""
    return choice("Order", ORDERS, "order", width="content")


def strategy_choice() -> Strategy:
    """How tokens become entities."""
    told = "; ".join(f"{name}: {words}" for name, words in JOINED.items())
    return choice("Tokens joined", JOIN_FIRST, "joined", width="content", help=f"{told}.")


def longest_input() -> int:
    """Most tokens of an answer."""
    longest = st.number_input(
        f"Longest answer, 1 to {MOST_ANSWER_TOKENS} tokens",
        1,
        MOST_ANSWER_TOKENS,
        MAX_ANSWER_TOKENS,
        step=1,
        key="longest",
        width=240,
        **BOUND,
    )
    return int(longest or MAX_ANSWER_TOKENS)


def window_select(count: int, best: int) -> int:
    """The part of a long context whose spans are mapped, by its place from 0; to begin with the best answer's."""
    if count < 2:
        return 0
    options = [str(window + 1) for window in range(count)]
    keep_among("window", options, options[best])
    label = f"Window of the context, 1 to {count}"
    words = f"The context is read in {counted(count, 'window')} that overlap; each has a map of its own."
    chosen = st.selectbox(label, options, best, key="window", width=240, help=words, **BOUND)
    return options.index(str(chosen))


def edited_texts() -> tuple[str, str | None]:
    """The edited version of text and pair, in two fields; each begins as the text itself, until it is edited."""
    texts = {EDITED: text(), **({EDITED_PAIR: held} if (held := pair()) is not None else {})}
    with st.container(horizontal=True):
        for key, own in texts.items():
            _follow(key, own)
            st.text_area(FIELDS[key], key=key, height=HEIGHT, persist_state="session", help="What is compared.")
    return str(stored(EDITED)), str(stored(EDITED_PAIR)) if EDITED_PAIR in texts else None


def _follow(key: str, own: str) -> None:
    """Begin with the text itself, and keep to it where it changes and nothing was edited."""
    of = f"{key}_of"
    if stored(key) is None or stored(key) == stored(of):
        store(key, own)
    store(of, own)


def guess_select(tokens: Tokens, default: int) -> int:
    """The token of the text whose word is guessed in both versions."""
    return token_select("Guessed token", tokens, "guess", default, "Masked in both versions; the head guesses it.")
