"""Widgets of the page on words that matter; keys are names in the address."""

import streamlit as st

from bertviz_core.causes.words.results import METHODS, Replacement, ShareMethod
from bertviz_core.errors import TextError
from bertviz_core.figures.predictions.causes.word_curves import METHOD_NAMES
from ui.widgets.controls import BOUND, choice, pair, text

METHOD, COMPARED, UNITS, IN_PLACE, TEXTS = "method", "methods", "units", "in_place", "pair_texts"
BY_NAME: dict[str, ShareMethod] = {METHOD_NAMES[method]: method for method in METHODS}
REPLACED: dict[str, Replacement] = {"the mask": "mask", "nothing": "drop"}
EXAMPLE = "It's not an exchange or return", "It's an exchange or return"
"""Two texts that mean the opposite, and whose vectors are nearly the same."""
MINE, NEGATION = "yours", "a negation"


def method_choice() -> ShareMethod:
    """How the share of each word is found."""
    words = (
        "Leave-one-out: measured, by a run without each word. Integrated gradients: shares that add up, by gradients "
        "on the way from a text of masks. Gradient x input: one run, the roughest."
    )
    return BY_NAME[choice("Method", tuple(BY_NAME), METHOD, width="content", help=words)]


def methods_choice() -> tuple[ShareMethod, ...]:
    """The methods whose order of the words is tried.

    Raises:
        TextError: none is chosen.
    """
    chosen = st.segmented_control(
        "Strongest by",
        tuple(BY_NAME),
        selection_mode="multi",
        default=list(BY_NAME)[:2],
        key=COMPARED,
        width="content",
        help="Which words are the strongest, each method says by itself.",
        **BOUND,
    )
    if not chosen:
        raise TextError("No method is chosen; choose at least one under Strongest by.")
    return tuple(method for name, method in BY_NAME.items() if name in chosen)


def whole_words() -> bool:
    """Whether the tokens of a word go together."""
    words = "A word of several tokens goes as a whole, or each token alone."
    return choice("Units", ("whole words", "tokens"), UNITS, width="content", help=words) == "whole words"


def replacement() -> Replacement:
    """What becomes of a word that is left out."""
    words = "The mask keeps all positions; with nothing in its place the text is shorter."
    return REPLACED[choice("In its place", tuple(REPLACED), IN_PLACE, width="content", help=words)]


def two_texts() -> tuple[str, str]:
    """The texts whose words are compared: those of the sidebar, or the example, the only ones without a pair."""
    second = pair()
    if second is None:
        return EXAMPLE
    shown = choice("Texts", (MINE, NEGATION), TEXTS, width="content", help=f"The example: “{EXAMPLE[0]}”.")
    return (text(), second) if shown == MINE else EXAMPLE
