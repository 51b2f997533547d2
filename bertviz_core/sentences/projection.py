"""Project sentence vectors into a plane: principal components, or UMAP if installed."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.sentences.results import MapMethod, SentenceMap

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

    Raises:
        UnsupportedModelError: the vectors contain NaN or infinity.
        TextError: UMAP is requested and not installed, or the number of sentences is outside its limits.
    """
    if not np.isfinite(vectors).all():
        raise UnsupportedModelError("The sentence vectors hold NaN or infinity, so they have no place in a plane.")
    if method == "umap":
        return _umap(vectors)
    count = len(vectors)
    points, explained = np.zeros((count, 2)), np.zeros(2)
    if count > 1:
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

    Raises:
        TextError: UMAP is not installed, or the number of sentences is outside its limits.
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
    try:
        from umap import UMAP
    except (ImportError, AttributeError) as error:  # another package of this name, or one with missing dependencies
        raise TextError(f"UMAP cannot be used here ({error}); install umap-learn, or choose PCA.") from error
    return UMAP
