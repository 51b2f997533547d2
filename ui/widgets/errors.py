"""Show errors of the library to the reader; names and texts from outside are never read as Markdown."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from bertviz_core.errors import BertvizError, MissingFilesError, is_out_of_memory
from ui.components.navigation import PageLink, page_links
from ui.widgets.formatting import escape_markdown
from ui.widgets.models import download, select

SUGGESTED = "suggested_model"
"""Key of the button that opens a model with a similar name."""


@contextmanager
def shown_to_user(ends_page: bool = True) -> Iterator[None]:
    """Show an error of the library as one sentence; the sidebar stays usable.

    Args:
        ends_page: whether the page ends there; otherwise the code after the block runs.
    """
    try:
        yield
    except MissingFilesError as error:
        _missing_files(error)
        _end(ends_page)
    except BertvizError as error:
        st.error(escape_markdown(str(error)), icon=":material/block:")
        if error.suggestion:
            st.button(
                f"Open {escape_markdown(error.suggestion)}",
                on_click=select.choose_model,
                args=(error.suggestion,),
                key=SUGGESTED,
            )
        _end(ends_page)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        st.error(
            "There is not enough memory on this machine for this request. Try a shorter text, or try again later. "
            "Nothing else is lost.",
            icon=":material/memory:",
        )
        _end(ends_page)


def _end(page: bool) -> None:
    if page:
        st.stop()


def no_such_page(words: str, near: PageLink | None) -> None:
    """Say that the address names no page, with a link to a page of a similar name.

    Args:
        words: the message.
        near: the similar page; None for none.
    """
    st.info(escape_markdown(words), icon=":material/search_off:")
    if near is not None:
        page_links([("", [near])], "nearest_page", label="The page with the most similar name", width="content")


def _missing_files(error: MissingFilesError) -> None:
    """Say which files are missing, with the ways to continue."""
    are = "are" if error.what == "weights" else "is"
    st.info(
        f"The {error.what} of {escape_markdown(repr(error.model))} {are} not on this machine, so the model cannot run "
        "on a text. The pages Parameters and Architecture work without.",
        icon=":material/cloud_off:",
    )
    ways_on(error.model)


def ways_on(model: str) -> None:
    """Show a button for each way to continue where files of a model are missing: its download, and another model."""
    with st.container(horizontal=True, vertical_alignment="center", key="ways_on"):
        reason = _offer_download(model)
        other = select.ready_model()
        if other is not None and other != model:
            st.button(
                f"Continue with {escape_markdown(other)}",
                key="go_on",
                type="secondary" if reason is None else "primary",
                icon=":material/arrow_forward:",
                on_click=select.choose_model,
                args=(other,),
            )
    if reason is not None:
        st.caption(escape_markdown(reason))


def _offer_download(model: str) -> str | None:
    """Offer a download; returns why there is none, or None."""
    try:
        download.offer(model)
    except BertvizError as error:
        return str(error)
    return None
