"""Weights of fewer bits: error and bytes of each number format, and what a list of texts keeps."""

from typing import NamedTuple

import streamlit as st

from bertviz_core.checkpoints.tables import formats_frame, parts_frame
from bertviz_core.errors import TextError
from bertviz_core.figures.checkpoints.number_formats import number_formats_figure
from bertviz_core.predictions.probing.reading import EXAMPLE_SET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.two_models.number_formats import formats_sentence, texts_sentence
from bertviz_core.questions.texts.number_formats import (
    ALL,
    EXAMPLES,
    NUMBER_FORMATS,
    ROUNDED_BY,
    ROUNDED_FOR,
    USUAL,
    WEIGHTS,
    number_formats,
)
from bertviz_core.sentences.reading.lists import read_sentences
from bertviz_core.text import escape_markdown
from ui.address.widgets import BOUND, choice
from ui.cache.shared_model import SharedModel
from ui.session import settings as server_settings
from ui.views.checkpoint.layers import listed_texts
from ui.views.checkpoint.texts import FORMATS, WRITE_ONE
from ui.widgets.figure_block import figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer

WIDTH = 520
"""Pixels of the list of formats."""
ROUNDED_HELP = "What the vectors of texts, and the answers of a head, keep needs a run of the model in every format."
SHOWN = {"neighbours kept": "percent"}
"""Format of columns of the table of number formats."""


class Chosen(NamedTuple):
    """The settings of the view."""

    formats: tuple[str, ...]
    """Names of the number formats."""
    drawn_by: str
    """The parts whose error is drawn."""
    run_on: str
    """What is compared besides the weights."""


def settings(_: str) -> tuple[Chosen]:
    """The number formats, the parts that are drawn, and the texts that are run."""
    drawn_by = choice(ROUNDED_BY, "Error by")
    run_on = choice(ROUNDED_FOR, "Compare", help=ROUNDED_HELP)
    with st.popover("Formats", icon=":material/tune:"):
        formats = st.multiselect("Number formats", ALL, list(USUAL), key=NUMBER_FORMATS.key, width=WIDTH, **BOUND)
    return (Chosen(tuple(formats), drawn_by, run_on),)


def view(name: str, chosen: Chosen) -> None:
    """The map of errors, and the tables of formats and parts."""
    if not chosen.formats:
        raise TextError("No number format is chosen; choose at least one under Formats.")
    texts: tuple[str, ...] = ()
    if chosen.run_on not in (WEIGHTS, EXAMPLES):
        typed = listed_texts()
        if typed is None:
            st.info(WRITE_ONE, icon=":material/info:")
            return
        texts = read_sentences("The list", typed, server_settings()).sentences
    values = {
        NUMBER_FORMATS.key: ",".join(chosen.formats),
        ROUNDED_BY.key: chosen.drawn_by,
        ROUNDED_FOR.key: chosen.run_on,
    }
    options, opened = Options(tuple(texts), values=values), SharedModel(name)
    made = answer(number_formats, opened, options)
    result = made.result
    words = figure_block(
        number_formats_figure(result, chosen.drawn_by),
        f"number formats {result.model}",
        parts_frame(result),
        alt=f"Errors and bytes of {result.model} by format, component, layer and block",
        explanation=(FORMATS, library_lines(number_formats, opened, options)),
    )
    words.markdown(formats_sentence(result))
    numbers_table(formats_frame(result), f"Number formats of {result.model}", formats=SHOWN)
    if result.texts:
        source = f" The texts are the example set *{EXAMPLE_SET}*." if chosen.run_on == EXAMPLES else ""
        st.caption(f"{escape_markdown(texts_sentence(result))}{source}")
    for notice in unshown(made.notices):
        st.caption(escape_markdown(notice))
