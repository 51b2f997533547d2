"""Fields for the model, the task whose class is counted, the modules shown and a name to search for."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.questions.parameters import Param, joined_names
from bertviz_core.settings import DEFAULT_MODEL
from ui.address.widgets import BOUND
from ui.session import TEACHING_SIZES, model_names, settings
from ui.widgets.formatting import escape_markdown

AS_IT_IS = "none: as in the checkpoint"
LONGEST_IN_BOX = 22
"""Most characters of a model's name visible in a closed list of the sidebar."""


def model_name() -> str:
    """The model chosen in the sidebar."""
    return str(st.session_state.get("model") or DEFAULT_MODEL)


def name_below(name: str) -> None:
    """Repeat a name that the closed list above cuts, in full."""
    if len(name) > LONGEST_IN_BOX:
        st.caption(escape_markdown(name))


def chosen_task(tasks: Sequence[str]) -> str | None:
    """The task whose class is counted; None for the class of the checkpoint."""
    task = st.session_state.get("task") or st.query_params.get("task") or AS_IT_IS
    return str(task) if task in tasks else None


def models_control(param: Param, first: str) -> str:
    """Names of models, by default some of the catalogue with the chosen one first, behind a button."""
    allowed = settings().allowed_models
    default = [name for name in dict.fromkeys([first, *TEACHING_SIZES]) if not allowed or name in allowed]
    options = list(dict.fromkeys([*default, *model_names()]))
    with st.popover(param.label):
        return joined_names(map(str, st.multiselect("Models", options, default=default, key=param.key, **BOUND)))
