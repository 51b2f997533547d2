"""The list of the page Sentences: typed, pasted, a worked example, or a column of a file."""

import streamlit as st

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.sentences import QUERY
from bertviz_core.questions.views.sentences import EXAMPLE, SOURCE, VIEWS
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.text import counted, escape_markdown
from ui.address.widgets import choice, select
from ui.examples import EXAMPLES, QUERIES
from ui.session import settings, store, stored
from ui.widgets.lists.uploads import ListFile, most_megabytes, typed_list, wait_for_file
from ui.widgets.view_and_layer import VIEW

SENTENCES, BOX = "sentences", 480
"""Session key of the typed list, and pixels of the panel."""
FILE = ListFile("sentence")


def sentence_input() -> Options:
    """The sentences of this session, behind a button that opens their panel; the page ends here without a file.

    Raises:
        BertvizError: the list cannot be read.
    """
    table, refused = None, None
    with st.popover("Sentences", icon=":material/edit_note:", key="sentence_box"), st.container(width=BOX):
        try:
            table = _read()
        except BertvizError as error:
            refused = error
        if table is not None:
            count = counted(len(table.sentences), "sentence")
            st.caption(f"{count}. {escape_markdown(' '.join(table.notices))}")
    if refused is not None:
        raise refused
    if table is None:
        wait_for_file("Sentences")
        st.stop()
    shown = next(view for view in VIEWS if view.title == stored(VIEW))
    if QUERY in shown.params and stored(QUERY.key) is None:
        store(QUERY.key, QUERIES.get(str(stored(EXAMPLE.key)), next(iter(QUERIES.values()))))
    return Options(table.sentences)


def _read() -> SentenceTable | None:
    """The sentences; None before an upload."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        from_file = choice(SOURCE, SOURCE.label, label_visibility="collapsed") == SOURCE.options[1]
        if not from_file:
            words = "Fills the box with a worked set."
            example = select(
                EXAMPLE, "Example", list(EXAMPLES), label_visibility="collapsed", on_change=_take_example, help=words
            )
    if from_file:
        return FILE.table(
            "A table with its column names in the first row, or a text with one sentence per line; at most "
            f"{settings().max_sentences:,} sentences and {most_megabytes()} MB. Larger files: `python -m "
            "bertviz_core embed`. It stays on this server."
        )
    if stored(SENTENCES) is None:
        named = st.query_params.get(EXAMPLE.key, "")
        store(SENTENCES, EXAMPLES.get(named, next(iter(EXAMPLES.values())))[1])
    text = st.text_area(
        "Sentences, one per line",
        key=SENTENCES,
        height=220,
        width=BOX,
        persist_state="session",
        label_visibility="collapsed",
        placeholder="One sentence per line",
    )
    if text == EXAMPLES[example][1]:
        st.caption(EXAMPLES[example][0])
    if not (text or "").strip():
        raise TextError("The list is empty. Write at least one sentence under Sentences, one per line.")
    return typed_list("The list", str(text))


def _take_example() -> None:
    store(SENTENCES, EXAMPLES[str(stored(EXAMPLE.key))][1])
