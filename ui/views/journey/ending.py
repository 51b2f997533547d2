"""The target number at the end of the drawing, and its dependence on layers, heads and tokens."""

import numpy as np
import streamlit as st
from jaxtyping import Float

from bertviz_core.attribution.results import WordAttributions
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.figures.journey.payload import Ending
from bertviz_core.interventions.target_parsing import OF_TWO_TEXTS
from bertviz_core.journey.results import Journey, StageKind
from bertviz_core.questions.interventions.attributions import word_attributions
from bertviz_core.questions.interventions.effects import zero_effects
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.text import escape_markdown
from ui.address.registry import param
from ui.address.widgets import toggle
from ui.cache.models import source
from ui.views.journey.views import edit_button
from ui.widgets.lists import answer
from ui.widgets.target_controls import (
    ChosenTarget,
    folded_row,
    session_probe,
    shared_model_of,
    target_options,
    target_row,
)

WHOLE = (*OF_TWO_TEXTS, "class", "probe")
"""Kinds of numbers that belong to the whole text; the others are read from single tokens, without a pooler."""
HELP = (
    "Picks one number that the model gives for the text and colours the drawing by what it depends on: layers and "
    "heads by how much the number changes without them, tokens by their share in it."
)


def chosen_ending(name: str) -> ChosenTarget | None:
    """Return the number that is traced back through the model; None if this is switched off.

    Raises:
        BertvizError: the number cannot be computed.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="journey_ending"):
        if source(name).has_weights:
            edit_button(name)
        if not toggle(param("rests_on"), "What the answer rests on", help=HELP):
            return None
        row = folded_row()
    return target_row(name, row)


def is_computed(name: str, chosen: ChosenTarget) -> bool:
    """Whether the number at the end and what it rests on are known, so that the drawing need not wait."""
    opened, options = shared_model_of(name), target_options(chosen)
    return all(opened.cached(each.key(options)) is not None for each in (zero_effects, word_attributions))


def ending_of(name: str, chosen: ChosenTarget, journey: Journey) -> Ending | None:
    """Compute the number, the effects of layers and heads, and the shares of tokens, as on the pages about causes.

    Where this model does not allow it, a message says why, and the drawing is shown without them.
    """
    opened, options = shared_model_of(name), target_options(chosen)
    try:
        measured = answer(zero_effects, opened, options).result
        shares = _shares(answer(word_attributions, opened, options).result, journey)
    except UnsupportedModelError as error:
        st.warning(escape_markdown(str(error)), icon=":material/block:")
        return None
    numbers = (measured.title, measured.clean, measured.unit, measured.layers, measured.heads, shares)
    return Ending(*numbers, whole=chosen.kind in WHOLE, behind=_behind(name, chosen))


def _behind(name: str, chosen: ChosenTarget) -> tuple[StageKind, ...]:
    """Kinds of stages behind the layers through which a number is computed, where the model has them."""
    match chosen.kind:
        case "class":
            return ("pooler", "task head")
        case "tag" | "word" | "answer":
            return ("task head",)
    probe = session_probe(name)
    if chosen.kind == "cosine":
        pooled = own_plan(shared_model_of(name)).pooling == "pooler"
    else:
        pooled = chosen.kind == "probe" and probe is not None and probe.pooling == "pooler"
    return ("pooler",) if pooled else ()


def _shares(shares: WordAttributions, journey: Journey) -> Float[np.ndarray, " seq"] | None:
    """The share of each token; None if the number belongs to another reading of the text."""
    if journey.tokens is None or not np.array_equal(shares.tokens.input_ids, journey.tokens.input_ids):
        return None
    return np.asarray(np.nan_to_num(shares.per_token()))
