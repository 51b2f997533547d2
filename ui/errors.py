"""From what the core refuses to what a user reads; a stranger's words are never read as Markdown."""

import string
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from bertviz_core.errors import BertvizError

_MARKS = {ord(mark): f"\\{mark}" for mark in string.punctuation}


def plain(text: str) -> str:
    """Text that Markdown shows as it stands: no links, images, emphasis, formulas or icons."""
    return " ".join(text.split()).translate(_MARKS)


@contextmanager
def told() -> Iterator[None]:
    """Show a refusal of the core as one sentence and end the page there; the sidebar stays usable."""
    try:
        yield
    except BertvizError as error:
        st.error(plain(str(error)), icon=":material/block:")
        st.stop()
