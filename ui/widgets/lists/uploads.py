"""Upload a list as a file, which is kept for the session and read in an isolated process."""

from collections.abc import Sequence
from hashlib import sha256
from time import perf_counter
from typing import Any

import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.models.catalog.example_run import EXAMPLE_RUN, TEXTS_FILE, example_texts
from bertviz_core.sentences.lists import read_sentences, read_upload
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.text import escape_controls, escape_markdown
from ui.address.widgets import keep_among
from ui.cache.memoize import cached_by_bytes
from ui.session import settings

QUIET_S = 1.0
"""Reading that takes less time shows no progress, so that nothing flickers."""
LONGEST_NAME = 100
LINKED = "list_file"
"""Name in the address of a link, and session key: name of the file from which the view was created."""


class ListFile:
    """The file of a list; the keys of its widgets begin with the list's name."""

    def __init__(self, prefix: str, label: str = "CSV, TSV, JSONL, Parquet or text file") -> None:
        """Create the widgets' keys of a list.

        Args:
            prefix: name of the list.
            label: label of the upload, for screen readers.
        """
        self._label = label
        self._upload, self._file, self._column = f"{prefix}_upload", f"{prefix}_file", f"{prefix}_column"

    def table(self, words: str) -> SentenceTable | None:
        """The texts of the file; None before an upload.

        Args:
            words: which files are accepted, shown while there is none.

        Raises:
            BertvizError: the file cannot be read as a list.
        """
        handed = self.handed(words)
        if handed is None:
            return None
        table = _table(handed[1], handed[0], None)
        self._column_select(table.columns, table.column or "")
        return self.current()

    def current(self) -> SentenceTable:
        """The texts of the file, as `table` has returned them."""
        name, digest = st.session_state[self._file]
        table: SentenceTable = _table(digest, name, None)
        column = st.session_state.get(self._column, table.column) if len(table.columns) > 1 else table.column
        return table if column == table.column else _table(digest, name, column)

    def handed(self, words: str) -> tuple[str, str] | None:
        """Name and digest of the session's file, also after a visit to another page.

        Args:
            words: which files are accepted, shown while there is none.
        """
        uploaded: Any = st.file_uploader(
            # No types are passed: for other extensions Streamlit would show its own error.
            self._label,
            key=self._upload,
            on_change=self.forget,
            label_visibility="collapsed",
        )
        if uploaded is not None:
            raw = uploaded.getvalue()
            digest = sha256(raw).hexdigest()
            content(digest, raw)
            st.session_state[self._file] = (short_name(uploaded.name), digest)
        stored_file: tuple[str, str] | None = st.session_state.get(self._file)
        if stored_file is None:
            st.caption(words)
        elif uploaded is None:
            st.caption(escape_markdown(stored_file[0]))
        return stored_file

    @property
    def in_sight(self) -> bool:
        """Whether the upload widget shows the file with its remove button; not so after a visit to another page."""
        return st.session_state.get(self._upload) is not None

    def forget(self) -> None:
        """Forget the file."""
        st.session_state[self._file] = None

    def _column_select(self, columns: Sequence[str], chosen: str) -> None:
        """The column with the texts; no widget where there is only one."""
        if len(columns) > 1:
            column_select("Column", self._column, columns, chosen)


def column_select(label: str, key: str, columns: Sequence[str], first: str, none: str = "") -> str:
    """A column of a file; its name is the reader's data and not in the address.

    Args:
        label: label of the widget.
        key: key of the widget.
        columns: names of the columns.
        first: the default.
        none: label of the option without a column, whose value is ""; "" if a column must be chosen.
    """
    options = [*([""] if none else []), *columns]
    keep_among(key, options, first)
    chosen = st.selectbox(
        label,
        options,
        index=options.index(first),
        key=key,
        persist_state="session",
        format_func=lambda name: escape_controls(name) or none,
    )
    return str(chosen or "")


@cached_by_bytes()
def typed_list(name: str, text: str) -> SentenceTable:
    """Read the lines of a typed text, once for each text.

    Raises:
        TextError: there is no sentence, or the text is longer than an upload may be.
    """
    return read_sentences(name, within_upload(text), settings())


def example_table() -> SentenceTable:
    """The labelled texts of the example run, which are on every server."""
    raw = example_texts()
    digest = sha256(raw).hexdigest()
    content(digest, raw)
    table = _table(digest, TEXTS_FILE, None)
    st.caption(f"{len(table.sentences)} sentences, good or bad, half of them with a negation: those of {EXAMPLE_RUN}.")
    return table


def wait_for_file(place: str) -> None:
    """Request the file of a view, by its name in the link that led here.

    Args:
        place: label of the button that opens the upload.
    """
    name = st.session_state.get(LINKED)
    reason = f"This view was made from the file {escape_markdown(str(name))}" if name else "This view reads a file"
    st.info(
        f"{reason}, which is not part of a link. Choose it under **{place}** above; all other settings come from the "
        "link.",
        icon=":material/upload:",
    )


def most_megabytes() -> int:
    """Largest upload that this server accepts, in megabytes (.streamlit/config.toml)."""
    return int(st.get_option("server.maxUploadSize"))


def short_name(name: str) -> str:
    """Shorten a file's name for display; its extension is kept."""
    whole = name.encode("utf-8", "replace").decode()
    return whole if len(whole) <= LONGEST_NAME else f"{whole[: LONGEST_NAME - 30]}...{whole[-27:]}"


def within_upload(text: str) -> str:
    """Return the text unchanged if it is not larger than an upload may be.

    Raises:
        TextError: it is larger.
    """
    most = most_megabytes()
    if len(text) > most * 1024**2:
        raise TextError(
            f"The list has {len(text):,} characters; at most {most * 1024**2:,} are taken. Give a part of it."
        )
    return text


@cached_by_bytes()
def content(digest: str, _content: bytes | None = None) -> bytes:
    """Cache the bytes of an uploaded file; the least recently used are dropped.

    Raises:
        TextError: they were dropped.
    """
    if _content is None:
        raise TextError("The file is no longer on this server; upload it again.")
    return _content


@cached_by_bytes()
def _table(digest: str, name: str, column: str | None) -> SentenceTable:
    """Read an uploaded file as a table; the reading ends when the reader leaves."""
    place, started = st.empty(), perf_counter()

    def is_needed() -> bool:
        # Writing to the page lets Streamlit end the script of a reader who has left or clicked on something else.
        words = f"Reading the file ({perf_counter() - started:.0f} s)" if perf_counter() - started > QUIET_S else ""
        place.caption(words)
        return True

    table = read_upload(name, content(digest), settings(), column, is_needed)
    place.empty()
    return table
