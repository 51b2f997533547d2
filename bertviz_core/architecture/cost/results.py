"""Results about the cost of a run: multiply-adds by part and length, memory of activations."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

from bertviz_core.architecture.structure.results import Window


@dataclass(frozen=True, slots=True)
class Growth:
    """Multiply-adds of one forward pass on n tokens, as per_pair * n² + per_token * n + per_text."""

    per_pair: int = 0
    """Multiply-adds for each pair of tokens."""
    per_token: int = 0
    """Multiply-adds for each token."""
    per_text: int = 0
    """Multiply-adds for each text, regardless of its length."""

    def at(self, seq: int) -> int:
        """Total for `seq` tokens."""
        return self.per_pair * seq * seq + self.per_token * seq + self.per_text


@dataclass(frozen=True, slots=True)
class LayerAttention:
    """Cost of the scores and the mixing of values of a layer for each pair of tokens."""

    path: str
    """Dotted path of the layer."""
    per_pair: int
    """Multiply-adds for a pair of tokens, summed over all heads and applications of the layer."""
    window: Window | None
    """Attention window; None for full attention."""


@dataclass(frozen=True, slots=True)
class OperationTerms:
    """The formula for the multiply-adds of one forward pass on n tokens, part by part."""

    model: str
    """Name of the model."""
    model_class: str
    """Class that is counted."""
    projections: Growth
    """Projections of query, key, value and output."""
    feed_forward: Growth
    """Feed-forward blocks."""
    other: Growth
    """All else: projections of embeddings, pooler, task head, relative positions."""
    attention: Growth
    """Scores and mixing of values for all pairs of tokens."""
    layers: tuple[LayerAttention, ...]
    """Layers with a cost per pair, which adds up to attention.per_pair."""
    exact: bool
    """Whether the formula predicts PyTorch's count at another length."""
    decoder_tokens: int
    """Tokens of the decoder; 0 if there is none, or it reads the text."""


@dataclass(frozen=True, slots=True, eq=False)
class MultiplyAdds:
    """Multiply-adds of one forward pass by part, for some lengths."""

    lengths: Int[np.ndarray, " lengths"]
    """Tokens of a text."""
    projections: Int[np.ndarray, " lengths"]
    """Multiply-adds of the query, key, value and output projections."""
    attention: Int[np.ndarray, " lengths"]
    """Multiply-adds of scores and mixing of values; within windows for the formula."""
    every_pair: Int[np.ndarray, " lengths"]
    """The same for all pairs of tokens, as PyTorch counts."""
    feed_forward: Int[np.ndarray, " lengths"]
    """Multiply-adds of the feed-forward blocks."""
    other: Int[np.ndarray, " lengths"]
    """Multiply-adds of all else, including pooler and task head."""

    @property
    def total(self) -> Int[np.ndarray, " lengths"]:
        """Total within windows."""
        total: np.ndarray = self.projections + self.attention + self.feed_forward + self.other
        return total

    @property
    def whole(self) -> Int[np.ndarray, " lengths"]:
        """Total for all pairs of tokens."""
        whole: np.ndarray = self.projections + self.every_pair + self.feed_forward + self.other
        return whole


@dataclass(frozen=True, slots=True)
class Crossover:
    """The length from which attention costs at least as much as the feed-forward blocks."""

    tokens: int | None
    """The smallest such length; None if there is none up to the maximum length."""
    projections: bool = False
    """Whether the projections count as attention."""


Holding = Literal["inference", "training"]
"""Peak memory of a forward pass without gradients, or all tensors saved for the backward pass."""


@dataclass(frozen=True, slots=True, eq=False)
class ActivationMemory:
    """Bytes of activations by batch and length, in float32 with eager attention."""

    model: str
    """Name of the model."""
    holding: Holding
    """What is counted."""
    batches: tuple[int, ...]
    """Batch sizes, the rows of nbytes."""
    lengths: tuple[int, ...]
    """Tokens of each text, the columns of nbytes."""
    nbytes: Int[np.ndarray, "batches lengths"]
    """Bytes; -1 if the run was too large."""
