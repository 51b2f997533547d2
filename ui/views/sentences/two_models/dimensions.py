"""Vectors of fewer dimensions beside the full ones: neighbours kept, order of the cosines, bytes."""

import streamlit as st

from bertviz_core.figures.sentences.dimensions import dimensions_figure
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.two_models.sentences import dimensions_frame
from bertviz_core.questions.texts.dimensions import curve_of, fewer_dimensions
from bertviz_core.sentences.results import SentenceVectors
from bertviz_core.sentences.two_models.comparison import LEAST_SENTENCES
from bertviz_core.text import escape_markdown
from ui.cache.shared_model import SharedModel
from ui.views.sentences.similarity import SentenceInputs, made_by
from ui.views.sentences.two_models.lists import chosen_plan
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown

CUT = (
    "Of every vector only the first dimensions are taken, as for a model that is trained so that they suffice "
    "(Matryoshka, Kusupati et al. 2022), and the cosines of all pairs are computed again. Neighbours kept is the mean "
    "share of the sentences nearest to each that are also nearest to it with the full vectors; Spearman's correlation "
    "compares the order of the cosines of all pairs. A float32 vector needs 4 bytes a dimension."
)
FEW = "With a third sentence, this shows what vectors of fewer dimensions keep."
SHOWN = {"neighbours kept": "percent"}
"""Format of columns of the table."""


def dimensions_block(inputs: SentenceInputs, vectors: SentenceVectors) -> None:
    """Show the curve over the dimensions.

    Args:
        inputs: the sentences, and how they become vectors.
        vectors: their vectors.

    Raises:
        BertvizError: a vector has NaN or infinity.
    """
    st.header("Fewer dimensions", anchor=False)
    if len(vectors.sentences) < LEAST_SENTENCES:
        st.info(FEW, icon=":material/info:")
        return
    opened = SharedModel(inputs.model)
    curve = curve_of(opened, vectors)
    options = Options(curve.sentences, values=chosen_plan(inputs))
    words = figure_block(
        dimensions_figure(curve),
        f"dimensions {made_by(vectors)}",
        dimensions_frame(curve),
        formats=SHOWN,
        texts=curve.sentences,
        explanation=(CUT, library_lines(fewer_dimensions, opened, options)),
    )
    for notice in unshown(curve.notices):
        words.caption(escape_markdown(notice))
