"""What Sentences draws by itself of prompts: its queries with gold, and prompts that the reader writes."""

from collections.abc import Iterable
from dataclasses import replace

import streamlit as st

from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.prompts import DOCUMENT_TEXT, PAIR, QUERY_TEXT, TYPED, chosen_pair
from bertviz_core.questions.view import Ask, Part
from bertviz_core.questions.views.vectors.prompts import (
    NO_ROWS,
    OF_LIST,
    PROMPTED,
    SEARCH_FROM,
    prompt_ranks_view,
    prompt_values,
    prompts_view,
)
from bertviz_core.sentences.analysis.prompts import (
    GOLD_COLUMNS,
    QUERY_COLUMNS,
    TEXT_COLUMNS,
    Triples,
    table_rows,
    typed_rows,
)
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.sentences.two_models import usual_column
from bertviz_core.text import escape_markdown
from ui.address.widgets import choice
from ui.examples import SEARCH_ROWS
from ui.session import store, stored
from ui.widgets.heading import unshown
from ui.widgets.uploads import BOX, ListFile, column_select, most_megabytes, typed_lines, wait_for_file

FILE, ROWS = ListFile("search"), "search_rows"
"""The file of queries, and the session key of the typed ones."""
PROMPT_HEIGHT = 68


def compared_prompts_view(opened: Opened, ask: Ask, options: Options) -> Iterable[Part]:
    """The list, or queries with gold, without prompts and with them."""
    options = _with_typed(opened, options)
    if options.choice(PROMPTED) == OF_LIST:
        return prompts_view(opened, ask, options)
    with st.popover("Queries", icon=":material/edit_note:", key="search_box"), st.container(width=BOX):
        from_file = (
            choice(SEARCH_FROM, SEARCH_FROM.label, SEARCH_FROM.options, label_visibility="collapsed")
            == SEARCH_FROM.options[1]
        )
        rows = _of_file() if from_file else _typed()
    if rows is not None:
        return prompt_ranks_view(opened, ask, Options(rows, values=prompt_values(opened, options)))
    if from_file:
        wait_for_file("Queries")
    else:
        st.info(NO_ROWS, icon=":material/info:")
    return ()


def _with_typed(opened: Opened, options: Options) -> Options:
    """The options with the prompts that the reader writes; a space at their end counts, so that none is removed."""
    if options.get(PAIR.key) != TYPED:
        return options
    pair = chosen_pair(opened, replace(options, values={}))
    for param, own in ((QUERY_TEXT, pair.query), (DOCUMENT_TEXT, pair.document)):
        if stored(param.key) is None:
            store(param.key, own)
    written = {}
    with st.container(horizontal=True):
        for param in (QUERY_TEXT, DOCUMENT_TEXT):
            words = "A space or a line break at its end is read, too."
            label = param.label
            typed = st.text_area(label, key=param.key, height=PROMPT_HEIGHT, persist_state="session", help=words)
            written[param.key] = str(typed or "")
    return replace(options, values={**options.values, **written})


def _typed() -> Triples | None:
    if stored(ROWS) is None:
        store(ROWS, SEARCH_ROWS)
    table = typed_lines("Queries, one a line", ROWS, "query<tab>document<tab>relevance")
    return None if table is None else typed_rows(table)


def _of_file() -> Triples | None:
    table = FILE.table(
        "A table with columns of queries and of documents, such as query and text, and one of numbers, such as "
        f"relevance; its column names in the first row; at most {most_megabytes()} MB. It stays on this server."
    )
    return None if table is None else _of_table(table)


def _of_table(table: SentenceTable) -> Triples | None:
    others = [str(name) for name in table.frame.columns]
    if not others:
        st.caption("The file needs another column beside this one: queries or documents.")
        return None
    own = str(table.column or "text")
    of_queries = usual_column([own], QUERY_COLUMNS) != ""
    usual, label = (TEXT_COLUMNS, "Documents") if of_queries else (QUERY_COLUMNS, "Queries")
    other = column_select(label, "search_other", others, usual_column(others, usual) or others[0])
    numbers = [name for name in others if name != other]
    none = "none: every row is relevant"
    gold = column_select("Relevance", "search_gold", numbers, usual_column(numbers, GOLD_COLUMNS), none)
    query, text = (own, other) if of_queries else (other, own)
    rows, notices = table_rows(table, query, text, gold)
    for notice in unshown((*table.notices, *notices)):
        st.caption(escape_markdown(notice))
    return rows
