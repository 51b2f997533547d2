"""Fields for the model, the task whose class is counted, the modules shown and a name to search for."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from bertviz_core.errors import BertvizError, ModelNotFoundError
from bertviz_core.models.sources import resolve
from bertviz_core.questions.parameters import Param, joined_names
from bertviz_core.questions.views.parameters import AS_IT_IS
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import escape_markdown, quoted
from ui.address.widgets import select, several
from ui.session import TEACHING_SIZES, model_names, settings, store, stored

LONGEST_IN_BOX = 22
MOST_OTHERS = 5
"""Most characters of a model's name visible in a closed list of the sidebar, and most models named in a notice."""


def model_name() -> str:
    """The model chosen in the sidebar."""
    return str(st.session_state.get("model") or DEFAULT_MODEL)


def name_below(name: str) -> None:
    """Repeat a name that the closed list above cuts, in full."""
    if len(name) > LONGEST_IN_BOX:
        st.caption(escape_markdown(name))


def complete(key: str, names: Sequence[str]) -> None:
    """Replace a name that was typed into a list of models by the model of the list that it is the beginning of.

    Case does not matter. A name that can be opened, and a Hub id of the form org/name, stay as they are.

    Args:
        key: key of the list.
        names: names in the list, in its order.
    """
    typed = str(stored(key) or "")
    if not typed or typed in names or ("/" in typed and settings().allow_hub) or _is_here(typed):
        return
    begun = [name for name in names if name.casefold().startswith(typed.casefold())]
    begun.sort(key=lambda name: name.casefold() != typed.casefold())
    if begun:
        store(key, begun[0])
        others = f" Others that begin so: {', '.join(begun[1:MOST_OTHERS])}." if begun[1:] else ""
        words = f"There is no model {quoted(typed, 40)}; {begun[0]}, whose name begins so, is opened.{others}"
        st.toast(escape_markdown(words))


def _is_here(name: str) -> bool:
    """Whether a name is that of a model on this machine or in the catalogue; the Hub is not asked."""
    try:
        resolve(name, replace(settings(), allow_hub=False))
    except ModelNotFoundError:
        return False
    except BertvizError:  # it is there, and the page says what is wrong with it
        return True
    return True


def chosen_task(tasks: Sequence[str]) -> str | None:
    """The task whose class is counted; None for the class of the checkpoint."""
    task = st.session_state.get("task") or st.query_params.get("task") or AS_IT_IS
    return str(task) if task in tasks else None


def model_control(param: Param, first: Sequence[str], own: str) -> str:
    """The name of another model or of what is listed first; any can be typed where all are allowed."""
    options = list(dict.fromkeys((*first, *(name for name in model_names() if name != own))))
    return select(
        param,
        param.label,
        options,
        width=320,
        on_change=complete,
        args=(param.key, options),
        accept_new_options=not settings().allowed_models,
        format_func=param.shown,
        help=f"{param.help[0].upper()}{param.help[1:]}. A folder below the models folder or a Hub id can be typed.",
    )


def models_control(param: Param, first: str) -> str:
    """Names of models, by default some of the catalogue with the chosen one first, behind a button."""
    allowed = settings().allowed_models
    default = [name for name in dict.fromkeys([first, *TEACHING_SIZES]) if not allowed or name in allowed]
    options = list(dict.fromkeys([*default, *model_names()]))
    with st.popover(param.label):
        return joined_names(several(param, "Models", options, default))
