"""Compare the cosines of the same sentences in two models: their range, and which sentences are nearest."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.sentences.two_models.results import CosineRange, SentenceComparison, off_diagonal
from bertviz_core.text import counted, quoted

LEAST_SENTENCES = 3
"""Minimum number of sentences; of two, each is always nearest to the other."""
MOST_SENTENCES = 150
"""Maximum number of sentences, so that every pair can be drawn."""
PERCENTILES = (5, 95)


def sentence_comparison(
    names: tuple[str, str],
    sentences: Sequence[str],
    first: Float[np.ndarray, "sentences first_dimensions"],
    second: Float[np.ndarray, "sentences second_dimensions"],
    neighbours: int,
    cka: float | None = None,
    notices: Sequence[str] = (),
) -> SentenceComparison:
    """Compare two models by their vectors of the same sentences.

    Args:
        names: names of the models.
        sentences: the sentences.
        first: vectors of the first model.
        second: vectors of the second model.
        neighbours: number of nearest sentences to compare; less than the number of sentences.
        cka: CKA of the vectors, if known.
        notices: remarks.

    Raises:
        TextError: there are too few sentences.
        CheckpointError: a vector has NaN or infinity.
    """
    if len(sentences) < LEAST_SENTENCES:
        raise TextError(
            f"Two models are compared on at least {LEAST_SENTENCES} sentences, and {len(sentences) or 'none'} came."
        )
    for name, vectors in zip(names, (first, second), strict=True):
        require_finite(name, vectors)
    cosines = similarity_matrix(first), similarity_matrix(second)
    nearest = [nearest_others(each, neighbours) for each in cosines]
    return SentenceComparison(
        first=names[0],
        second=names[1],
        sentences=tuple(sentences),
        first_cosines=cosines[0],
        second_cosines=cosines[1],
        first_range=_range(cosines[0]),
        second_range=_range(cosines[1]),
        neighbours=neighbours,
        shared=shared_neighbours(nearest[0], nearest[1]),
        first_nearest=nearest[0][:, 0],
        second_nearest=nearest[1][:, 0],
        cka=cka,
        notices=tuple(notices),
    )


def require_finite(model: str, vectors: Float[np.ndarray, "sentences dimensions"]) -> None:
    """Check the vectors of a model.

    Raises:
        CheckpointError: a vector has NaN or infinity.
    """
    broken = int((~np.isfinite(vectors)).any(axis=1).sum())
    if broken:
        raise CheckpointError(
            f"{quoted(model)} gives NaN or infinity for {broken:,} of {counted(len(vectors), 'sentence')}, so their "
            "cosines cannot be compared; look at its weights on the page Checkpoint."
        )


def evenly_chosen(count: int, most: int = MOST_SENTENCES) -> list[int]:
    """Indices of at most this many sentences, spread evenly over the list; all of a short one."""
    chosen = min(count, most)
    return [place * count // chosen for place in range(chosen)] if count else []


def _range(cosines: Float[np.ndarray, "sentences sentences"]) -> CosineRange:
    pairs = off_diagonal(cosines).astype(np.float64)
    low, high = np.percentile(pairs, PERCENTILES).tolist()
    return CosineRange(float(pairs.mean()), low, high)


def nearest_others(
    cosines: Float[np.ndarray, "sentences sentences"], count: int
) -> Int[np.ndarray, "sentences neighbours"]:
    """Indices of the sentences with the largest cosine to each, itself left out; ties by index."""
    others = cosines.astype(np.float64)
    np.fill_diagonal(others, -np.inf)
    return np.argsort(-others, axis=1, kind="stable")[:, :count]


def shared_neighbours(
    first: Int[np.ndarray, "sentences neighbours"], second: Int[np.ndarray, "sentences neighbours"]
) -> Float[np.ndarray, " sentences"]:
    """Share of the nearest sentences of each that are the same in both, 0 to 1."""
    same = (first[:, :, None] == second[:, None, :]).any(axis=2)
    return np.asarray(same.mean(axis=1))
