"""Pairs of sentences with a gold similarity, typed or from a file, for the view of two models."""

from collections.abc import Iterable

import streamlit as st

from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.two_models import gold_options
from bertviz_core.questions.view import Ask, Part
from bertviz_core.questions.views.sentences import GOLD_FROM, OF_LIST, TWO_MODELS_OF, gold_view, list_view, of_both
from bertviz_core.questions.views.sentences_texts import NO_PAIRS
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.sentences.two_models import SCORE_COLUMNS, SECOND_COLUMNS, table_pairs, typed_pairs, usual_column
from bertviz_core.text import escape_markdown
from ui.address.widgets import choice
from ui.session import stored
from ui.widgets.heading import unshown
from ui.widgets.lists.uploads import ListFile, column_select, most_megabytes, typed_list, wait_for_file

FILE, BOX, TYPED = ListFile("gold"), 480, "gold_pairs"


def two_models_view(opened: Opened, ask: Ask, options: Options) -> Iterable[Part]:
    """The list in two models, or pairs of sentences with their gold similarity.

    Raises:
        BertvizError: the pairs cannot be read.
    """
    if options.choice(TWO_MODELS_OF) == OF_LIST:
        return list_view(opened, ask, options)
    with st.popover("Pairs", icon=":material/edit_note:", key="gold_box"), st.container(width=BOX):
        from_file = choice(GOLD_FROM, GOLD_FROM.label, label_visibility="collapsed") == GOLD_FROM.options[1]
        pairs = _of_file() if from_file else _typed()
    if pairs is not None:
        return gold_view(opened, ask, gold_options(pairs, of_both(opened, options).values))
    if from_file:
        wait_for_file("Pairs")
    else:
        st.info(NO_PAIRS, icon=":material/info:")
    return ()


Pairs = tuple[tuple[str, ...], tuple[str, ...], tuple[float, ...]]


def _typed() -> Pairs | None:
    st.text_area(
        "Pairs, one a line",
        key=TYPED,
        height=220,
        persist_state="session",
        placeholder="first sentence<tab>second sentence<tab>similarity",
    )
    typed = str(stored(TYPED) or "")
    return typed_pairs(typed_list("The list", typed)) if typed.strip() else None


def _of_file() -> Pairs | None:
    table = FILE.table(
        "A table with two columns of sentences and one of numbers, such as sentence1, sentence2 and score, its "
        f"column names in the first row; at most {most_megabytes()} MB. It stays on this server."
    )
    return None if table is None else _of_table(table)


def _of_table(table: SentenceTable) -> Pairs | None:
    names = [str(name) for name in table.frame.columns]
    if len(names) < 2:
        st.caption("The file needs two more columns beside this one: second sentences, and numbers.")
        return None
    second = column_select("Second sentence", "gold_second", names, usual_column(names, SECOND_COLUMNS) or names[0])
    score = column_select("Gold similarity", "gold_score", names, usual_column(names, SCORE_COLUMNS) or names[-1])
    firsts, seconds, gold, notices = table_pairs(table, second, score)
    for notice in unshown(notices):
        st.caption(escape_markdown(notice))
    return firsts, seconds, gold
