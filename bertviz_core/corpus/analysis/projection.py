"""Project the rows of a corpus into a plane: PCA of all rows, or UMAP fitted on a sample."""

import numpy as np
from jaxtyping import Float

from bertviz_core.corpus.analysis.results import CorpusMap
from bertviz_core.corpus.analysis.row_samples import blocks, sampled_rows
from bertviz_core.errors import Progress
from bertviz_core.lazy_imports import torch
from bertviz_core.sentences.results import MapMethod
from bertviz_core.sentences.similarity import MAX_UMAP_SENTENCES, UMAP_NOTE, fitted_umap, pca_note, principal_axes
from bertviz_core.sentences.store.vectors import Vectors

SUMMED_ROWS = 8_192
"""Number of rows summed in float32 before the float64 sum, small enough for sufficient precision."""
UMAP_BLOCK_ROWS = 5_000
"""Number of rows that UMAP transforms at once; the work can be cancelled between blocks."""
SAMPLE_NOTE = "It was fitted on {fitted:,} of {rows:,} rows, drawn by seed {seed}; the others were placed among them."


def corpus_map(
    vectors: Float[Vectors, "rows dimensions"],
    method: MapMethod = "pca",
    seed: int = 0,
    progress: Progress | None = None,
) -> CorpusMap:
    """Project every row to a point, block by block: memory grows only with the points.

    PCA uses all rows: products in float32 are summed in float64, so that directions, shares and points equal those of
    scikit-learn's PCA, each direction with a positive largest entry. UMAP is fitted on a sample of at most 10,000 rows
    and then transforms the others.

    Args:
        method: projection method.
        seed: seed of the sample for UMAP.
        progress: called as progress(rows done, rows to do); may raise to cancel. PCA reads all rows twice.
    """
    return _principal(vectors, progress) if method == "pca" else _umap(vectors, seed, progress)


def _principal(vectors: Float[Vectors, "rows dimensions"], progress: Progress | None) -> CorpusMap:
    rows, dimensions = vectors.shape
    sums = torch.zeros(dimensions, dtype=torch.float64)
    products = torch.zeros((dimensions, dimensions), dtype=torch.float64)
    # Subtracted from all rows to preserve precision if the mean is far from zero.
    shift = torch.from_numpy(np.asarray(vectors[:SUMMED_ROWS], dtype=np.float32).mean(axis=0))
    for place, block in blocks(vectors, SUMMED_ROWS):
        shifted = torch.from_numpy(block).sub_(shift)
        sums += torch.ones(len(shifted)) @ shifted
        products += shifted.T @ shifted
        if progress is not None:
            progress(place.stop, 2 * rows)
    mean = sums / rows
    axes, explained = principal_axes((products - rows * torch.outer(mean, mean)).numpy())
    onto = torch.from_numpy(axes.T)
    middle, onto = (mean @ onto).float(), onto.float()
    points = np.empty((rows, 2), dtype=np.float32)
    for place, block in blocks(vectors, SUMMED_ROWS):
        points[place] = (torch.from_numpy(block).sub_(shift) @ onto - middle).numpy()
        if progress is not None:
            progress(rows + place.stop, 2 * rows)
    return CorpusMap(
        points=points,
        explained=explained.astype(np.float32),
        axes=axes.astype(np.float32),
        method="pca",
        fitted=rows,
        note=pca_note(explained),
    )


def _umap(vectors: Float[Vectors, "rows dimensions"], seed: int, progress: Progress | None) -> CorpusMap:
    rows = len(vectors)
    sample = sampled_rows(rows, MAX_UMAP_SENTENCES, seed)
    if progress is not None:
        progress(0, rows)
    ((_, fitted_on),) = blocks(vectors[sample], len(sample))
    points = np.empty((rows, 2), dtype=np.float32)
    points[sample], place_others = fitted_umap(fitted_on)
    others = np.setdiff1d(np.arange(rows), sample, assume_unique=True)
    for start in range(0, len(others), UMAP_BLOCK_ROWS):
        if progress is not None:
            progress(len(sample) + start, rows)
        chosen = others[start : start + UMAP_BLOCK_ROWS]
        ((_, block),) = blocks(vectors[chosen], len(chosen))
        points[chosen] = place_others(block)
    if progress is not None:
        progress(rows, rows)
    note = UMAP_NOTE
    if len(others):
        note = f"{UMAP_NOTE} {SAMPLE_NOTE.format(fitted=len(sample), rows=rows, seed=seed)}"
    return CorpusMap(points=points, explained=None, axes=None, method="umap", fitted=len(sample), note=note)
