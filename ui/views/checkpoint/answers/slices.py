"""Answers of two models by parts of the texts: by length, by a word, or by a column of the uploaded table."""

import streamlit as st

from bertviz_core.figures.checkpoints.slices import slices_compared_figure, slices_frame
from bertviz_core.predictions.probing.reading import gold_column
from bertviz_core.predictions.probing.results import AnswerComparison, TextSlice
from bertviz_core.predictions.probing.slices import COLUMN, LENGTH, WORD
from bertviz_core.questions.predictions.compared_answers import answers_by_slice, compared_options
from bertviz_core.questions.tables.compared_answers import slices_sentence
from bertviz_core.text import escape_markdown
from ui.address.registry import param
from ui.address.widgets import select, words
from ui.cache.shared_model import SharedModel
from ui.views.checkpoint.answers.lists import AnsweredTexts
from ui.widgets.figure_block import figure_block

TOGETHER, BY_WORD, BY_COLUMN = "all together", "a word", "column: "
HELP = (
    "Divide the texts and compare the models on each part: by the number of words, by a word that a text contains or "
    "not, or by the values of a column of your table."
)


def slices_block(
    opened: SharedModel, other: str, compared: AnswerComparison, answered: AnsweredTexts
) -> tuple[TextSlice, ...]:
    """Show the slices that the reader chooses.

    Args:
        opened: the first model.
        other: the second model, or a rounded copy of the first.
        compared: the answers to all texts.
        answered: the texts.

    Returns:
        The slices; () where the texts are shown all together.

    Raises:
        TextError: the texts cannot be divided so.
    """
    columns = [] if answered.table is None else [f"{BY_COLUMN}{name}" for name in answered.table.frame.columns]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        divided = select(param("answers_by"), "Texts by", [TOGETHER, LENGTH, BY_WORD, *columns], width=240, help=HELP)
        word = words(param("answers_word"), "Word", width=240, placeholder="such as not") if divided == BY_WORD else ""
    if divided == TOGETHER or (divided == BY_WORD and not word):
        return ()
    by, values = (f"{WORD}{word}" if divided == BY_WORD else divided), None
    if answered.table is not None and divided in columns:
        by, values = COLUMN, gold_column(answered.table, divided.removeprefix(BY_COLUMN))
    options = compared_options(other, answered.texts, answered.gold, answered.pairs, slices=by, values=values)
    sliced = answers_by_slice(opened, options).result
    st.markdown(escape_markdown(slices_sentence(sliced)))
    models = tuple(dict.fromkeys((compared.first, compared.second)))
    filename = f"slices {compared.first} {compared.second}"
    figure_block(slices_compared_figure(sliced), filename, slices_frame(sliced), models=models)
    return sliced.slices
