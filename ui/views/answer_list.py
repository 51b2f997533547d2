"""The questions that the view Answers over a list reads: an example, typed lines, or a file."""

from collections.abc import Iterable

import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.reading import gold_column
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions import answer_list as asked
from bertviz_core.questions.view import Ask, Part
from bertviz_core.questions.views.labelled import answer_list
from bertviz_core.sentences.two_models import usual_column
from bertviz_core.text import quoted
from ui.cache.shared_model import SharedModel
from ui.session import settings
from ui.widgets.uploads import BOX, ListFile, column_select, most_megabytes, typed_lines, wait_for_file

ASKED_FILE = ListFile("asked")


def answer_list_view(opened: SharedModel, ask: Ask, options: Options) -> Iterable[Part]:
    """A list of questions answered: of the example, of typed lines or of a file."""
    source = options.choice(answer_list.ASKED_FROM)
    if source == answer_list.EXAMPLE:
        return answer_list.asked_parts(Options(task=asked.TASK), opened, ask, options)
    from_file = source == answer_list.FILE
    with st.popover("Questions", icon=":material/edit_note:", key="asked_box"), st.container(width=BOX):
        rows = _asked_of_file() if from_file else _typed_questions()
    if rows is not None:
        return answer_list.asked_parts(asked.answer_options(*rows), opened, ask, options)
    if from_file:
        wait_for_file("Questions")
    else:
        st.info(answer_list.NO_QUESTIONS, icon=":material/info:")
    return ()


def _typed_questions() -> answer_list.AskedRows | None:
    table = typed_lines("Questions", answer_list.ASKED.key, "question<tab>context<tab>gold answer")
    return None if table is None else answer_list.typed_questions(table)


def _asked_of_file() -> answer_list.AskedRows | None:
    table = ASKED_FILE.table(
        "A .json of SQuAD, or a table with columns of questions, contexts and, if you like, gold answers, blank where "
        f"there is none; at most {settings().max_sentences:,} questions and {most_megabytes()} MB. It stays on this "
        "server."
    )
    if table is None:
        return None
    names = [str(name) for name in table.frame.columns]
    if not names:
        raise TextError(f"{quoted(table.name)} has questions alone; give a table with a column of contexts, too.")
    about = column_select("Context", "asked_context", names, usual_column(names, asked.CONTEXT_COLUMNS) or names[0])
    usual = usual_column(names, asked.ANSWER_COLUMNS)
    gold = column_select("Gold answers", "asked_gold", names, usual, "none: no gold answers")
    columns = [gold_column(table, name) if name else None for name in (about, gold)]
    return answer_list.AskedRows(table.sentences, columns[0] or (), columns[1])
