"""Widgets of the views of task heads."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.predictions.classes import ORDERS, ClassOrder
from bertviz_core.figures.predictions.tags import JOINED
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS
from bertviz_core.predictions.results import Strategy
from bertviz_core.questions.predictions.masked_lm import GUESS
from bertviz_core.questions.predictions.task_heads import JOINED as TAGS_JOINED
from bertviz_core.questions.predictions.task_heads import JOINS, LONGEST, LONGEST_ANSWER, ORDER, WINDOW
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR
from bertviz_core.text import counted, escape_markdown
from bertviz_core.trace.results import Tokens
from ui.address.widgets import choice, edited, select, whole
from ui.cache import models
from ui.widgets.cell_controls import token_select
from ui.widgets.heading import unshown

EDITED_HELP = "What is compared."


def order_choice() -> ClassOrder:
    """Order of the classes."""
    return choice(ORDER, "Order", ORDERS, width="content")


def strategy_choice() -> Strategy:
    """How tokens become entities."""
    help_text = "; ".join(f"{name}: {words}" for name, words in JOINED.items())
    return choice(TAGS_JOINED, "Join pieces by", JOINS, width="content", help=f"{help_text}.")


def longest_input() -> int:
    """Most tokens of an answer, chosen by the reader."""
    label = f"Longest answer, 1 to {LONGEST_ANSWER} tokens"
    return whole(LONGEST, label, 1, LONGEST_ANSWER, MAX_ANSWER_TOKENS, width=240)


def window_select(count: int, best: int) -> int:
    """Index of a window of a long context; by default that of the best answer."""
    if count < 2:
        return 0
    options = [str(window + 1) for window in range(count)]
    label = f"Window of the context, 1 to {count}"
    words = f"The context is read in {counted(count, 'window')} that overlap; each has its own map."
    return options.index(select(WINDOW, label, options, options[best], width=240, help=words))


def edited_texts(text: str, second: str | None) -> tuple[str, str | None]:
    """Fields for the edited text and second text, each equal to the original until edited."""
    with st.container(horizontal=True):
        first = edited(EDITED, "The edited text", text, help=EDITED_HELP)
        if second is None:
            return first, None
        return first, edited(EDITED_PAIR, "The edited second text", second, help=EDITED_HELP)


def guess_select(tokens: Tokens, default: int) -> int:
    """The token of the text whose word is guessed in both versions."""
    return token_select("Guessed token", tokens, GUESS.key, default, "Masked in both versions; the head guesses it.")


def notices(place: DeltaGenerator, every: Sequence[str], name: str, task: str) -> None:
    """Show the notices of an answer, except those of its head, which are shown elsewhere on the page.

    Args:
        place: container for the notices.
        every: all notices.
        name: name of the model.
        task: task of its head.
    """
    for notice in unshown(every):
        if notice not in models.with_head(name, task).notices:
            place.warning(escape_markdown(notice), icon=":material/info:")
