"""Similarity of vectors: matrices, nearest neighbours, closest pairs, hierarchical order; pure functions on arrays.

The cosine of a zero vector with every vector, itself included, is defined as 0.
"""

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.sentences.results import BlockSummary, ClusterOrder, Measure, Neighbours, ScoredPairs

BLOCK_ROWS = 2048
"""Rows and columns of a block of scores: 16 MiB at a time, for any number of sentences."""
MAX_CLUSTERED_SENTENCES = 2000
"""Maximum number of individually clustered sentences; their distances alone take 16 MB."""
MAX_OPTIMALLY_ORDERED_SENTENCES = 400
"""Maximum number of sentences with optimal leaf order, which takes quadratic time; larger trees keep the merge
order."""

OWN_SIMILARITIES = {"dot": "the dot product", "euclidean": "the Euclidean distance", "manhattan": "the L1 distance"}
"""Similarities that sentence-transformers names in similarity_fn_name beside the cosine."""


def own_similarity(name: object, normalized: bool) -> tuple[str, ...]:
    """A notice where a checkpoint was made for another similarity than the cosine.

    Args:
        name: similarity_fn_name of the checkpoint.
        normalized: whether its vectors have length 1: then the dot product is the cosine, and distances order alike.
    """
    own = OWN_SIMILARITIES.get(name) if isinstance(name, str) else None
    if own is None or (normalized and name != "manhattan"):
        return ()
    return (
        f"The checkpoint was made for {own} of its vectors (similarity_fn_name); cosines may order texts otherwise.",
    )


def similarity_matrix(
    vectors: Float[np.ndarray, "sentences dimensions"], measure: Measure = "cosine"
) -> Float[np.ndarray, "sentences sentences"]:
    """Compute the similarity of all pairs: cosine (-1 to 1), dot product, or Euclidean distance.

    The matrix is symmetric. The diagonal is 1 for the cosine (0 for a zero vector, NaN for one that is not finite), 0
    for the distance, and the squared norm for the dot product.
    """
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():  # of NaN alone, since infinity minus itself is a warning of NumPy
        vectors = np.where(finite[:, None], vectors, np.float32(np.nan))
    if measure == "euclidean":
        rows = [distances(row, vectors) for row in vectors]
        return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
    units = unit(vectors) if measure == "cosine" else vectors
    scores: np.ndarray = units @ units.T
    # A blocked product rounds differently on its two sides.
    scores = (scores + scores.T) / 2
    if measure == "cosine":
        np.clip(scores, -1, 1, out=scores)
        own = np.where(units.any(axis=1), np.float32(1), np.float32(0))
        own[~finite] = np.nan
        np.fill_diagonal(scores, own)
    return scores


def distances(
    query: Float[np.ndarray, " dimensions"], vectors: Float[np.ndarray, "sentences dimensions"]
) -> Float[np.ndarray, " sentences"]:
    """Compute the Euclidean distance of every vector to a query."""
    return np.asarray(np.linalg.norm(vectors - query, axis=1), dtype=np.float32)


def nearest(
    query: Float[np.ndarray, " dimensions"],
    vectors: Float[np.ndarray, "sentences dimensions"],
    count: int,
    measure: Measure = "cosine",
) -> Neighbours:
    """Find the vectors most similar to a query, in descending order; ties by index."""
    if measure == "euclidean":
        scores = distances(query, vectors)
    elif measure == "cosine":
        scores = np.clip(unit(vectors) @ unit(query), -1, 1)
    else:
        scores = vectors @ query
    order = np.argsort(scores if measure == "euclidean" else -scores, kind="stable")[:count]
    return Neighbours(order, scores[order], measure)


