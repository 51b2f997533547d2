"""From what the core refuses to what a user reads; a stranger's words are never read as Markdown."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from bertviz_core.errors import BertvizError, MissingFilesError
from ui.widgets import model_download
from ui.widgets.formatting import escape_markdown


@contextmanager
def shown_to_user() -> Iterator[None]:
    """Show a refusal of the core as one sentence and end the page there; the sidebar stays usable."""
    try:
        yield
    except BertvizError as error:
        st.error(escape_markdown(str(error)), icon=":material/block:")
        if isinstance(error, MissingFilesError):
            _offer_download(error.model)
        st.stop()


def _offer_download(model: str) -> None:
    """A way to get what is missing; where there is none, the reason beside it."""
    try:
        model_download.offer(model)
    except BertvizError as error:
        st.caption(escape_markdown(str(error)))
