"""Draw similarities of sentences: all pairs, with a dendrogram, as blocks, and the nearest to a query."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float, Int

from bertviz_core.figures.base.axes import HOVERED, MEASURE_WORDS, number_axis, sentence_text, similarity_colours
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.colour_bars import colour_bar
from bertviz_core.figures.base.fitted import STANDING
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.sentences.bars import add_score_bars
from bertviz_core.figures.sentences.labels import name_rows, number_columns, sentence_names
from bertviz_core.figures.sentences.poolings import pooling_and_layer
from bertviz_core.sentences.results import BlockSummary, ClusterOrder, Measure, Neighbours, SentenceVectors

ROW, SMALLEST, LARGEST = 34, 120, 470
"""Pixels: height of a sentence's row, minimum and maximum height of all rows."""
TREE = 72
"""Height in pixels of the dendrogram above a map."""


def similarity_heatmap(
    similarity: Float[np.ndarray, "sentences sentences"],
    sentences: Sequence[str],
    measure: Measure,
    title: str,
    theme: Theme,
    clusters: ClusterOrder | None = None,
) -> go.Figure:
    """Draw all pairs of sentences; with clusters, in their order and below their dendrogram.

    Args:
        similarity: similarity matrix, in the order of the sentences.
        sentences: the sentences.
        measure: measure of the cells.
        title: title of the figure.
        theme: theme of the figure.
        clusters: order in which similar sentences are adjacent; None for the original order.
    """
    count = len(sentences)
    order = np.arange(count) if clusters is None else clusters.order
    cells = similarity[np.ix_(order, order)].astype(np.float32)
    numbers = order.tolist()
    plot = max(SMALLEST, min(LARGEST, ROW * count))
    figure = go.Figure(layout=layout(theme, escape(title)))
    pairs = [[f"{row + 1} and {column + 1}" for column in numbers] for row in numbers]
    figure.add_heatmap(
        x=np.arange(count, dtype=np.int32),
        y=np.arange(count, dtype=np.int32),
        z=cells,
        coloraxis="coloraxis",
        customdata=pairs,
        hovertemplate=f"sentences %{{customdata}}, {MEASURE_WORDS[measure]}: %{{z:.4f}}<extra></extra>",
    )
    colours = similarity_colours(measure, float(np.abs(cells).max(initial=0)), theme)
    if measure != "cosine":
        colours["colorbar"] = colour_bar(MEASURE_WORDS[measure], colours["cmin"], colours["cmax"])
    shown = [sentences[number] for number in numbers]
    left = name_rows(
        figure, sentence_names([number + 1 for number in numbers], shown, theme, plot / max(count, 1)), plot
    )
    bottom = number_columns(figure, numbers, shown, theme)
    figure.update_layout(coloraxis=colours, margin={"b": bottom, "r": 8}, height=48 + plot + bottom)
    if clusters is not None and count > 1:
        _add_tree(figure, clusters, theme, plot)
    ends = (float(colours["cmin"]), float(colours["cmax"]))
    return cell_numbers(figure, cells, ".2f", colours["colorscale"], ends, (theme.pixels - left - STANDING, plot))


