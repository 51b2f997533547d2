"""What a control holds is brought within what this model, text or file has, before the control is drawn.

The address, or another model before, may have asked for a layer, a part or a column that is not here. Streamlit ends a
page whose control holds such a value.
"""

from collections.abc import Container
from typing import Any

import streamlit as st


def keep_among(key: str, options: Container[Any], default: Any) -> None:
    """Let a control show its default where it holds none of its options.

    Args:
        key: of the control.
        options: what it offers.
        default: what it shows to begin with; one of them.
    """
    if st.session_state.get(key, default) not in options:
        st.session_state[key] = default


def keep_within(key: str, least: int, most: int) -> None:
    """Let a control of a number show the nearest one that there is.

    Args:
        key: of the control.
        least: the lowest number.
        most: the highest one.
    """
    held = st.session_state.get(key)
    if isinstance(held, int) and not least <= held <= most:
        st.session_state[key] = min(max(held, least), most)


def keep_span(key: str, count: int) -> None:
    """Let a control of a part of a text reach no further than the text.

    Args:
        key: of the control, which holds the first and the last position.
        count: positions of the text, at least 2.
    """
    first, last = st.session_state.get(key, (0, 0))
    if last >= count:
        st.session_state[key] = (min(first, count - 2), count - 1)
