"""Sentence vectors as points in a plane: principal components, or UMAP where it is installed."""

from importlib.util import find_spec

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.results.sentences import MapMethod, SentenceMap

UMAP_NEIGHBOURS = 15
SEED = 0
PCA_NOTE = "Distances along the two axes are real; the rest of the variance ({rest:.1%}) is not in the picture."
UMAP_NOTE = "UMAP keeps neighbours together (McInnes et al. 2018); distances between groups and axes mean nothing."


def umap_available() -> bool:
    """Whether the package umap-learn is installed."""
    return find_spec("umap") is not None


def sentence_map(vectors: Float[np.ndarray, "sentences dimensions"], method: MapMethod = "pca") -> SentenceMap:
    """Every sentence as a point.

    PCA: the two directions of largest variance of the centred vectors, each signed so that its largest entry is
    positive; the same vectors always give the same picture.

    Raises:
        UnsupportedModelError: the vectors hold NaN or infinity, or UMAP is asked for and not installed.
    """
    if not np.isfinite(vectors).all():
        raise UnsupportedModelError("The sentence vectors hold NaN or infinity, so they have no place in a plane.")
    if method == "umap":
        return _umap(vectors)
    count = len(vectors)
    points, explained = np.zeros((count, 2)), np.zeros(2)
    if count > 1:
        centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
        variance, axes = np.linalg.eigh(centred.T @ centred)
        axes, variance = axes[:, ::-1][:, :2], np.clip(variance[::-1], 0, None)
        axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])] < 0, -1.0, 1.0)
        points[:, : axes.shape[1]] = centred @ axes
        explained[: axes.shape[1]] = variance[:2] / max(variance.sum(), np.finfo(np.float64).tiny)
    note = PCA_NOTE.format(rest=max(0.0, 1 - explained.sum()) if explained.any() else 0.0)
    return SentenceMap(points.astype(np.float32), explained.astype(np.float32), "pca", note)


def _umap(vectors: np.ndarray) -> SentenceMap:
    if not umap_available():
        raise UnsupportedModelError("UMAP is not installed here; install umap-learn, or choose PCA.")
    if len(vectors) < 4:
        raise UnsupportedModelError("UMAP needs at least 4 sentences; add some, or choose PCA.")
    from umap import UMAP

    neighbours = min(UMAP_NEIGHBOURS, len(vectors) - 1)
    start = "random" if len(vectors) < 10 else "spectral"
    placed = UMAP(n_neighbors=neighbours, metric="cosine", random_state=SEED, init=start).fit_transform(vectors)
    return SentenceMap(np.asarray(placed, dtype=np.float32), None, "umap", UMAP_NOTE)
