"""A field for an edited version of a text, which equals the text until edited."""

from typing import Any

import streamlit as st

from bertviz_core.questions.parameters import Param
from ui.session import store, stored

HEIGHT = 68
"""Pixels of the field, the least possible."""


def edited_text(param: Param, own: str, label: str, **more: Any) -> str:
    """Show the field; it is never written into the address.

    Args:
        param: the parameter of the edited text.
        own: the text.
        label: label of the field.
        **more: arguments of `st.text_area`.
    """
    key, of = param.key, f"{param.key}_of"
    if stored(key) is None or stored(key) == stored(of):
        store(key, own)
    store(of, own)
    return str(st.text_area(label, key=key, height=HEIGHT, persist_state="session", **more))
