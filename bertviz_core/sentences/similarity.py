"""Similarities of sentences, their map, and poolings compared."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from threading import Lock
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Progress, TextError, UnsupportedModelError, no_progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.models.loading import LoadedModel
from bertviz_core.sentences.encoding import SentenceRun, batches, cut_notice, edge_tokens, plan_layer, tokenized
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.sentences.results import (
    SPARSE_POOLINGS,
    BlockSummary,
    ClusterOrder,
    MapMethod,
    Measure,
    Neighbours,
    Pooling,
    PoolingComparison,
    ScoredPairs,
    SentenceMap,
    SentencePlan,
)
from bertviz_core.trace.tokenization import TextTokenizer

BLOCK_ROWS = 2048
"""Rows and columns of a block of scores: 16 MiB at a time, for any number of sentences."""
WIDE = 4_096
"""Dimensions up to which a matrix of all pairs of them is computed."""
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
    progress: Progress = no_progress,
) -> ScoredPairs:
    """Find the most similar pairs in descending order, block by block in bounded memory."""
    rows = unit(vectors) if measure == "cosine" else vectors
    squares = np.einsum("nd,nd->n", rows, rows, dtype=np.float64) if measure == "euclidean" else None
    best: tuple[np.ndarray, np.ndarray, np.ndarray] = (np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    for top in range(0, len(rows), BLOCK_ROWS):
        for left in range(top, len(rows), BLOCK_ROWS):
            best = _better(best, _block(rows, squares, top, left), (top, left), count)
        progress(min(top + BLOCK_ROWS, len(rows)), len(rows))
    first, second, _ = best
    scores = _exact(vectors, rows, first, second, measure)
    order = np.lexsort((second, first, scores if measure == "euclidean" else -scores))
    return ScoredPairs(first[order], second[order], scores[order], measure)


def cluster_order(similarity: Float[np.ndarray, "sentences sentences"]) -> ClusterOrder:
    """Compute an order in which similar sentences are adjacent, and the linkage of its dendrogram.

    Agglomerative clustering, average linkage of 1 - cosine (Sokal & Michener 1958), with optimal leaf order (Bar-Joseph
    et al. 2001) up to 400 sentences.
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
    units = narrow(unit(vectors))
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


def narrow(vectors: Float[np.ndarray, "sentences dimensions"]) -> Float[np.ndarray, "sentences _"]:
    """Return vectors of one dimension a sentence with the same dot products, if there are more than WIDE dimensions.

    A matrix of all dimensions of a sparse encoder would take gigabytes.
    """
    if vectors.shape[1] <= max(WIDE, len(vectors)):
        return vectors
    values, axes = np.linalg.eigh((vectors @ vectors.T).astype(np.float64))
    return np.asarray(axes * np.sqrt(np.clip(values, 0, None)), dtype=np.float32)


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


UMAP_NEIGHBOURS = 15
MAX_UMAP_SENTENCES = 10_000
"""Maximum number of sentences for UMAP: more take minutes without a way to cancel."""
SEED = 0
UMAP_LOCK = Lock()
"""Some threading layers of numba end the process when two threads enter them."""
PCA_NOTE = "Both axes have the same scale; the rest of the variance ({rest:.1%}) is not in the picture."
UMAP_NOTE = "UMAP keeps neighbours together (McInnes et al. 2018); distances between groups and axes mean nothing."


def umap_available() -> bool:
    """Whether the package umap-learn is installed."""
    return find_spec("umap") is not None


def sentence_map(vectors: Float[np.ndarray, "sentences dimensions"], method: MapMethod = "pca") -> SentenceMap:
    """Project every sentence to a point.

    PCA: the two directions of largest variance of the centred vectors, each with a positive largest entry;
    deterministic.
    """
    if not np.isfinite(vectors).all():
        raise UnsupportedModelError("The sentence vectors hold NaN or infinity, so they have no place in a plane.")
    if method == "umap":
        return _umap(vectors)
    count = len(vectors)
    points, explained = np.zeros((count, 2)), np.zeros(2)
    if count > 1:
        vectors = narrow(vectors)
        centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
        axes, explained = principal_axes(centred.T @ centred)
        points = centred @ axes.T
    return SentenceMap(points.astype(np.float32), explained.astype(np.float32), "pca", pca_note(explained))


def principal_axes(
    scatter: Float[np.ndarray, "dimensions dimensions"],
) -> tuple[Float[np.ndarray, "2 dimensions"], Float[np.ndarray, "2"]]:
    """Return the two directions of largest variance and the share of the variance along each.

    Each direction is signed so that its largest entry is positive; a missing second direction is zero.

    Args:
        scatter: scatter matrix, the sum of outer products of the centred vectors, in float64.
    """
    variance, columns = np.linalg.eigh(scatter)
    leading, variance = columns[:, ::-1][:, :2].T, np.clip(variance[::-1], 0, None)
    axes, explained = np.zeros((2, len(scatter))), np.zeros(2)
    signs = np.where(np.take_along_axis(leading, np.abs(leading).argmax(axis=1)[:, None], axis=1) < 0, -1.0, 1.0)
    axes[: len(leading)] = leading * signs
    explained[: len(leading)] = variance[:2] / max(variance.sum(), np.finfo(np.float64).tiny)
    return axes, explained


def pca_note(explained: Float[np.ndarray, "2"]) -> str:
    """Describe two principal components, and the variance that they leave out."""
    return PCA_NOTE.format(rest=max(0.0, 1 - float(explained.sum())) if explained.any() else 0.0)


def _umap(vectors: np.ndarray) -> SentenceMap:
    """Project by UMAP of the cosine distances; deterministic."""
    points, _ = fitted_umap(vectors)
    return SentenceMap(points, None, "umap", UMAP_NOTE)