def _add_tree(figure: go.Figure, clusters: ClusterOrder, theme: Theme, plot: int) -> None:
    """Draw the dendrogram above the map: every merge at its distance, 1 - cosine."""
    x, y = tree_lines(clusters.order, clusters.linkage)
    figure.add_scatter(
        x=x,
        y=y,
        yaxis="y2",
        mode="lines",
        line={"color": theme.muted, "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
    )
    top = float(clusters.linkage[:, 2].max(initial=0)) or 1.0
    share = TREE / (plot + TREE)
    figure.update_layout(
        height=figure.layout.height + TREE,
        yaxis={"domain": [0, 1 - share]},
        yaxis2={
            "domain": [1 - share + 0.015, 1],
            "range": [0, top * 1.05],
            "title": {"text": "1 - cosine", "standoff": 6, "font": {"size": TEXT_SIZE - 1}},
            "nticks": 3,
            "zeroline": False,
            "automargin": False,
            "gridcolor": theme.grid,
            "tickfont": {"size": TEXT_SIZE - 2},
        },
    )


def tree_lines(
    order: Int[np.ndarray, " sentences"], linkage: Float[np.ndarray, "merges 4"]
) -> tuple[list[float | None], list[float | None]]:
    """Return the lines of the dendrogram: for each merge up, across and down, separated by None."""
    count = len(order)
    place, level = np.zeros(2 * count - 1), np.zeros(2 * count - 1)
    place[order] = np.arange(count)
    x: list[float | None] = []
    y: list[float | None] = []
    for step, (one, other, distance, _) in enumerate(linkage.tolist()):
        left, right = int(one), int(other)
        x += [place[left], place[left], place[right], place[right], None]
        y += [level[left], distance, distance, level[right], None]
        place[count + step] = (place[left] + place[right]) / 2
        level[count + step] = distance
    return x, y


def blocks_heatmap(summary: BlockSummary, sentences: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Draw many sentences as blocks of similar ones; cells are mean cosines of the pairs between two blocks."""
    count = len(summary.starts)
    plot = max(SMALLEST, min(LARGEST, 22 * count))
    figure = go.Figure(layout=layout(theme, escape(title), height=plot + 104))
    sizes = summary.sizes.tolist()
    figure.add_heatmap(
        x=np.arange(count, dtype=np.int32),
        y=np.arange(count, dtype=np.int32),
        z=summary.similarity.astype(np.float32),
        coloraxis="coloraxis",
        customdata=[[f"{row:,} by {column:,} sentences" for column in sizes] for row in sizes],
        hovertemplate="%{customdata}, mean cosine: %{z:.4f}<extra></extra>",
    )
    figure.update_layout(coloraxis=similarity_colours("cosine", 1.0, theme))
    examples = [sentences[index] for index in summary.examples.tolist()]
    names = sentence_names([f"({size:,})" for size in sizes], examples, theme, plot / max(count, 1))
    figure.update_xaxes(number_axis(range(count), 150), title="block", range=[-0.5, count - 0.5])
    name_rows(figure, names, plot)
    return figure.update_layout(margin={"b": 56, "r": 8})


def neighbour_bars(neighbours: Neighbours, sentences: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Draw the sentences nearest to a query, nearest at the top, as bars of their scores."""
    numbers = neighbours.index.tolist()
    shown, plot = [sentences[number] for number in numbers], ROW * max(len(numbers), 3)
    figure = go.Figure(layout=layout(theme, escape(title), height=104 + plot))
    add_score_bars(figure, neighbours.score, [f"{sentence_text(text, HOVERED)}:" for text in shown], HUES[0], theme)
    figure.update_xaxes(title=MEASURE_WORDS[neighbours.measure])
    name_rows(figure, sentence_names([number + 1 for number in numbers], shown, theme, ROW), plot)
    return figure.update_layout(margin={"b": 56, "r": 16})


def vectors_heatmap(
    vectors: Float[np.ndarray, "sentences dimensions"],
    sentences: Sequence[str],
    first: int,
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw sentence vectors as rows of numbers, on a scale symmetric around 0."""
    rows, columns = vectors.shape
    limit = float(np.abs(vectors).max(initial=0)) or 1.0
    plot = max(SMALLEST, min(LARGEST, ROW * rows))
    figure = go.Figure(layout=layout(theme, escape(title), height=104 + plot))
    figure.add_heatmap(
        x=np.arange(columns, dtype=np.int32),
        y=np.arange(rows, dtype=np.int32),
        z=vectors.astype(np.float32),
        coloraxis="coloraxis",
        hovertemplate="dimension %{x}: %{z:.6f}<extra></extra>",
    )
    figure.update_layout(coloraxis=similarity_colours("dot", limit, theme))
    figure.update_layout(coloraxis_colorbar=colour_bar("value", -limit, limit))
    figure.update_xaxes(title="dimension", showgrid=False)
    names = sentence_names(range(first + 1, first + rows + 1), sentences, theme, plot / max(rows, 1))
    name_rows(figure, names, plot)
    return figure.update_layout(margin={"b": 56, "r": 8})


def _pairs_frame(
    similarity: Float[np.ndarray, "sentences sentences"], vectors: SentenceVectors, clusters: ClusterOrder | None
) -> pd.DataFrame:
    """Number, sentence and similarities to all, in the order of the figure."""
    order = np.arange(len(similarity)) if clusters is None else clusters.order
    frame = pd.DataFrame(similarity[np.ix_(order, order)], columns=[str(number + 1) for number in order.tolist()])
    frame.insert(0, "sentence", [vectors.sentences[number] for number in order.tolist()])
    frame.insert(0, "number", order + 1)
    return frame


@figure("sentences", "sentences_similarity", "how alike sentences are (--pooling, --layer)", table=_pairs_frame)
def pairs_figure(
    similarity: Float[np.ndarray, "sentences sentences"],
    vectors: SentenceVectors,
    similarity_measure: Measure,
    clusters: ClusterOrder | None,
) -> FigureSpec:
    """Plot all pairs of sentences."""
    word = MEASURE_WORDS[similarity_measure]
    title = f"{word[0].upper()}{word[1:]} of sentences, {pooling_and_layer(vectors)}"
    alt = f"{title}: a row and a column per sentence"
    draw = partial(similarity_heatmap, similarity, vectors.sentences, similarity_measure, title, clusters=clusters)
    return FigureSpec(title, alt, draw)


EVERY_PAIR = 150
"""Maximum number of sentences for a map of all pairs; longer lists are drawn as blocks."""
BLOCKS, NEIGHBOURS, ROWS = 24, 10, 40
"""Number of blocks of a long list, of nearest sentences, and of vectors drawn at once."""


def _blocks_frame(block_summary: BlockSummary, vectors: SentenceVectors) -> pd.DataFrame:
    """A row per block: its middle, its size, and its mean cosine with each."""
    count = len(block_summary.sizes)
    frame = pd.DataFrame(block_summary.similarity, columns=[f"block {block + 1}" for block in range(count)])
    frame.insert(0, "sentences", block_summary.sizes)
    frame.insert(0, "nearest to its middle", [vectors.sentences[index] for index in block_summary.examples.tolist()])
    return frame


@figure("blocks", "sentences_blocks", "many sentences as blocks (--pooling, --layer)", table=_blocks_frame)
def blocks_figure(block_summary: BlockSummary, vectors: SentenceVectors) -> FigureSpec:
    """Plot many sentences, grouped into blocks of similar ones."""
    title = f"Sentence blocks, {pooling_and_layer(vectors)}"
    alt = f"{title}: a row and a column per block"
    return FigureSpec(title, alt, partial(blocks_heatmap, block_summary, vectors.sentences, title))


def _query_frame(neighbours: Neighbours, vectors: SentenceVectors) -> pd.DataFrame:
    """The nearest sentences with their scores and numbers."""
    numbers = neighbours.index.tolist()
    sentences = [vectors.sentences[number] for number in numbers]
    columns = {MEASURE_WORDS[neighbours.measure]: neighbours.score, "number": neighbours.index + 1}
    return pd.DataFrame({**columns, "sentence": sentences})


@figure("query", "sentences_query", "sentences nearest to a query (--pooling, --layer)", table=_query_frame)
def query_figure(neighbours: Neighbours, vectors: SentenceVectors, query: str) -> FigureSpec:
    """Plot the sentences of a list nearest to a query."""
    title = f"Nearest to the query, {pooling_and_layer(vectors)}"
    alt = f"{title}: a bar per sentence, the nearest at the top"
    draw = partial(neighbour_bars, neighbours, vectors.sentences, title)
    return FigureSpec(title, alt, draw, f"{title}. Query: {query}")


def _vectors_frame(vectors: SentenceVectors, first_row: int) -> pd.DataFrame:
    """The sentences that are drawn, and their vectors."""
    shown = slice(first_row, first_row + ROWS)
    columns = [f"d{dimension}" for dimension in range(vectors.dimensions)]
    frame = pd.DataFrame(vectors.vectors[shown], columns=columns)
    frame.insert(0, "sentence", list(vectors.sentences[shown]))
    return frame


@figure("vectors", "sentences_vectors", "vectors of sentences (--pooling, --layer)", table=_vectors_frame)
def vectors_figure(vectors: SentenceVectors, first_row: int) -> FigureSpec:
    """Plot some vectors as rows of numbers; first_row is the index of the first."""
    title = f"Sentence vectors, {pooling_and_layer(vectors)}"
    alt = f"{title}: a row per sentence, a column per dimension, symmetric scale"
    shown = slice(first_row, first_row + ROWS)
    draw = partial(vectors_heatmap, vectors.vectors[shown], vectors.sentences[shown], first_row, title)
    return FigureSpec(title, alt, draw)
