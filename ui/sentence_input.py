"""Where the sentences come from: typed, pasted, a worked example, or a column of a file."""

from hashlib import sha256

import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.results.sentences import SentenceTable
from bertviz_core.sentence_files import read_sentences
from ui import sentence_controls as controls
from ui.controls import settings
from ui.errors import plain
from ui.sentence_examples import EXAMPLES

TYPED_NAME = "The list"


def sentence_input() -> SentenceTable:
    """The sentences of this session.

    Raises:
        BertvizError: as bertviz_core.sentence_files.read_sentences.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        source = controls.source_choice()
        example = controls.example_select() if source == controls.TYPED else ""
    if source == controls.FILE:
        return _from_file()
    text = controls.typed_sentences()
    if text == EXAMPLES[example][1]:
        st.caption(EXAMPLES[example][0])
    return read_sentences(TYPED_NAME, text, settings())


def told_about(table: SentenceTable) -> None:
    """How many sentences there are and what was done to them, in one line."""
    count = len(table.sentences)
    st.caption(f"{count:,} sentence{'s' if count != 1 else ''}. {plain(' '.join(table.notices))}")


def _from_file() -> SentenceTable:
    handed = controls.upload()
    if handed is not None:
        content = handed.getvalue()
        digest = sha256(content).hexdigest()
        _content(digest, content)
        controls.keep_file(handed.name, digest)
    kept = controls.kept_file()
    if kept is None:
        st.caption(
            "A table with its column names in the first row, or a text with one sentence per line; at most "
            f"{settings().max_sentences:,} sentences and {controls.MOST_MEGABYTES} MB. It stays on this server."
        )
        st.stop()
    name, digest = kept
    if handed is None:
        st.caption(plain(name))
    table = _table(digest, name, None)
    column = controls.column_select(table.columns, table.column or "")
    return table if column in (None, table.column) else _table(digest, name, column)


@st.cache_resource(max_entries=4, show_spinner=False)
def _content(digest: str, _content: bytes | None) -> bytes:
    """The bytes of a file handed over before; the last few of all sessions are kept."""
    if _content is None:
        raise TextError("The file is no longer kept on this server; hand it over again.")
    return _content


@st.cache_resource(max_entries=8, show_spinner="Reading the file")
def _table(digest: str, name: str, column: str | None) -> SentenceTable:
    return read_sentences(name, _content(digest, None), settings(), column)
