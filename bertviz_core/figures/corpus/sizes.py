"""Draw the sizes of near-duplicate groups and clusters as bars."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int

from bertviz_core.corpus.analysis.results import CorpusClusters, DuplicateGroups
from bertviz_core.figures.base.axes import HOVERED, even_axes, sentence_text
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.sentences.labels import name_rows, sentence_names
from bertviz_core.text import counted

HEIGHT, ROW, AROUND = 360, 40, 104
"""Pixels: height of the bars of sizes, of one cluster's bar, margins for title and axis around clusters."""
BAR = 0.1
"""Width of a bar among few, as a share of its slot."""
POWERS_FROM, ONE_BY_ONE = 50, 6
"""Number of groups of one size above which the axis is logarithmic; number up to which it has a tick for each."""
DRAWN = 30
"""Maximum number of drawn clusters; the table contains all."""


def group_sizes(sizes: Int[np.ndarray, " groups"], title: str, theme: Theme) -> go.Figure:
    """Draw the number of groups by size; large numbers on a logarithmic axis."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    known_sizes, groups = np.unique(sizes, return_counts=True)
    figure.add_bar(
        x=[str(size) for size in known_sizes.tolist()],
        y=groups.astype(np.int32),
        width=min(0.7, BAR * len(known_sizes)),
        marker={"color": HUES[0]},
        customdata=[counted(count, "group") for count in groups.tolist()],
        hovertemplate="%{customdata} of %{x} rows<extra></extra>",
    )
    figure.update_xaxes(title="rows of a group", type="category", showgrid=False)
    most = int(groups.max(initial=0))
    figure.update_yaxes(title="groups", type="log" if most > POWERS_FROM else "linear", rangemode="tozero")
    if most > POWERS_FROM or most <= ONE_BY_ONE:
        figure.update_yaxes(dtick=1)  # only powers of ten, or only whole groups
    return even_axes(figure, theme)


def cluster_bars(clusters: CorpusClusters, examples: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Draw the size of every cluster, largest at the top, with its most typical sentence."""
    count = min(len(clusters.sizes), DRAWN)
    sizes, texts = clusters.sizes[:count], list(examples[:count])
    plot = ROW * max(count, 3)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + plot))
    figure.add_bar(
        x=sizes.astype(np.int32),
        y=np.arange(count, dtype=np.int32),
        orientation="h",
        marker={"color": HUES[0]},
        text=[f"{size:,}" for size in sizes.tolist()],
        textposition="outside",
        textfont={"size": TEXT_SIZE - 1},
        cliponaxis=False,
        customdata=[sentence_text(text, HOVERED) for text in texts],
        hovertemplate="cluster %{y}, %{x:,} rows: %{customdata}<extra></extra>",
    )
    figure.update_xaxes(title="rows", range=[0, 1.25 * float(sizes.max(initial=1))])
    name_rows(figure, sentence_names(list(range(count)), texts, theme, ROW), plot)
    return figure.update_layout(margin={"b": 56, "r": 16}, bargap=0.3)


@figure("corpus-duplicates", "corpus_duplicates", "sizes of groups of near duplicates of a corpus (FOLDER)")
def duplicates_figure(duplicate_groups: DuplicateGroups, corpus_name: str) -> FigureSpec:
    """Plot the number of groups of near duplicates by size."""
    count, members = len(duplicate_groups.starts), len(duplicate_groups.rows)
    threshold = f"cosine ≥ {duplicate_groups.threshold:g}"
    title = f"Near duplicates, {threshold}: {counted(count, 'group')} — {corpus_name}"
    largest = int(duplicate_groups.sizes.max(initial=0))
    alt = f"{title}: {members:,} of {duplicate_groups.searched:,} rows, {largest:,} in the largest"
    return FigureSpec(title, alt, partial(group_sizes, duplicate_groups.sizes, title), f"{alt}.")


@figure("corpus-clusters", "corpus_clusters", "clusters of a corpus by size (FOLDER)")
def clusters_figure(corpus_clusters: CorpusClusters, typical_texts: Sequence[str], corpus_name: str) -> FigureSpec:
    """Plot clusters by size, each with its most typical sentence."""
    title = f"{counted(len(corpus_clusters.sizes), 'cluster')} of {len(corpus_clusters.labels):,} rows — {corpus_name}"
    sizes = ", ".join(f"{size:,}" for size in corpus_clusters.sizes[:DRAWN].tolist())
    draw = partial(cluster_bars, corpus_clusters, typical_texts, title)
    return FigureSpec(title, f"{title}: {sizes or 'none'} rows", draw, f"{title}. {corpus_clusters.note}")
