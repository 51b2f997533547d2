"""Widgets of the page Words that matter."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.attribution.class_attributions import MOST_CLASSES
from bertviz_core.attribution.results import Replacement, ShareMethod
from bertviz_core.attribution.text_units import has_mask
from bertviz_core.errors import TextError
from bertviz_core.interventions.targets.target import Measure
from bertviz_core.questions.interventions.attributions import (
    BY_NAME,
    CLASSES,
    COMPARED,
    IN_PLACE,
    METHOD,
    REPLACED,
    UNITS,
)
from bertviz_core.text import escape_controls
from ui.address.registry import param
from ui.address.widgets import BOUND, choice
from ui.cache import models
from ui.session import store, stored
from ui.views.words import texts
from ui.widgets.target_controls.opened import ChosenTarget
from ui.widgets.target_controls.row import OF_PLACES

BY_MEASURE: dict[str, Measure] = {"logit": "logit", "probability": "probability"}


def method_choice(name: str) -> ShareMethod:
    """The method of attribution; only leave-one-out for a tokenizer without a mask token."""
    if not has_mask(models.tokenizer(name)):
        st.caption(texts.ONLY_LEFT_OUT)
        return "leave-one-out"
    words = (
        "Leave-one-out: measured, by a run without each word. Integrated gradients: shares that add up, by gradients "
        "on the way from a text of masks. Gradient x input: one run, the roughest."
    )
    return BY_NAME[choice(METHOD, "Method", help=words)]


def methods_choice() -> tuple[ShareMethod, ...]:
    """The methods whose ranking of the words is tested.

    Raises:
        TextError: none is chosen.
    """
    chosen = st.segmented_control(
        "Strongest by",
        tuple(BY_NAME),
        selection_mode="multi",
        default=list(BY_NAME)[:2],
        key=COMPARED.key,
        help="Each method has its own order of the strongest words.",
        **BOUND,
    )
    if not chosen:
        raise TextError("No method is chosen; choose at least one under Strongest by.")
    return tuple(method for name, method in BY_NAME.items() if name in chosen)


def classes_choice(labels: Sequence[str]) -> tuple[str, ...]:
    """The classes that are shown; the model's likeliest classes come first.

    Raises:
        TextError: none is chosen.
    """
    if stored(CLASSES.key) is not None and not set(stored(CLASSES.key)) <= set(labels):
        store(CLASSES.key, None)
    chosen = st.multiselect(
        "Classes shown",
        labels,
        list(labels[:MOST_CLASSES]),
        key=CLASSES.key,
        format_func=escape_controls,
        max_selections=MOST_CLASSES,
        help=f"The likeliest to begin with; at most {MOST_CLASSES}.",
        **BOUND,
    )
    if not chosen:
        raise TextError("No class is chosen; choose at least one under Classes shown.")
    return tuple(chosen)


def class_measure(has_probability: bool) -> Measure:
    """The measure of each class."""
    if not has_probability:
        return "logit"
    words = "What goes into the softmax or the sigmoid, or what comes out of it."
    return BY_MEASURE[choice(param("classes_by"), "Measured by", help=words)]


def whole_words() -> bool:
    """Whether whole words are attributed, not single tokens."""
    words = "Whether a word of several tokens is left out as a whole, or each token by itself."
    return choice(UNITS, "Units", help=words) == "words"


def replacement(name: str, chosen: ChosenTarget, place: DeltaGenerator) -> Replacement:
    """How a removed word is replaced: a choice if the tokenizer has a mask and the text may get shorter.

    If neither is possible, the page ends with a message about alternatives.

    Args:
        name: name of the model.
        chosen: the target.
        place: container of the widget.
    """
    placed = chosen.kind in OF_PLACES
    if has_mask(models.tokenizer(name)):
        if placed:
            return "mask"
        words = "The mask keeps all positions; with nothing in its place the text is shorter."
        with place:
            return REPLACED[choice(IN_PLACE, "In its place", help=words)]
    if placed:
        st.info(texts.NO_MASK_PLACED, icon=":material/info:")
        st.stop()
    return "drop"
