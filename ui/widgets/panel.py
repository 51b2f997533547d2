"""A button that opens a panel, which is drawn when it is open."""

from collections.abc import Callable

import streamlit as st


@st.fragment
def panel(label: Callable[[], str], key: str, draw: Callable[[], None], icon: str | None = None) -> None:
    """Show the button; opening it draws the panel alone.

    Args:
        label: returns the words on the button.
        key: key of the panel in the session, true where it is open.
        draw: draws the contents.
        icon: icon of the button.
    """
    with st.popover(label(), type="tertiary", icon=icon, key=key, on_change="rerun") as place:
        if place.open:
            draw()
