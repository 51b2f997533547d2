"""Keep the value of a widget within the options of this model, text or file, before the widget is drawn.

The address, or a model that was selected before, may have left a layer, a part or a column that does not exist here.
Streamlit ends a page whose widget has such a value.
"""

from collections.abc import Container
from typing import Any

import streamlit as st


def keep_among(key: str, options: Container[Any], default: Any) -> None:
    """Reset a widget to its default where its value is not among its options."""
    if st.session_state.get(key, default) not in options:
        st.session_state[key] = default


def keep_within(key: str, least: int, most: int) -> None:
    """Clamp the value of a number widget."""
    value = st.session_state.get(key)
    if isinstance(value, int) and not least <= value <= most:
        st.session_state[key] = min(max(value, least), most)


def keep_span(key: str, count: int) -> None:
    """Clamp a widget's first and last position to the `count` positions of a text, at least 2."""
    first, last = st.session_state.get(key, (0, 0))
    if last >= count:
        st.session_state[key] = (min(first, count - 2), count - 1)
