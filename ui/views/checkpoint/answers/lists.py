"""Widgets of two models' answers: the texts with their gold labels, and the part of them that is listed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.models.catalog.example_run import TEXTS_FILE
from bertviz_core.predictions.probing.reading import (
    LABEL_COLUMNS,
    config_classes,
    example_set,
    fitting_set,
    gold_column,
)
from bertviz_core.predictions.probing.results import AnswerComparison, TextSlice
from bertviz_core.questions.tables.compared_answers import LISTED, listed_texts
from bertviz_core.sentences.reading.lists import read_sentences
from bertviz_core.sentences.results import SentenceTable
from ui.address.registry import param
from ui.address.widgets import choice, select
from ui.session import settings
from ui.widgets.lists.uploads import ListFile, column_select, example_table, most_megabytes, within_upload

FILE, BOX = ListFile("answers"), 480
TYPED, OPENED, TABLE = "answered_texts", "answers_opened", "answers_table"
"""Session keys: the typed texts, the index of the open text, the table of texts."""
NO_GOLD, NO_SECOND = "none: no gold labels", "none: single texts"
ANY, ALL = "any label", "all slices"


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredTexts:
    """Texts that two models answer."""

    name: str
    """Where they come from, as the end of a sentence."""
    texts: tuple[str, ...]
    """The texts; () for those of the example set."""
    gold: tuple[str, ...] | None = None
    """The gold label of each, "" for none; None without labels."""
    pairs: tuple[str, ...] | None = None
    """The second text of each; None for single texts."""
    notices: tuple[str, ...] = ()
    """Notices from reading them."""
    table: SentenceTable | None = None
    """The uploaded table, whose columns may divide the texts; None for other texts."""


def answered_texts(config: Mapping[str, Any]) -> AnsweredTexts | None:
    """The texts of this session, behind a button that opens their panel; None before they are written or uploaded.

    Args:
        config: config of the model that answers, for whose classes the example set is chosen.

    Raises:
        BertvizError: the texts cannot be read.
    """
    with st.popover("Texts", icon=":material/edit_note:", key="answers_box"), st.container(width=BOX):
        source = param("answers_from")
        chosen = choice(source, "Texts", label_visibility="collapsed")
        if chosen == source.options[0]:
            examples = fitting_set(config_classes(config)) or example_set()
            labels = f"{', '.join(examples.classes[:-1])} and {examples.classes[-1]}"
            st.caption(f"{len(examples.texts)} short English sentences with the labels {labels} (*{examples.name}*).")
            return AnsweredTexts(f"of the example set {examples.name}", ())
        if chosen == TEXTS_FILE:
            return _of_table(example_table())
        return _typed() if chosen == source.options[1] else _from_file()


def _typed() -> AnsweredTexts | None:
    typed = st.text_area(
        "Texts, one a line",
        key=TYPED,
        height=220,
        persist_state="session",
        placeholder="one text a line, or: label<tab>text",
    )
    if not (typed or "").strip():
        return None
    table = read_sentences("The list", within_upload(str(typed)), settings())
    parted = [line.partition("\t") for line in table.sentences]
    if not all(tab for _, tab, _ in parted):
        return AnsweredTexts("of your own list", table.sentences, notices=table.notices)
    gold, texts = tuple(label.strip() for label, _, _ in parted), tuple(text.strip() for _, _, text in parted)
    return AnsweredTexts("of your own list", texts, gold, notices=table.notices)


def _from_file() -> AnsweredTexts | None:
    table = FILE.table(
        "A table with a column of texts and one of gold labels, its column names in the first row; at most "
        f"{settings().max_sentences:,} texts and {most_megabytes()} MB. It stays on this server."
    )
    return None if table is None else _of_table(table)


def _of_table(table: SentenceTable) -> AnsweredTexts:
    names = [str(name) for name in table.frame.columns]
    usual = next((name for usual_name in LABEL_COLUMNS for name in names if name.lower() == usual_name), "")
    gold = column_select("Gold labels", "answers_gold", names, usual, NO_GOLD) if names else ""
    second = column_select("Second text", "answers_second", names, "", NO_SECOND) if names else ""
    labels, pairs = (gold_column(table, name) if name else None for name in (gold, second))
    return AnsweredTexts(f"of {table.name}", table.sentences, labels, pairs, table.notices, table)


def listed_select(compared: AnswerComparison, slices: Sequence[TextSlice]) -> list[int]:
    """Indices of the listed texts, by their kind, label and slice."""
    kinds = {"changed", "all", *compared.kinds}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        part = choice(param("answers_listed"), "Texts listed", [each for each in LISTED if each in kinds])
        label = select(param("answers_label"), "Label", [ANY, *compared.labels], width=200)
        names = [ALL, *(each.name for each in slices)]
        chosen = select(param("answers_slice"), "Slice", names, width=240) if slices else ALL
    listed = listed_texts(compared, part)
    if chosen != ALL:
        places = set(slices[names.index(chosen) - 1].places.tolist())
        listed = [place for place in listed if place in places]
    if label == ANY:
        return listed
    columns = [*compared.answers, *(() if compared.gold is None else (compared.gold.first.gold,))]
    return [place for place in listed if any(column[place] == label for column in columns)]
