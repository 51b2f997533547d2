"""Compare all poolings and layers of a list of sentences."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.sentences.poolings import pooling_maps_figure, pooling_word, poolings_figure
from bertviz_core.hidden_states.results import state_name
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.sentences.results import PoolingComparison
from bertviz_core.text import escape_markdown
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.views.sentences import cache
from ui.views.sentences.similarity import SentenceInputs
from ui.views.sentences.texts import about_poolings, spread_code
from ui.widgets.figure_block import explained, figure_block


def pooling_view(inputs: SentenceInputs) -> None:
    """Mean and spread of all cosines over the layers, and the maps as small multiples."""
    sentences = inputs.table.sentences
    if len(sentences) < 2:
        st.info("Poolings are compared by the cosines of pairs: add a second sentence.", icon=":material/info:")
        return
    comparison = cache.compared(inputs.model, sentences)
    if len(sentences) > len(comparison.sentences):
        st.caption(
            f"{len(comparison.sentences)} of the {len(sentences):,} sentences are compared, evenly spaced in the list."
        )
    words = figure_block(
        poolings_figure(comparison, inputs.model),
        f"poolings {inputs.model}",
        _frame(comparison),
        texts=comparison.sentences,
    )
    own = own_plan(SharedModel(inputs.model))
    about = about_poolings(own.pooling, own.from_checkpoint, comparison.edges, models.loaded(inputs.model).model_type)
    words.markdown(f"{_read(comparison)} {about}")
    words.caption(escape_markdown(comparison.note))
    if comparison.matrices is not None:
        _maps(comparison, inputs.model)
        st.caption(
            "Rows and columns are the sentences in their order. Of many hidden states, evenly spaced ones are drawn; "
            "the pooler reads the last only."
        )
    layered = next(each for each in comparison.poolings if each != "pooler")  # the pooler reads the last layer only
    explained(
        "sentences_poolings",
        "For every pooling and layer the sentences become vectors; the mean of the cosines of all pairs of different "
        "sentences is their anisotropy (Ethayarajh 2019, section 3.2), the spread is the standard deviation of these "
        "cosines. Dense layers, prompts and normalisation of the checkpoint are left out here, so that only the "
        "pooling differs.",
        spread_code(inputs.origin_of(comparison.sentences), layered),
    )


def _maps(comparison: PoolingComparison, model: str) -> None:
    """The cosines of all pairs, a small map for every pooling and layer."""
    spec = pooling_maps_figure(comparison, model)
    figure_block(spec, f"pooling maps {model}", _cells(comparison), numbers="in files", texts=comparison.sentences)


def _read(comparison: PoolingComparison) -> str:
    """The numbers of the last layer, as text."""
    last = len(comparison.layers) - 1
    words = [
        f"{escape_markdown(pooling_word(pooling, comparison.edges.first))} {mean:.4f} ± {spread:.4f}"
        for pooling, mean, spread in zip(
            comparison.poolings, comparison.mean_cosine[:, last], comparison.spread[:, last], strict=True
        )
        if np.isfinite(mean)
    ]
    return f"After the last layer, mean ± spread: **{', '.join(words)}**."


def _frame(comparison: PoolingComparison) -> pd.DataFrame:
    rows = [
        (
            pooling_word(pooling, comparison.edges.first),
            state_name(layer),
            float(comparison.mean_cosine[row, place]),
            float(comparison.spread[row, place]),
        )
        for row, pooling in enumerate(comparison.poolings)
        for place, layer in enumerate(comparison.layers)
        if np.isfinite(comparison.mean_cosine[row, place])
    ]
    return pd.DataFrame(rows, columns=["pooling", "hidden state", "mean cosine", "spread"])


def _cells(comparison: PoolingComparison) -> pd.DataFrame:
    """Every cell of every map as a row."""
    matrices = comparison.matrices if comparison.matrices is not None else np.zeros((0, 0, 0, 0), dtype=np.float32)
    places = np.argwhere(np.isfinite(matrices))
    frame = pd.DataFrame(places, columns=["pooling", "hidden state", "first", "second"])
    names = [pooling_word(pooling, comparison.edges.first) for pooling in comparison.poolings]
    frame["pooling"] = [names[row] for row in places[:, 0].tolist()]
    frame["hidden state"] = [state_name(comparison.layers[place]) for place in places[:, 1].tolist()]
    frame[["first", "second"]] += 1
    frame["cosine"] = matrices[tuple(places.T)]
    return frame
