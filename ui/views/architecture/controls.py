"""Widgets of the architecture page."""

from collections.abc import Callable, Sequence

import streamlit as st

from bertviz_core.questions.models.architecture import ONE_BY_ONE
from ui.address.registry import param
from ui.address.widgets import level, select, toggle, words
from ui.widgets.view_and_layer import layer_select

TREE_KEY = "architecture_tree"
LOOKED_AT = param("looked_at")


def levels_open(deepest: int) -> int:
    """How many levels of the tree are open at first."""
    help_text = "Each row can still be folded and unfolded by itself."
    return level(param("levels"), "Levels open", deepest, 4, help=help_text)


def one_by_one() -> bool:
    """Whether identical layers have separate rows."""
    return toggle(ONE_BY_ONE, "Every layer in its own rows", help="Equal layers are folded.")


def find_module() -> str:
    """Part of a module's path or class to search for."""
    return words(param("find"), "Search modules", placeholder="part of a name or class, such as query or LayerNorm")


def selected_module(ids: Sequence[str], label_of: Callable[[str], str]) -> str:
    """The module whose details are shown, also set by a click in the tree; "" is the model itself."""
    return select(LOOKED_AT, "Selected module", ids, "", format_func=label_of)


def selected_row() -> str:
    """Id of the module whose row is marked in the tree."""
    return str(st.session_state.get(LOOKED_AT.key, ""))


def take_module() -> None:
    """Select the module of the clicked row."""
    module = st.session_state[TREE_KEY].get("module")
    if module is not None:
        st.session_state[LOOKED_AT.key] = str(module)


def drawn_layer(layers: int) -> int:
    """The stored layer that is drawn; no widget where there is only one."""
    return layer_select(layers, 0, "Stored layers, counted from 0. In most models all are alike.")
