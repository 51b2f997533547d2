"""The view of the sentences page that puts every pooling and layer side by side."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.sentences.poolings import POOLING_WORDS, pooling_maps_figure, poolings_figure
from bertviz_core.sentences.results import PoolingComparison
from ui.views.sentences import cache
from ui.views.sentences.similarity import SentenceQuery
from ui.widgets.figure_block import explained, figure_block
from ui.widgets.formatting import escape_markdown

WHY_CLS = (
    "**Why [CLS] of a raw BERT is a poor sentence vector.** In pre-training the [CLS] vector is asked one thing only, "
    "whether the second sequence follows the first, and only after the pooler; nothing ever asks that two sentences "
    "of like meaning have like [CLS] vectors. So they all point the same way: a mean cosine near 1 with little spread "
    "says that everything is alike to everything, and the number no longer tells sentences apart (Reimers and Gurevych "
    "2019, section 4.1; Ethayarajh 2019, section 4.1). A model trained to compare sentences, as the bundled one is, "
    "pulls its own pooling apart: look for a low mean with a large spread. "
)


def pooling_view(asked: SentenceQuery) -> None:
    """Mean and spread of all cosines over the layers, and the maps as small multiples."""
    sentences = asked.table.sentences
    if len(sentences) < 2:
        st.info("Poolings are compared by the cosines of pairs: add a second sentence.", icon=":material/info:")
        return
    comparison = cache.compared(asked.model, sentences)
    if len(sentences) > len(comparison.sentences):
        st.caption(f"Only the first {len(comparison.sentences)} of {len(sentences):,} sentences are compared.")
    words = figure_block(
        poolings_figure(comparison, asked.model),
        f"poolings {asked.model}",
        _frame(comparison),
        texts=comparison.sentences,
    )
    words.markdown(f"{WHY_CLS}{_read(comparison)}")
    words.caption(escape_markdown(comparison.note))
    if comparison.matrices is not None:
        _maps(comparison, asked.model)
        st.caption("Rows and columns are the sentences in their order; the pooler reads the last layer only.")
    explained(
        "sentences_poolings",
        "For every pooling and layer the sentences become vectors; the mean of the cosines of all pairs of different "
        "sentences is their anisotropy (Ethayarajh 2019, section 3.2), the spread is the standard deviation of these "
        "cosines. Layer 0 is the embedding output. Dense layers, prompts and normalisation of the checkpoint are left "
        "out here, so that only the pooling differs.",
        "v = torch.nn.functional.normalize(pool(outputs.hidden_states[layer]), dim=-1)\n"
        "pairs = (v @ v.T)[torch.triu_indices(len(v), len(v), 1).unbind()]\n"
        "print(pairs.mean(), pairs.std(correction=0))",
    )


def _maps(comparison: PoolingComparison, model: str) -> None:
    """The cosines of all pairs, a small map for every pooling and layer."""
    spec = pooling_maps_figure(comparison, model)
    figure_block(spec, f"pooling maps {model}", _cells(comparison), numbers="in files", texts=comparison.sentences)


def _read(comparison: PoolingComparison) -> str:
    """The numbers of the last layer in words."""
    last = len(comparison.layers) - 1
    words = [
        f"{POOLING_WORDS[pooling]} {comparison.mean_cosine[row, last]:.4f} ± {comparison.spread[row, last]:.4f}"
        for row, pooling in enumerate(comparison.poolings)
        if np.isfinite(comparison.mean_cosine[row, last])
    ]
    return f"Here, at the last layer: **{', '.join(words)}** (mean ± spread)."


def _frame(comparison: PoolingComparison) -> pd.DataFrame:
    rows = [
        (POOLING_WORDS[pooling], layer, float(comparison.mean_cosine[row, place]), float(comparison.spread[row, place]))
        for row, pooling in enumerate(comparison.poolings)
        for place, layer in enumerate(comparison.layers)
        if np.isfinite(comparison.mean_cosine[row, place])
    ]
    return pd.DataFrame(rows, columns=["pooling", "layer", "mean cosine", "spread"])


def _cells(comparison: PoolingComparison) -> pd.DataFrame:
    """Every cell of every map as a row."""
    matrices = comparison.matrices if comparison.matrices is not None else np.zeros((0, 0, 0, 0), dtype=np.float32)
    places = np.argwhere(np.isfinite(matrices))
    frame = pd.DataFrame(places, columns=["pooling", "layer", "sentence", "and sentence"])
    frame["pooling"] = [POOLING_WORDS[comparison.poolings[row]] for row in places[:, 0].tolist()]
    frame["layer"] = [comparison.layers[place] for place in places[:, 1].tolist()]
    frame[["sentence", "and sentence"]] += 1
    frame["cosine"] = matrices[tuple(places.T)]
    return frame
