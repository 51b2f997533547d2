"""Widgets of the views of heads that label; keys are names in the address."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.predictions.classes import ORDERS, ClassOrder
from bertviz_core.figures.predictions.tags import JOINED
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS
from bertviz_core.predictions.results import Strategy
from bertviz_core.questions.predictions.labels import JOINED as TAGS_JOINED
from bertviz_core.questions.predictions.labels import JOINS, LONGEST, LONGEST_ANSWER, ORDER, WINDOW
from bertviz_core.questions.predictions.masked_lm import GUESS
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR
from bertviz_core.text import counted
from bertviz_core.trace.results import Tokens
from ui.address.bounds import keep_among
from ui.cache import models
from ui.session import store, stored
from ui.widgets.cell_controls import token_select
from ui.widgets.controls import BOUND, choice, pair, text
from ui.widgets.formatting import escape_markdown

FIELDS = {EDITED.key: "The edited text", EDITED_PAIR.key: "The edited second text"}
HEIGHT = 68
"""Pixels of a field of the edit, the least that there is."""


def order_choice() -> ClassOrder:
    """Whether the greatest class stands first."""
    return choice("Order", ORDERS, ORDER.key, width="content")


def strategy_choice() -> Strategy:
    """How tokens become entities."""
    told = "; ".join(f"{name}: {words}" for name, words in JOINED.items())
    return choice("Tokens joined", JOINS, TAGS_JOINED.key, width="content", help=f"{told}.")


def longest_input() -> int:
    """Most tokens of an answer."""
    longest = st.number_input(
        f"Longest answer, 1 to {LONGEST_ANSWER} tokens",
        1,
        LONGEST_ANSWER,
        MAX_ANSWER_TOKENS,
        step=1,
        key=LONGEST.key,
        width=240,
        **BOUND,
    )
    return int(longest or MAX_ANSWER_TOKENS)


def window_select(count: int, best: int) -> int:
    """The part of a long context whose spans are mapped, by its place from 0; to begin with the best answer's."""
    if count < 2:
        return 0
    options = [str(window + 1) for window in range(count)]
    keep_among(WINDOW.key, options, options[best])
    label = f"Window of the context, 1 to {count}"
    words = f"The context is read in {counted(count, 'window')} that overlap; each has a map of its own."
    chosen = st.selectbox(label, options, best, key=WINDOW.key, width=240, help=words, **BOUND)
    return options.index(str(chosen))


def edited_texts() -> tuple[str, str | None]:
    """The edited version of text and pair, in two fields; each begins as the text itself, until it is edited."""
    texts = {EDITED.key: text(), **({EDITED_PAIR.key: held} if (held := pair()) is not None else {})}
    with st.container(horizontal=True):
        for key, own in texts.items():
            _follow(key, own)
            st.text_area(FIELDS[key], key=key, height=HEIGHT, persist_state="session", help="What is compared.")
    return str(stored(EDITED.key)), str(stored(EDITED_PAIR.key)) if EDITED_PAIR.key in texts else None


def _follow(key: str, own: str) -> None:
    """Begin with the text itself, and keep to it where it changes and nothing was edited."""
    of = f"{key}_of"
    if stored(key) is None or stored(key) == stored(of):
        store(key, own)
    store(of, own)


def guess_select(tokens: Tokens, default: int) -> int:
    """The token of the text whose word is guessed in both versions."""
    return token_select("Guessed token", tokens, GUESS.key, default, "Masked in both versions; the head guesses it.")


def notices(place: DeltaGenerator, told: Sequence[str], name: str, task: str) -> None:
    """Say what a reader must know of an answer, but for what the page says of its head anyway.

    Args:
        place: where it is written.
        told: sentences.
        name: name of the model.
        task: of its head.
    """
    for notice in dict.fromkeys(told):
        if notice not in models.with_head(name, task).notices:
            place.warning(escape_markdown(notice), icon=":material/info:")
