"""Every layer of two models over many texts: how alike they are, and how alike the texts are in each."""

import pandas as pd
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from bertviz_core.checkpoints.results import LayerSimilarity
from bertviz_core.figures.checkpoints.comparison import state_names
from bertviz_core.figures.checkpoints.layer_similarity import layer_similarity_figure, text_cosines_figure
from bertviz_core.predictions.probing.reading import EXAMPLE_SET
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.models.layer_similarity import LAYER_MEASURE, layer_similarity
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import counted, decimals, escape_markdown
from ui.address.registry import param
from ui.address.widgets import choice
from ui.cache.shared_model import SharedModel
from ui.views.checkpoint.texts import LAYERS, WRITE_TEXTS
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.lists.uploads import within_upload


def layers_view(name: str, other: str) -> None:
    """The map of all pairs of layers, and the mean cosine of the texts in each."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        lists = param("compared_list")
        is_example = choice(lists, "Texts", width="content") == lists.options[0]
        measure = choice(LAYER_MEASURE, "Of two layers", width="content")
    typed = None if is_example else listed_texts()
    if not is_example and typed is None:
        st.info(WRITE_TEXTS, icon=":material/info:")
        return
    values = {OTHER.key: other, LAYER_MEASURE.key: measure}
    options, opened = Options(() if typed is None else (typed,), values=values), SharedModel(name)
    made = answer(layer_similarity, opened, options)
    compared = made.result
    models = tuple(dict.fromkeys((compared.first, compared.second)))
    for notice in unshown(made.notices):
        st.warning(escape_markdown(notice))
    source = f"the example set *{EXAMPLE_SET}*" if is_example else "your own list"
    picture = layer_similarity_figure(compared, measure)
    with figure_block(picture, f"layers {compared.first} {compared.second}", _frame(compared, measure), models=models):
        st.markdown(_last_layers(compared))
        st.caption(f"{counted(compared.texts, 'text')} of {source}; each is the mean of its tokens' vectors.")
    figure_block(
        text_cosines_figure(compared),
        f"cosines of texts {compared.first} {compared.second}",
        _cosines_frame(compared),
        models=models,
        explanation=(LAYERS, library_lines(layer_similarity, opened, options)),
    )


def listed_texts() -> str | None:
    """The reader's own texts; None if empty.

    Raises:
        TextError: they are too large.
    """
    typed = st.text_area(
        "Texts, one a line",
        key="compared_texts",
        height=150,
        persist_state="session",
        placeholder="one text a line, at least 4",
    )
    return within_upload(str(typed)) if (typed or "").strip() else None


def _frame(compared: LayerSimilarity, measure: str) -> pd.DataFrame:
    """A row for each hidden state of the first model, a column for each of the second."""
    values: Float[ndarray, "first second"] = (
        compared.cka if measure == LAYER_MEASURE.options[0] else compared.shared_neighbours
    )
    frame = pd.DataFrame(values, columns=[f"second: {state}" for state in state_names(values.shape[1])])
    frame.insert(0, "first", state_names(len(values)))
    return frame


def _cosines_frame(compared: LayerSimilarity) -> pd.DataFrame:
    columns = {"first": pd.Series(compared.first_cosine), "second": pd.Series(compared.second_cosine)}
    frame = pd.DataFrame(columns)
    frame.insert(0, "hidden state", state_names(len(frame)))
    return frame


def _last_layers(compared: LayerSimilarity) -> str:
    """What the last layers say: CKA, shared neighbours, and the mean cosine of two texts in each."""
    first, second = decimals(float(compared.first_cosine[-1])), decimals(float(compared.second_cosine[-1]))
    return (
        f"After the last layer of both, CKA is **{decimals(float(compared.cka[-1, -1]))}**, and of the "
        f"{compared.neighbours} texts nearest to a text **{compared.shared_neighbours[-1, -1]:.0%}** are the same. Two "
        f"different texts have a mean cosine of **{first}** in the first and **{second}** in the second."
    )