def fitted_umap(
    vectors: Float[np.ndarray, "sentences dimensions"],
) -> tuple[Float[np.ndarray, "sentences 2"], Callable[[np.ndarray], np.ndarray]]:
    """Fit UMAP on cosine distances; return the points, and a function that projects further vectors.

    The result is deterministic.
    """
    if not umap_available():
        raise TextError("UMAP is not installed here; install umap-learn, or choose PCA.")
    if not 4 <= len(vectors) <= MAX_UMAP_SENTENCES:
        raise TextError(
            f"UMAP places 4 to {MAX_UMAP_SENTENCES:,} sentences, and these are {len(vectors):,}; choose PCA."
        )
    with UMAP_LOCK:
        umap = _umap_class()
        neighbours = min(UMAP_NEIGHBOURS, len(vectors) - 1)
        start = "random" if len(vectors) < 10 else "spectral"
        reducer = umap(n_neighbors=neighbours, metric="cosine", random_state=SEED, n_jobs=1, init=start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns about disconnected graphs of few or equal sentences
            points = reducer.fit_transform(np.array(vectors, dtype=np.float32))

    def placed(others: np.ndarray) -> np.ndarray:
        with UMAP_LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(reducer.transform(np.array(others, dtype=np.float32)), dtype=np.float32)

    return np.asarray(points, dtype=np.float32), placed


def _umap_class() -> Any:
    """The class UMAP; what numba compiles of it longest is kept for other processes."""
    try:
        from umap import UMAP
        from umap.umap_ import compute_membership_strengths, smooth_knn_dist
        from umap.utils import fast_knn_indices

        for compiled in (compute_membership_strengths, fast_knn_indices, smooth_knn_dist):
            compiled.enable_caching()
    except RuntimeError as error:  # already from the import, which compiles functions that are kept
        raise TextError(
            "UMAP cannot be used here: numba finds no folder that it may write what it compiles to; set "
            "NUMBA_CACHE_DIR to one, or choose PCA."
        ) from error
    except (ImportError, AttributeError) as error:  # another package of this name, or one with missing dependencies
        raise TextError(f"UMAP cannot be used here ({error}); install umap-learn, or choose PCA.") from error
    return UMAP


MAX_SENTENCES = 500
"""Maximum number of sentences; their vectors under all poolings and layers of BERT-base take 80 MB."""
MAX_SENTENCES_WITH_MATRICES = 64
"""Maximum number of sentences with returned matrices."""
NOTE = (
    "Mean cosine of two different sentences: near 1, all vectors point the same way and tell little apart "
    "(anisotropy, Ethayarajh 2019); a larger spread tells more apart."
)


def pooling_comparison(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    sentences: Sequence[str],
    layers: Sequence[int] | Literal["all"] = "all",
    max_seq_length: int | None = None,
    progress: Progress = no_progress,
    own: Pooling = "mean",
) -> PoolingComparison:
    """Compute cosines of all pairs under every pooling and layer, without prompt, dense layers, normalisation.

    Args:
        sentences: at least two, at most 500.
        own: the checkpoint's own pooling, an additional row if the model does not offer it and it pools states.
    """
    if not 2 <= len(sentences) <= MAX_SENTENCES:
        raise TextError(f"{len(sentences):,} sentences to compare poolings on; give 2 to {MAX_SENTENCES}.")
    entries = tuple(range(loaded.num_hidden_layers + 1)) if layers == "all" else tuple(layers)
    for layer in entries:
        plan_layer(loaded, SentencePlan("mean", layer))
    edges = edge_tokens(tokenizer)
    poolings = offered_poolings(edges.first, loaded.has_pooler, "mean" if own in SPARSE_POOLINGS else own)
    plan = SentencePlan("mean", max_seq_length=max_seq_length)
    rows = [row for chunk in tokenized(tokenizer, sentences, plan) for row in chunk]
    encoder, vectors, done = SentenceRun(loaded, plan, "float32", 0), np.zeros(0, dtype=np.float32), 0
    for batch in batches(loaded, [len(row) for row in rows]):
        batch_vectors = encoder.all_layers([rows[index] for index in batch], poolings, entries)
        if not done:
            vectors = np.empty((*batch_vectors.shape[:2], len(rows), batch_vectors.shape[3]), dtype=np.float32)
        vectors[:, :, batch] = batch_vectors
        done += len(batch)
        progress(done, len(rows))
    cut = cut_notice(tokenizer, plan, sum(row.truncated for row in rows))
    return replace(_compared(tuple(sentences), poolings, entries, vectors), edges=edges, cut=cut)


def _compared(
    sentences: tuple[str, ...], poolings: tuple[Pooling, ...], entries: tuple[int, ...], vectors: np.ndarray
) -> PoolingComparison:
    count, shape = len(sentences), (len(poolings), len(entries))
    means, spreads = np.full(shape, np.nan, dtype=np.float32), np.full(shape, np.nan, dtype=np.float32)
    matrices = (
        np.full((*shape, count, count), np.nan, dtype=np.float32) if count <= MAX_SENTENCES_WITH_MATRICES else None
    )
    pairs = np.triu_indices(count, 1)
    for row, column in np.ndindex(shape):
        if np.isfinite(vectors[row, column]).all():
            matrix = similarity_matrix(vectors[row, column])
            means[row, column], spreads[row, column] = matrix[pairs].mean(), matrix[pairs].std()
            if matrices is not None:
                matrices[row, column] = matrix
    return PoolingComparison(sentences, poolings, entries, means, spreads, matrices, NOTE)
