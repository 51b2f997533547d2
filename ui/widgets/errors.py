"""Show errors of the library to the reader; names and texts from outside are never read as Markdown."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import streamlit as st

from bertviz_core.errors import (
    BertvizError,
    HubError,
    MissingFilesError,
    ModelNotFoundError,
    UnreachableHubError,
    is_out_of_memory,
)
from bertviz_core.text import escape_markdown
from ui.components.navigation import PageLink, page_links
from ui.widgets import models, run_model

SUGGESTED = "suggested_model"
"""Key of the button that opens a model with a similar name."""
UNREACHED = (
    "The Hub cannot be reached from this machine now, so nothing can be downloaded. Models marked ready in the list "
    "need no network; a model's folder can also be copied into the models folder."
)


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
        unreached = isinstance(error, UnreachableHubError)
        if unreached and not models.is_lost():
            models.lost(UNREACHED)
        with st.container(horizontal=True):
            if error.suggestion:
                st.button(
                    f"Open {escape_markdown(error.suggestion)}",
                    on_click=models.choose_model,
                    args=(error.suggestion,),
                    key=SUGGESTED,
                )
            if isinstance(error, ModelNotFoundError | HubError) and (before := models.model_before()) is not None:
                _choice(f"Back to {escape_markdown(before)}", before, "secondary")
            if unreached:
                _ask_again()
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


@contextmanager
def shown_in_place() -> Iterator[None]:
    """Show an error of the library as one sentence where the block would draw, without ways to continue."""
    try:
        yield
    except BertvizError as error:
        st.error(escape_markdown(str(error)), icon=":material/block:")


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
        before, other = models.model_before(), models.ready_model()
        weight: Literal["primary", "secondary"] = "secondary" if reason is None else "primary"
        if before is not None and before != model:
            _choice(f"Back to {escape_markdown(before)}", before, weight)
        elif other is not None and other != model:
            _choice(f"Continue with {escape_markdown(other)}", other, weight)
        if models.is_lost():
            _ask_again()
    if reason is not None:
        st.caption(escape_markdown(reason))


def _ask_again() -> None:
    """Show the button after which a Hub that could not be reached is asked once more."""
    st.button("Ask the Hub again", key="ask_hub", icon=":material/refresh:", on_click=models.answered)


def _choice(label: str, model: str, weight: Literal["primary", "secondary"]) -> None:
    """Show the button that opens another model in place of one that cannot be opened."""
    icon = ":material/arrow_back:" if label.startswith("Back") else ":material/arrow_forward:"
    st.button(label, key="go_on", type=weight, icon=icon, on_click=models.choose_model, args=(model,))


def _offer_download(model: str) -> str | None:
    """Offer a download; returns why there is none, or None.

    When the Hub is first found to be out of reach, the page is run again, so that the list of models says so.
    """
    try:
        run_model.offer(model)
    except UnreachableHubError as error:
        if models.is_lost():
            return str(error)
        models.lost(UNREACHED)
        st.rerun()
    except BertvizError as error:
        return str(error)
    return None
