"""Results for long texts: the share of each position in a vector, and chunks of the text in both ways."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.sentences.results import Pooling
from bertviz_core.trace.results import OfModel


@dataclass(frozen=True, slots=True, eq=False)
class PositionShares(OfModel):
    """The vector of a text as a sum over its tokens, each with its share of the whole."""

    tokens: tuple[str, ...]
    """Tokens that the model reads, special ones and the prompt included."""
    special: Bool[np.ndarray, " tokens"]
    """Whether each is a special token, such as [CLS]."""
    shares: Float[np.ndarray, " tokens"]
    """Dot product of the token's part and the vector, over the vector's squared length; they add up to 1."""
    uniform: Float[np.ndarray, " tokens"]
    """Share of every token if all pooled ones had the same; 0 for a token that is not pooled."""
    pooling: Pooling
    """Pooling of the sum."""
    layer: int
    """Pooled entry of hidden_states; 0 is the embedding output."""
    exact: bool
    """Whether the sum is the model's own vector; otherwise `note` says what it is."""
    note: str
    """Explanation of the shares, one sentence."""
    cut: int
    """Number of tokens of the text that are cut off at the model's limit, and have no share."""
    cut_side: str
    """Where they are cut off: "end" or "beginning"."""


@dataclass(frozen=True, slots=True, eq=False)
class ChunkVectors(OfModel):
    """A text in chunks, each embedded alone, and each pooled from a run over the whole text."""

    text: str
    """The text, without spaces around it."""
    size: int
    """Most tokens of a chunk, without special ones and the prompt."""
    overlap: int
    """Most tokens at the beginning of a chunk that repeat the end of the one before."""
    texts: tuple[str, ...]
    """Text of every chunk."""
    starts: Int[np.ndarray, " chunks"]
    """First token of every chunk, among those of the text."""
    ends: Int[np.ndarray, " chunks"]
    """One after the last token of every chunk."""
    pooled: Int[np.ndarray, " chunks"]
    """Number of tokens that make up its late vector: special ones and the prompt are with the first and last chunk."""
    alone: Float[np.ndarray, "chunks dimensions"]
    """Vectors of the chunks that are embedded alone."""
    late: Float[np.ndarray, "chunks dimensions"]
    """Vectors of the chunks that are pooled from the run over the whole text."""
    pooling: Pooling
    """Pooling of the tokens of a chunk, in both ways."""
    windows: int
    """Number of runs over the text; 1 if the model reads it whole."""


@dataclass(frozen=True, slots=True, eq=False)
class LateChunks(OfModel):
    """The chunks of a text in both ways, and how near each is to a query."""

    chunks: ChunkVectors
    query: str
    """The query."""
    cosines: Float[np.ndarray, " chunks"]
    """Cosine of both vectors of each chunk."""
    alone_scores: Float[np.ndarray, " chunks"]
    """Cosine of the query and the chunk embedded alone."""
    late_scores: Float[np.ndarray, " chunks"]
    """Cosine of the query and the chunk pooled from the run over the whole text."""
    alone_ranks: Int[np.ndarray, " chunks"]
    """Rank by these cosines, 1 for the largest."""
    late_ranks: Int[np.ndarray, " chunks"]
    shares: PositionShares

    @property
    def moved(self) -> int:
        """Index of the chunk whose two vectors have the least cosine."""
        return int(self.cosines.argmin())
