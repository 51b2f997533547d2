"""Results of two models on the same sentences."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, slots=True)
class CosineRange:
    """Where the cosines of all pairs of different sentences lie."""

    mean: float
    """Mean cosine, -1 to 1."""
    low: float
    """5th percentile."""
    high: float
    """95th percentile."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceComparison:
    """Two models on the same list of sentences."""

    first: str
    """Name of the first model."""
    second: str
    """Name of the second model."""
    sentences: tuple[str, ...]
    """The sentences, at least 3."""
    first_cosines: Float[np.ndarray, "sentences sentences"]
    """Cosines of all pairs in the first model."""
    second_cosines: Float[np.ndarray, "sentences sentences"]
    """The same in the second model."""
    first_range: CosineRange
    """Mean and percentiles of the cosines of different sentences in the first model."""
    second_range: CosineRange
    """The same in the second model."""
    neighbours: int
    """Number of nearest sentences that are compared."""
    shared: Float[np.ndarray, " sentences"]
    """Share of the nearest sentences of each that are the same in both models, 0 to 1."""
    first_nearest: Int[np.ndarray, " sentences"]
    """Index of the sentence nearest to each in the first model."""
    second_nearest: Int[np.ndarray, " sentences"]
    """The same in the second model."""
    cka: float | None
    """Unbiased linear CKA of the sentence vectors of both models, at most 1; None for fewer than 4 sentences, or if a
    model gives all the same vector."""
    notices: tuple[str, ...] = ()
    """Remarks, one sentence each."""

    @property
    def difference(self) -> Float[np.ndarray, "sentences sentences"]:
        """Cosine in the second model minus that in the first."""
        return np.asarray(self.second_cosines - self.first_cosines)

    @property
    def same_nearest(self) -> int:
        """Number of sentences with the same nearest sentence in both models."""
        return int((self.first_nearest == self.second_nearest).sum())


def off_diagonal(cosines: Float[np.ndarray, "sentences sentences"]) -> Float[np.ndarray, " pairs"]:
    """The cosines of all pairs of different sentences, each pair once, row by row."""
    values: Float[np.ndarray, " pairs"] = cosines[np.triu_indices(len(cosines), 1)]
    return values


@dataclass(frozen=True, slots=True, eq=False)
class GoldCosines:
    """Cosines of pairs of sentences in one model, and their correlation with gold similarities."""

    model: str
    """Name of the model."""
    cosines: Float[np.ndarray, " pairs"]
    """Cosine of the two sentences of each pair, -1 to 1."""
    rank_errors: Float[np.ndarray, " pairs"]
    """Rank of the cosine minus rank of the gold similarity, over the number of pairs less one: -1 to 1, above 0 where
    the model finds a pair more alike than the gold similarities do, compared with the other pairs."""
    pearson: float
    """Pearson's correlation of cosine and gold similarity; NaN if all cosines are equal."""
    spearman: float
    """Spearman's rank correlation of the two; NaN if all cosines are equal."""


@dataclass(frozen=True, slots=True, eq=False)
class GoldPairs:
    """Pairs of sentences with gold similarities, in one or two models."""

    first_sentences: tuple[str, ...]
    """First sentence of each pair."""
    second_sentences: tuple[str, ...]
    """Second sentence of each pair."""
    gold: Float[np.ndarray, " pairs"]
    """Gold similarity of each pair, on any scale."""
    models: tuple[GoldCosines, ...]
    """The models."""
    notices: tuple[str, ...] = ()
    """Remarks, one sentence each."""

    @property
    def worst(self) -> Int[np.ndarray, " pairs"]:
        """Indices of all pairs, the largest rank error of the last model first."""
        return np.argsort(-np.abs(self.models[-1].rank_errors), kind="stable")


@dataclass(frozen=True, slots=True, eq=False)
class DimensionCurve:
    """What the cosines of a list of sentences keep when its vectors are cut to their first dimensions."""

    model: str
    """Name of the model."""
    sentences: tuple[str, ...]
    """The sentences that are compared, at least 3."""
    dimensions: Int[np.ndarray, " counts"]
    """Numbers of dimensions, ascending."""
    neighbours: int
    """Number of nearest sentences that are compared."""
    shared: Float[np.ndarray, " counts"]
    """Mean share of the nearest sentences of each that are those of the full vectors, 0 to 1."""
    spearman: Float[np.ndarray, " counts"]
    """Spearman's rank correlation of the cosines of all pairs with those of the full vectors; NaN if all are equal."""
    nbytes: Int[np.ndarray, " counts"]
    """Bytes of a vector of float32 numbers."""
    trained: tuple[int, ...] = ()
    """Dimensions that the settings of the model name as trained; () for none."""
    notices: tuple[str, ...] = ()
    """Remarks, one sentence each."""
