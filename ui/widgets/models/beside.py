"""A block that shows the second model of the sidebar below the answer of the first."""

from collections.abc import Callable

import streamlit as st

from bertviz_core.errors import BertvizError, MissingFilesError
from bertviz_core.text import escape_controls, escape_markdown, shortened
from ui.widgets.models.second import second_name

NAMED = 80
"""Most characters of a model's name in a heading."""


def beside(key: str, show: Callable[[str], None]) -> None:
    """Show a comparison with the second model below a heading; nothing without a second model.

    Where the models cannot be compared, one sentence says why, and the rest of the page stays.

    Args:
        key: key of the container.
        show: shows the comparison with the model of this name; may raise BertvizError.
    """
    other = second_name()
    if not other:
        return
    with st.container(key=key):
        st.markdown(f"**Compared with {escape_markdown(shortened(escape_controls(other), NAMED))}**")
        try:
            show(other)
        except MissingFilesError as error:
            are = "are" if error.what == "weights" else "is"
            st.info(
                f"The {error.what} of {escape_markdown(repr(error.model))} {are} not on this machine, so it answers "
                "nothing yet. Choose it as the first model to see what can be done.",
                icon=":material/cloud_off:",
            )
        except BertvizError as error:
            st.info(escape_markdown(str(error)), icon=":material/info:")
