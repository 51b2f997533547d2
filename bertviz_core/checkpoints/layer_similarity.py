"""Compare every layer of a model with every layer of another over a list of texts, whatever their sizes."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bertviz_core.checkpoints.results import LayerSimilarity
from bertviz_core.errors import TextError

LEAST_TEXTS = 4
"""The unbiased estimate divides by n - 3."""
NEIGHBOURS = 10
"""Number of nearest texts that are compared; with few texts, half of the others."""
BLOCK_CELLS = 2**22
"""Cells of all Gram matrices that are in memory at once: 32 MiB in float64."""
ROUNDING = 1e-12
"""Relative size below which what is left of a centred Gram matrix is rounding."""


def layer_similarity(
    names: tuple[str, str],
    first: Float[np.ndarray, "first_states texts first_hidden"],
    second: Float[np.ndarray, "second_states texts second_hidden"],
) -> LayerSimilarity:
    """Compare two models by their vectors of the same texts.

    CKA is that of Kornblith et al. 2019 (Similarity of Neural Network Representations Revisited, equation 4 with a
    linear kernel), with the unbiased estimate of HSIC of Song et al. 2012 (Feature Selection via Dependence
    Maximization, equation 5), so that unrelated vectors have 0 on average, however many dimensions they have.
    """
    texts = first.shape[1]
    if texts < LEAST_TEXTS:
        raise TextError(f"Layers are compared over at least {LEAST_TEXTS} texts, not {texts}.")
    neighbours = min(NEIGHBOURS, (texts - 1) // 2)
    states = len(first), len(second)
    products, sizes = np.zeros(states), [np.zeros(count) for count in states]
    shared = np.zeros(states)
    sides = [_Side(vectors) for vectors in (first, second)]
    for rows in _blocks(texts, sum(states)):
        centred = [side.centred(rows) for side in sides]
        products += np.einsum("aij,bij->ab", *centred, optimize=True)
        for size, block in zip(sizes, centred, strict=True):
            size += np.einsum("aij,aij->a", block, block)
        nearest = [side.nearest(rows, neighbours) for side in sides]
        shared += np.einsum("aij,bij->ab", *nearest, optimize=True)
    for size, side in zip(sizes, sides, strict=True):
        size[size <= (ROUNDING * side.scale) ** 2] = np.nan
    cka = products / np.sqrt(np.outer(*sizes))
    notices = () if np.isfinite(cka).all() else ("A layer gives every text the same vector, so it has no CKA.",)
    first_cosine, second_cosine = (side.mean_cosine() for side in sides)
    shares = shared / (texts * neighbours)
    return LayerSimilarity(*names, texts, cka, neighbours, shares, first_cosine, second_cosine, notices=notices)


class _Side:
    """The vectors of one model, and what their Gram matrices need of all texts."""

    def __init__(self, vectors: Float[np.ndarray, "states texts hidden"]) -> None:
        # HSIC of linear kernels does not depend on the mean; without it, large means leave no digits.
        self._vectors = vectors.astype(np.float64)
        self._vectors -= self._vectors.mean(axis=1, keepdims=True)
        own = np.einsum("ath,ath->at", self._vectors, self._vectors)
        self.scale = np.abs(own).sum(axis=1)
        """Sum of the squared lengths of each state's vectors."""
        self._sums = -own  # rows of the Gram matrix add up to 0 around the mean, and its diagonal is left out
        self._directions = vectors.astype(np.float64)
        lengths = np.linalg.norm(self._directions, axis=-1, keepdims=True)
        self._directions /= np.where(lengths > 0, lengths, 1)

    def centred(self, rows: slice) -> Float[np.ndarray, "states rows texts"]:
        """Rows of the Gram matrices, centred without bias: their products add up to n (n - 3) HSIC."""
        texts = self._vectors.shape[1]
        gram = self._vectors[:, rows] @ self._vectors.transpose(0, 2, 1)
        gram -= self._sums[:, rows, None] / (texts - 2)
        gram -= self._sums[:, None, :] / (texts - 2)
        gram += (self._sums.sum(axis=1) / ((texts - 1) * (texts - 2)))[:, None, None]
        return _without_diagonal(gram, rows, 0.0)

    def nearest(self, rows: slice, count: int) -> Float[np.ndarray, "states rows texts"]:
        """1 for the texts that are nearest to each text by cosine, 0 for the others."""
        cosines = _without_diagonal(self._directions[:, rows] @ self._directions.transpose(0, 2, 1), rows, -np.inf)
        marks = np.zeros(cosines.shape, dtype=np.float32)
        np.put_along_axis(marks, np.argsort(-cosines, axis=-1, kind="stable")[..., :count], 1, axis=-1)
        return marks

    def mean_cosine(self) -> Float[np.ndarray, " states"]:
        """Mean cosine of two different texts."""
        texts = self._directions.shape[1]
        whole = np.square(self._directions.sum(axis=1)).sum(axis=-1)
        own = np.square(self._directions).sum(axis=(1, 2))
        cosines: Float[np.ndarray, " states"] = (whole - own) / (texts * (texts - 1))
        return cosines


def _without_diagonal(
    gram: Float[np.ndarray, "states rows texts"], rows: slice, value: float
) -> Float[np.ndarray, "states rows texts"]:
    places = np.arange(rows.start, rows.stop)
    gram[:, places - rows.start, places] = value
    return gram


def _blocks(texts: int, states: int) -> Iterator[slice]:
    """Ranges of texts whose rows of all Gram matrices fit into a block."""
    step = max(1, BLOCK_CELLS // (texts * states))
    for start in range(0, texts, step):
        yield slice(start, min(start + step, texts))
