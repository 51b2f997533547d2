"""Clusters of a corpus with their sizes and most typical rows."""

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.corpus.analysis.clusters import FEW_CLUSTERS, MAX_CLUSTERS
from bertviz_core.corpus.analysis.results import CorpusClusters
from bertviz_core.corpus.folder import TEXT_COLUMN
from bertviz_core.figures.corpus.sizes import clusters_figure
from bertviz_core.questions.corpora import CLUSTERING, CLUSTERS, corpus_clusters
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import counted, escape_markdown
from ui.address.registry import param
from ui.address.widgets import whole
from ui.cache.folders import SharedCorpus
from ui.views.corpus import controls, texts
from ui.views.corpus.manifest import plain_cell, row_table
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.lists.downloads import table_files
from ui.widgets.lists.progress import answer

KEY = "corpus_clusters"
TYPICAL = ("most typical", "second", "third")
"""Columns of the typical texts of a cluster."""


def clusters_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """Clusters with their most typical rows."""
    corpus = named.corpus
    with row:
        method = controls.cluster_method()
        most = max(min(MAX_CLUSTERS, corpus.rows), 2)
        few = min(FEW_CLUSTERS, most)
        count = whole(CLUSTERS, "Clusters", 2, most, few, width=controls.NARROW) if method == "k-means" else few
    options = Options(values={CLUSTERING.key: method, CLUSTERS.key: str(count)})
    clusters = answer(corpus_clusters, named, options).result
    none = int((clusters.labels < 0).sum())
    summary = f"**{counted(len(clusters.sizes), 'cluster')}** of {counted(corpus.rows, 'row')}"
    summary += f"; {counted(none, 'row')} outside them." if none else "."
    words = st.container()
    if len(clusters.sizes):
        frame = _listed(named, clusters)
        words = figure_block(
            clusters_figure(clusters, [str(each) for each in frame.get(TYPICAL[0], [""] * len(frame))], named.name),
            f"corpus clusters {method} {named.name} {corpus.manifest.model}",
            frame,
            numbers="open",
            height=240,
            formats={"share": "percent"},
            models=(corpus.manifest.model,),
        )
        chosen = whole(param("cluster"), "Open cluster", 0, len(clusters.sizes) - 1, 0, width=controls.NARROW)
        typical = clusters.typical[chosen]
        there = typical >= 0
        frame = row_table(named, typical[there].tolist())
        frame.insert(1, "cosine to the centre", clusters.typical_scores[chosen][there].astype(float))
        numbers_table(frame, f"The most typical rows of cluster {chosen}")
    words.markdown(summary)
    words.caption(escape_markdown(clusters.note))
    st.caption("The files have every row of the corpus and its cluster, −1 for none.")
    name = f"corpus rows by cluster {method} {named.name}"
    table_files(lambda: pd.DataFrame({"row": np.arange(corpus.rows), "cluster": clusters.labels}), f"{KEY}_rows", name)
    explained(KEY, texts.CLUSTERS, library_lines(corpus_clusters, named, options))


def _listed(named: SharedCorpus, clusters: CorpusClusters) -> pd.DataFrame:
    """Size, share of all rows, and the three most typical texts of each cluster."""
    rows = clusters.typical[:, :3]
    frame = pd.DataFrame(
        {
            "cluster": np.arange(len(clusters.sizes)),
            "rows": clusters.sizes,
            "share": clusters.sizes / len(clusters.labels),
        }
    )
    if TEXT_COLUMN not in named.corpus.columns:
        return frame
    flat = rows[rows >= 0]
    texts = dict(zip(flat.tolist(), named.corpus.read(flat.tolist(), [TEXT_COLUMN]).column(0).to_pylist(), strict=True))
    for place, name in enumerate(TYPICAL):
        if place < rows.shape[1]:
            frame[name] = pd.Series([plain_cell(texts.get(row)) for row in rows[:, place].tolist()])
    return frame