def closest_pairs(
    vectors: Float[np.ndarray, "sentences dimensions"],
    count: int,
    measure: Measure = "cosine",
    progress: Progress | None = None,
) -> ScoredPairs:
    """Find the most similar pairs in descending order, block by block in bounded memory.

    Args:
        vectors: the vectors.
        count: number of pairs.
        measure: similarity measure.
        progress: called as progress(rows done, rows); may raise to cancel.
    """
    rows = unit(vectors) if measure == "cosine" else vectors
    squares = np.einsum("nd,nd->n", rows, rows, dtype=np.float64) if measure == "euclidean" else None
    best: tuple[np.ndarray, np.ndarray, np.ndarray] = (np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    for top in range(0, len(rows), BLOCK_ROWS):
        for left in range(top, len(rows), BLOCK_ROWS):
            best = _better(best, _block(rows, squares, top, left), (top, left), count)
        if progress is not None:
            progress(min(top + BLOCK_ROWS, len(rows)), len(rows))
    first, second, _ = best
    scores = _exact(vectors, rows, first, second, measure)
    order = np.lexsort((second, first, scores if measure == "euclidean" else -scores))
    return ScoredPairs(first[order], second[order], scores[order], measure)


def cluster_order(similarity: Float[np.ndarray, "sentences sentences"]) -> ClusterOrder:
    """Compute an order in which similar sentences are adjacent, and the linkage of its dendrogram.

    Agglomerative clustering, average linkage of 1 - cosine (Sokal & Michener 1958), with optimal leaf order (Bar-Joseph
    et al. 2001) up to 400 sentences.

    Raises:
        ValueError: there are more than MAX_CLUSTERED_SENTENCES sentences.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    count = len(similarity)
    if count > MAX_CLUSTERED_SENTENCES:
        raise ValueError(f"{count} sentences to cluster one by one, at most {MAX_CLUSTERED_SENTENCES}")
    if count < 2:
        return ClusterOrder(np.arange(count), np.zeros((0, 4), dtype=np.float32))
    distance = np.clip(1 - np.nan_to_num(similarity.astype(np.float64)), 0, None)
    np.fill_diagonal(distance, 0)
    joins = linkage(
        squareform(distance, checks=False), "average", optimal_ordering=count <= MAX_OPTIMALLY_ORDERED_SENTENCES
    )
    return ClusterOrder(leaves_list(joins).astype(np.int64), joins.astype(np.float32))


def block_summary(vectors: Float[np.ndarray, "sentences dimensions"], blocks: int = 40) -> BlockSummary:
    """Summarise the similarity of thousands of sentences as a matrix of blocks.

    The sentences are repeatedly halved at the median along their direction of largest variance, and the blocks are
    ordered by cluster_order. The mean cosine of two blocks is the dot product of their mean unit vectors, so no matrix
    of all sentences is built.
    """
    units = unit(vectors)
    parts = _halved(units, min(blocks, max(len(units), 1)))
    means = np.stack([units[part].mean(axis=0) for part in parts]) if len(units) else units
    order = cluster_order(similarity_matrix(means)).order
    parts, means = [parts[position] for position in order], means[order]
    similarity = (means @ means.T).astype(np.float64)
    for position, part in enumerate(parts):
        size, pointing = len(part), float(units[part].any(axis=1).sum())
        # All ordered pairs of the block, without a sentence and itself.
        within = (similarity[position, position] * size * size - pointing) / (size * (size - 1)) if size > 1 else 1.0
        similarity[position, position] = within
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    examples = [part[int(np.argmax(units[part] @ mean))] for part, mean in zip(parts, means, strict=True)]
    return BlockSummary(
        np.concatenate(parts) if len(units) else np.zeros(0, dtype=np.int64),
        np.cumsum(sizes) - sizes,
        sizes,
        np.clip(similarity, -1, 1).astype(np.float32),
        np.array(examples, dtype=np.int64),
    )


def _halved(units: np.ndarray, blocks: int) -> list[np.ndarray]:
    """Split sentences into parts of similar size, halving the largest first; return their indices."""
    from scipy.linalg import eigh

    parts = [np.arange(len(units))] if len(units) else []
    last = units.shape[1] - 1
    while 0 < len(parts) < blocks:
        largest = max(range(len(parts)), key=lambda index: len(parts[index]))
        part = parts[largest]
        centred = units[part] - units[part].mean(axis=0)
        _, axis = eigh(centred.T @ centred, subset_by_index=(last, last))
        along = part[np.argsort(centred @ axis[:, 0], kind="stable")]
        middle = len(part) // 2
        parts[largest : largest + 1] = [along[:middle], along[middle:]]
    return parts


def _block(rows: np.ndarray, squares: np.ndarray | None, top: int, left: int) -> np.ndarray:
    """Compute the scores of one block of pairs, large for similar ones; -inf on and below the diagonal."""
    scores = rows[top : top + BLOCK_ROWS] @ rows[left : left + BLOCK_ROWS].T
    if squares is not None:
        scores = 2.0 * scores - squares[top : top + BLOCK_ROWS, None] - squares[None, left : left + BLOCK_ROWS]
    if top == left:
        scores[np.tril_indices(len(scores), 0, scores.shape[1])] = -np.inf
    return np.asarray(scores)


def _better(
    best: tuple[np.ndarray, np.ndarray, np.ndarray], scores: np.ndarray, corner: tuple[int, int], count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge the best pairs so far with those of a block."""
    flat = scores.ravel()
    candidates = np.flatnonzero(flat > best[2].min()) if len(best[2]) >= count > 0 else np.flatnonzero(flat > -np.inf)
    if len(candidates) > count:
        candidates = candidates[np.argpartition(-flat[candidates], count - 1)[:count]] if count else candidates[:0]
    down, right = np.divmod(candidates, scores.shape[1])
    first, second = np.concatenate((best[0], down + corner[0])), np.concatenate((best[1], right + corner[1]))
    values = np.concatenate((best[2], flat[candidates]))
    best_first = np.argsort(-values, kind="stable")[:count]
    return first[best_first], second[best_first], values[best_first]


def _exact(
    vectors: np.ndarray, rows: np.ndarray, first: np.ndarray, second: np.ndarray, measure: Measure
) -> np.ndarray:
    """Compute the scores of some pairs by their definition."""
    if measure == "euclidean":
        return np.asarray(np.linalg.norm(vectors[first] - vectors[second], axis=1), dtype=np.float32)
    products = np.einsum("nd,nd->n", rows[first], rows[second])
    return np.asarray(np.clip(products, -1, 1) if measure == "cosine" else products, dtype=np.float32)
