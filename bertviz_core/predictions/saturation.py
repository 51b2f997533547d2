"""Scores that number formats make equal although their logits differ."""

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float

PLACES = 4
"""Decimals of a printed score."""


def in_bfloat16(values: Float[np.ndarray, " texts"]) -> Float[np.ndarray, " texts"]:
    """Round float32 numbers to bfloat16, ties to even; NumPy has no such dtype."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.asarray(rounded.astype(np.uint32).view(np.float32))


FORMATS: Mapping[str, Callable[[Float[np.ndarray, " texts"]], np.ndarray]] = {
    "float32": lambda scores: scores.astype(np.float32),
    "float16": lambda scores: scores.astype(np.float16),
    "bfloat16": in_bfloat16,
    "printed": lambda scores: np.array([f"{score:.{PLACES}f}" for score in scores.tolist()]),
}
"""Number format, or how scores are printed -> the scores in it."""


def equal_scores(
    scores: Float[np.ndarray, " texts"], logits: Float[np.ndarray, " texts"]
) -> dict[str, int]:  # fmt: skip
    """Number format -> number of scores that equal another one in it although their logits differ."""
    return {name: _equal(rounded(scores), logits) for name, rounded in FORMATS.items()}


def _equal(scores: np.ndarray, logits: Float[np.ndarray, " texts"]) -> int:
    _, score_places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    pairs, pair_counts = np.unique(np.stack([score_places, np.unique(logits, return_inverse=True)[1]]), axis=1,
                                   return_counts=True)  # fmt: skip
    several = pair_counts < counts[pairs[0]]
    return int(pair_counts[several].sum())
