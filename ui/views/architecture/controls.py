"""Widgets of the architecture page; keys are names in the address."""

from collections.abc import Callable, Sequence

import streamlit as st

from ui.address.bounds import keep_among
from ui.widgets.controls import BOUND, level
from ui.widgets.view_and_layer import layer_select

TREE_KEY = "architecture_tree"


def levels_open(deepest: int) -> int:
    """How many levels of the tree stand open to begin with."""
    return level("Levels open", deepest, 4, "levels", "Each row can still be folded and unfolded by itself.")


def one_by_one() -> bool:
    """Whether repeated layers stand in rows of their own."""
    return bool(st.toggle("Every layer in its own rows", key="one_by_one", help="Equal layers are folded.", **BOUND))


def find_module() -> str:
    """A part of a module's path or class to search for."""
    words = "part of a name or class, such as query or LayerNorm"
    return str(st.text_input("Search modules", key="find", placeholder=words, **BOUND) or "").strip()


def selected_module(ids: Sequence[str], words: Callable[[str], str]) -> str:
    """The module whose details are shown, also set by a click in the tree; "" is the model itself."""
    keep_among("looked_at", ids, "")
    module = st.selectbox("Selected module", ids, key="looked_at", format_func=words, **BOUND)
    return str(module or "")


def selected_row() -> str:
    """Id of the module whose row is marked in the tree."""
    return str(st.session_state.get("looked_at", ""))


def take_module() -> None:
    """Make the clicked row the module looked at."""
    module = st.session_state[TREE_KEY].get("module")
    if module is not None:
        st.session_state["looked_at"] = str(module)


def drawn_layer(layers: int) -> int:
    """The stored layer that is drawn; without a choice where there is one."""
    return layer_select(layers, layers // 2, "Stored layers, counted from 0. In most models all are alike.")
