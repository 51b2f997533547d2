"""Pictures of sentences as pages and the command line name them: every pair, and every pooling."""

import numpy as np
from jaxtyping import Float

from bertviz_core.results.sentences import ClusterOrder, Measure, PoolingComparison, SentenceVectors
from figures.picture import Picture
from figures.sentence_axis import MEASURE_WORDS
from figures.sentence_poolings import POOLING_WORDS, pooling_lines
from figures.sentences import similarity_heatmap


def way(found: SentenceVectors) -> str:
    """Pooling, layer and model, for a title."""
    return f"{POOLING_WORDS[found.pooling]} of layer {found.layer} - {found.model}"


def pairs_picture(
    cells: Float[np.ndarray, "sentences sentences"],
    found: SentenceVectors,
    measure: Measure = "cosine",
    clusters: ClusterOrder | None = None,
) -> Picture:
    """Every sentence against every other."""
    word = MEASURE_WORDS[measure]
    title = f"{word[0].upper()}{word[1:]} of sentences, {way(found)}"
    return Picture(
        title,
        f"{title}: a row and a column per sentence",
        lambda look: similarity_heatmap(cells, found.sentences, measure, title, look, clusters),
    )


def poolings_picture(found: PoolingComparison, model: str) -> Picture:
    """Mean and spread of all cosines over the layers, a line per pooling."""
    title = f"{len(found.sentences)} sentences under every pooling - {model}"
    alt = f"{title}: mean and spread, a line per pooling over the layers"
    return Picture(title, alt, lambda look: pooling_lines(found, title, look))
