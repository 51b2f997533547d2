"""Pictures of the sentences page's other views: blocks, one pair, the nearest to a query, a map, vectors, poolings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.results.sentences import (
    BlockSummary,
    Neighbours,
    PoolingComparison,
    SentenceMap,
    SentenceVectors,
    TokenPairShares,
)
from figures.picture import Picture
from figures.sentence_map import sentence_scatter
from figures.sentence_pairs import Unit, pair_heatmap
from figures.sentence_pictures import way
from figures.sentence_poolings import POOLING_WORDS, pooling_maps
from figures.sentences import blocks_heatmap, neighbour_bars, vectors_heatmap

EVERY_PAIR = 150
"""Lists longer than this are drawn as blocks."""
BLOCKS, NEIGHBOURS, ROWS = 24, 10, 40
"""Blocks of a long list, sentences nearest to a query, and vectors that are drawn at once."""


def blocks_picture(summary: BlockSummary, found: SentenceVectors) -> Picture:
    """Many sentences, similar ones put into blocks."""
    title = f"Sentence blocks, {way(found)}"
    alt = f"{title}: a row and a column per block"
    return Picture(title, alt, lambda look: blocks_heatmap(summary, found.sentences, title, look))


def query_picture(near: Neighbours, found: SentenceVectors) -> Picture:
    """The sentences of a list that are nearest to a query."""
    title = f"Nearest to the query, {way(found)}"
    alt = f"{title}: a bar per sentence, the nearest at the top"
    return Picture(title, alt, lambda look: neighbour_bars(near, found.sentences, title, look))


def map_picture(
    placed: SentenceMap, found: SentenceVectors, column: str = "", values: Sequence[Any] | None = None
) -> Picture:
    """Every sentence as a point; coloured by the values of a column where there is one."""
    title = f"Map of {len(found.sentences):,} sentences, {way(found)}"
    alt = f"{title}: a point per sentence"
    return Picture(title, alt, lambda look: sentence_scatter(placed, found.sentences, title, look, column, values))


def vectors_picture(
    rows: Float[np.ndarray, "rows dimensions"], sentences: Sequence[str], first: int, found: SentenceVectors
) -> Picture:
    """Some of the vectors as rows of numbers; first is the place of the first of them."""
    title = f"Sentence vectors, {way(found)}"
    alt = f"{title}: a row per sentence, a column per dimension, symmetric scale"
    return Picture(title, alt, lambda look: vectors_heatmap(rows, sentences, first, title, look))


def pair_picture(found: TokenPairShares, unit: Unit, model: str) -> Picture:
    """The cosine of two sentences as a sum over pairs of their tokens or words."""
    pooling = POOLING_WORDS[found.pooling]
    title = f"{unit.capitalize()[:-1]} pairs of {found.total:.4f}, {pooling} of layer {found.layer} - {model}"
    alt = f"{title}: a row per piece of the first sentence, a column per piece of the second"
    return Picture(title, alt, lambda look: pair_heatmap(found, unit, title, look))


def pooling_maps_picture(found: PoolingComparison, model: str) -> Picture:
    """The cosines of all pairs, a small map for every pooling and layer."""
    title = f"Cosines, pooling by layer - {model}"
    alt = f"{title}: small maps, a row per pooling, a column per layer"
    return Picture(title, alt, lambda look: pooling_maps(found, title, look))
