"""The change of the run that the address names: what the drawing shows of it, and the number at the end."""

from dataclasses import replace

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.journey.payload import DrawnChange, Ending
from bertviz_core.journey.results import Journey
from bertviz_core.questions.interventions.journey_change import CHANGE, changed_number, drawn_change
from bertviz_core.questions.interventions.single_text import MEAN, REMOVED_FOR
from bertviz_core.questions.parameters import Options
from ui.cache.shared_model import SharedModel
from ui.widgets.formatting import escape_markdown
from ui.widgets.target_controls.opened import ChosenTarget, shared_model_of, target_options


def change_values() -> dict[str, str]:
    """The change in the address, as values of parameters; {} for none."""
    named = {param.key: st.query_params.get(param.key, "") for param in (CHANGE, REMOVED_FOR)}
    return {key: value for key, value in named.items() if value} if named[CHANGE.key] else {}


def page_change(name: str, journey: Journey) -> DrawnChange | None:
    """Run the text with the change in the address; None if it has none, or if the model was not run.

    A change that is not possible is refused in one sentence, and the drawing stays.
    """
    tokens, values = journey.tokens, change_values()
    if not values or journey.missing or tokens is None:
        return None
    try:
        with st.spinner("Running the model with the change"):
            return drawn_change(SharedModel(name), Options((tokens.text,), tokens.pair, values=values))
    except BertvizError as error:
        return DrawnChange(values[CHANGE.key], values.get(REMOVED_FOR.key) == MEAN, None, str(error))


def with_change(
    name: str, target: ChosenTarget | None, ending: Ending | None, change: DrawnChange | None
) -> Ending | None:
    """Add the number in the changed run to the end of the drawing; if it cannot be computed, a caption says why."""
    if target is None or ending is None or change is None or change.both is None:
        return ending
    try:
        changed = changed_number(shared_model_of(name), target_options(target, change_values()))
    except BertvizError as error:
        st.caption(escape_markdown(str(error)))
        return ending
    return replace(ending, changed=changed.result)
