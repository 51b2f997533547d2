"""Widgets of a probe: its labelled texts, pooling and seed, and its file."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.figures.sentences.poolings import pooling_word
from bertviz_core.predictions.probing.reading import (
    EXAMPLE_SET,
    MAX_CLASSES,
    MAX_TEXTS,
    column_labels,
    example_set,
    label_column,
    typed_labels,
)
from bertviz_core.predictions.probing.results import LabelledTexts
from bertviz_core.questions.predictions.labelled_texts import MOST_SEEDS, POOLING, SEED
from bertviz_core.sentences.reading.lists import read_sentences
from bertviz_core.sentences.results import Pooling, SentenceTable
from ui.address.registry import param
from ui.address.widgets import choice, select, whole
from ui.session import settings
from ui.widgets.lists.uploads import ListFile, column_select, within_upload

TYPED, LABEL = "labelled_texts", "label_column"
SOURCES = ("example set", "typed", "file")
TYPED_LIST = "The list"
"""Name of typed texts."""
WIDTH, BOX = 170, 480
FILE, PROBE = ListFile("labelled"), ListFile("probe", "A probe that was saved here")
FIRST = (
    "praise\tWhat a lovely surprise.\npraise\tThe room was spotless.\npraise\tI would come here again.\n"
    "complaint\tThe tap dripped all night.\ncomplaint\tNobody answered the bell.\ncomplaint\tMy soup was cold."
)
"""Default list."""


def labelled_texts() -> tuple[LabelledTexts | None, int]:
    """Return the training texts of a probe, None before an upload, and the seed, behind a button that opens them.

    Raises:
        BertvizError: the texts cannot be read, or no probe can be fitted to them.
    """
    with st.popover("Labelled texts", icon=":material/label:", key="labelled_box"), st.container(width=BOX):
        source = choice(param("labelled"), "Labelled texts", SOURCES, label_visibility="collapsed")
        seed = _seed_input()
        return {SOURCES[0]: _examples, SOURCES[1]: _typed, SOURCES[2]: _from_file}[source](), seed


def _examples() -> LabelledTexts:
    examples = example_set()
    st.caption(
        f"{len(examples.texts)} short English sentences about {', '.join(examples.classes[:-1])} and "
        f"{examples.classes[-1]}, written for this dashboard (*{EXAMPLE_SET}*)."
    )
    return examples


def _typed() -> LabelledTexts:
    if TYPED not in st.session_state:
        st.session_state[TYPED] = FIRST
    hint = "A label, a tab and a text on each line. Copied from two columns of a spreadsheet it has that form."
    empty = "The list of labelled texts is empty. Write a label, a tab and a text on each line."
    return typed_labels(typed_lines("Label, tab, text", TYPED, "label<tab>text", hint, empty))


def _from_file() -> LabelledTexts | None:
    table = FILE.table(
        "A table with a column of texts and one of labels, or a text file with label, tab and text on each line; at "
        f"most {MAX_TEXTS:,} texts and {MAX_CLASSES} classes. It stays on this server."
    )
    if table is None:
        return None
    first = label_column(table)
    if first is None:
        return typed_labels(table)
    return column_labels(table, column_select("Labels", LABEL, list(map(str, table.frame.columns)), first))


def typed_lines(label: str, key: str, placeholder: str, hint: str, empty: str) -> SentenceTable:
    """Show a text box, and return its lines.

    Args:
        label: label of the box for screen readers.
        key: key of the widget.
        placeholder: placeholder of the empty box.
        hint: format of a line, shown below the box.
        empty: the error message for an empty box.

    Raises:
        TextError: the box is empty, or its lines cannot be read as a list.
    """
    text = st.text_area(
        label,
        key=key,
        height=220,
        width=BOX,
        persist_state="session",
        label_visibility="collapsed",
        placeholder=placeholder,
    )
    st.caption(hint)
    if not (text or "").strip():
        raise TextError(empty)
    return read_sentences(TYPED_LIST, within_upload(str(text)), settings())


def pooling_select(offered: Sequence[Pooling], first_token: str | None) -> Pooling:
    """How the token vectors of a text are pooled for the probe."""
    return select(
        POOLING,
        "Pooling",
        offered,
        format_func=lambda each: pooling_word(each, first_token),
        help="How the vectors of a text's tokens become one.",
        width=WIDTH,
    )


def _seed_input() -> int:
    """Seed of the folds and of the shuffled labels."""
    words = "Another seed cuts the texts into other parts and shuffles the labels of the control task in another way."
    return whole(SEED, "Seed", 0, MOST_SEEDS - 1, 0, help=words, width=110)


def files_popover() -> Any:
    """A popover for saving and opening probes."""
    return st.popover("Save or open", icon=":material/save:", key="probe_box")
