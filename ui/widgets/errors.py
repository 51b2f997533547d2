"""From what the core refuses to what a user reads; a stranger's words are never read as Markdown."""

import re
import string
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from bertviz_core.errors import BertvizError, MissingFilesError

_WORD_JOINER = "\u2060"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:(?=//)|www(?=\.)|\S(?=@)", re.IGNORECASE)
_MARKS = {ord(mark): f"\\{mark}" for mark in string.punctuation}


def plain(text: str) -> str:
    """Text that Markdown shows as it stands: no links, images, emphasis, formulas or icons.

    Addresses become links even where every mark is escaped, so a word joiner, which has no width, parts them.
    """
    parted = _ADDRESS.sub(lambda found: f"{found[0]}{_WORD_JOINER}", " ".join(text.split()))
    return parted.translate(_MARKS)


@contextmanager
def told() -> Iterator[None]:
    """Show a refusal of the core as one sentence and end the page there; the sidebar stays usable."""
    try:
        yield
    except BertvizError as error:
        st.error(plain(str(error)), icon=":material/block:")
        if isinstance(error, MissingFilesError):
            _offer_download(error.model)
        st.stop()


def _offer_download(model: str) -> None:
    """A way to get what is missing; where there is none, the reason beside it."""
    from ui import downloads  # needs this module itself

    try:
        downloads.offer(model)
    except BertvizError as error:
        st.caption(plain(str(error)))
