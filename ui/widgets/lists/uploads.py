"""A list handed over as a file: kept for the whole session, read in a process of its own, one column of it chosen."""

from collections.abc import Sequence
from hashlib import sha256
from time import perf_counter
from typing import Any

import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.sentences.reading.lists import read_upload
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.text import escape_controls
from ui.address.bounds import keep_among
from ui.cache.memoize import cached_by_bytes
from ui.session import settings
from ui.widgets.formatting import escape_markdown

QUIET_S = 1.0
"""A reading shorter than this writes nothing, so that nothing flickers."""
LONGEST_NAME = 100
LINKED = "list_file"
"""Name in the address of a link, and key of the session: what the file was called that the view was made from."""


class ListFile:
    """The file of one list; the keys of its controls begin with the list's name, so that lists stay apart."""

    def __init__(self, prefix: str, label: str = "CSV, TSV, Parquet or text file") -> None:
        """The file of a list.

        Args:
            prefix: name of the list.
            label: what its file may be, for a reader who does not see its place.
        """
        self._label = label
        self._upload, self._file, self._column = f"{prefix}_upload", f"{prefix}_file", f"{prefix}_column"

    def table(self, words: str) -> SentenceTable | None:
        """The texts of the file; None while none has been handed over.

        Args:
            words: what the file should be, shown while there is none.

        Raises:
            BertvizError: as bertviz_core.sentences.reading.lists.read_upload.
        """
        handed = self.handed(words)
        if handed is None:
            return None
        name, digest = handed
        table = _table(digest, name, None)
        column = self._column_select(table.columns, table.column or "")
        return table if column in (None, table.column) else _table(digest, name, column)

    def handed(self, words: str) -> tuple[str, str] | None:
        """Name and digest of the file that this session handed over, also after a visit to another page.

        Args:
            words: what the file should be, shown while there is none.
        """
        uploaded: Any = st.file_uploader(
            # Streamlit is told no types: for a name of another ending it would show an error of its own.
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
        kept: tuple[str, str] | None = st.session_state.get(self._file)
        if kept is None:
            st.caption(words)
        elif uploaded is None:
            st.caption(escape_markdown(kept[0]))
        return kept

    @property
    def in_sight(self) -> bool:
        """Whether the file stands in its place, where it can be taken away; not so after a visit to another page."""
        return st.session_state.get(self._upload) is not None

    def forget(self) -> None:
        """Go on as if no file had been handed over."""
        st.session_state[self._file] = None

    def _column_select(self, columns: Sequence[str], chosen: str) -> str | None:
        """The column that holds the texts; nothing to choose where there is one."""
        if len(columns) < 2:
            return None
        keep_among(self._column, columns, chosen)
        return str(
            st.selectbox(
                "Column",
                columns,
                index=columns.index(chosen),
                key=self._column,
                persist_state="session",
                format_func=escape_controls,
            )
        )


def wait_for_file(place: str) -> None:
    """Say that the view waits for a file, and which one the link named that led here.

    Args:
        place: where it is chosen, as the page calls it.
    """
    name = st.session_state.get(LINKED)
    told = f"This view was made from the file {escape_markdown(str(name))}" if name else "This view reads a file"
    st.info(
        f"{told}, which no link carries. Choose it under **{place}** above; all other settings are those of the link.",
        icon=":material/upload:",
    )


def most_megabytes() -> int:
    """The largest upload that this server takes (.streamlit/config.toml)."""
    return int(st.get_option("server.maxUploadSize"))


def short_name(name: str) -> str:
    """A file's name at a length that can be shown, with its ending, and without half characters."""
    whole = name.encode("utf-8", "replace").decode()
    return whole if len(whole) <= LONGEST_NAME else f"{whole[: LONGEST_NAME - 30]}...{whole[-27:]}"


def within_upload(text: str) -> str:
    """The typed text.

    Raises:
        TextError: it is larger than a file may be.
    """
    most = most_megabytes()
    if len(text) > most * 1024**2:
        raise TextError(
            f"The list has {len(text):,} characters; at most {most * 1024**2:,} are taken. Give a part of it."
        )
    return text


@cached_by_bytes()
def content(digest: str, _content: bytes | None = None) -> bytes:
    """The bytes of a file handed over before; those used longest ago make room.

    Raises:
        TextError: they are no longer here.
    """
    if _content is None:
        raise TextError("The file is no longer kept on this server; hand it over again.")
    return _content


@cached_by_bytes()
def _table(digest: str, name: str, column: str | None) -> SentenceTable:
    """A stranger's file as a table; the reading ends with its reader."""
    place, started = st.empty(), perf_counter()

    def still_wanted() -> bool:
        # Written again and again: at each word Streamlit ends the page of a reader who has left or clicked on.
        words = f"Reading the file ({perf_counter() - started:.0f} s)" if perf_counter() - started > QUIET_S else ""
        place.caption(words)
        return True

    table = read_upload(name, content(digest), settings(), column, still_wanted)
    place.empty()
    return table
