"""Fields for the model, the task whose class is counted, the modules shown and a name to search for."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from bertviz_core.errors import BertvizError, ModelNotFoundError
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import quoted
from ui.address.registry import param
from ui.address.widgets import BOUND, select, words
from ui.session import TEACHING_SIZES, model_names, settings, store, stored
from ui.widgets.formatting import escape_markdown

AS_IT_IS = "none: as in the checkpoint"
LONGEST_IN_BOX = 22
MOST_OTHERS = 5
"""Most models named in a notice."""
"""Most characters of a model's name visible in a closed list of the sidebar."""


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


def clicked(chart_key: str) -> str | None:
    """Id of the sector clicked last in a tree figure; None for none."""
    event = st.session_state.get(chart_key)
    points = event["selection"]["points"] if event else []
    return str(points[0].get("id") or "") or None if points else None


def module_select(modules: Sequence[str]) -> str:
    """The module whose rows are shown, also set by a click in the tree; "" for all."""
    return select(param("module"), "Module", ["", *modules], format_func=lambda each: each or "all modules")


def take_click(chart_key: str, root_id: str) -> None:
    """Select the module of the clicked sector; the centre is the whole model."""
    sector = clicked(chart_key)
    if sector is not None:
        st.session_state["module"] = "" if sector == root_id or sector.endswith("/folded") else sector


def chosen_task(tasks: Sequence[str]) -> str | None:
    """The task whose class is counted; None for the class of the checkpoint."""
    task = st.session_state.get("task") or st.query_params.get("task") or AS_IT_IS
    return str(task) if task in tasks else None


def task_select(tasks: Sequence[str]) -> None:
    """Choose the task whose class is counted."""
    help_text = "Count the model with the head of a task, as transformers builds it from the config."
    select(param("task"), "Task head", [AS_IT_IS, *tasks], help=help_text)


def search(key: str, label: str) -> str:
    """Part of a name to search for."""
    return words(param(key), label, placeholder="part of a name")


def models_select(first: str) -> list[str]:
    """Models to compare, by default with the chosen one first."""
    allowed = settings().allowed_models
    default = [name for name in dict.fromkeys([first, *TEACHING_SIZES]) if not allowed or name in allowed]
    options = list(dict.fromkeys([*default, *model_names()]))
    return [str(name) for name in st.multiselect("Models", options, default=default, key=param("models").key, **BOUND)]
