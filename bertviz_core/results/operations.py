"""Results on the cost of one forward pass: multiply-adds by sentence length, memory by batch and length."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

Holding = Literal["inference", "training"]
"""What memory is counted: tensors alive at the fullest moment without gradients, or all kept for the backward pass."""


@dataclass(frozen=True, slots=True)
class LayerAttention:
    """What the attention of one layer costs beside its projections."""

    path: str
    """Dotted path of the layer."""
    width: int
    """Multiply-adds for one pair of tokens, all heads together: query width + width of the mixed values."""
    window: int | None
    """Tokens to each side that a token attends to; None for all."""
    applications: int
    """How many times one run passes the layer."""


@dataclass(frozen=True, slots=True)
class OperationTerms:
    """The terms of the formula for the multiply-adds of one forward pass on n tokens."""

    model: str
    """Name of the model."""
    projections: int
    """Weights of the query, key, value and output projections that every token meets, in all layers."""
    feed_forward: int
    """Weights of the feed-forward blocks that every token meets, in all layers."""
    other: int
    """Weights of other linear maps that every token meets (projections of embeddings, bottlenecks)."""
    per_text: int
    """Weights of linear maps that only one token meets (the pooler)."""
    attention: tuple[LayerAttention, ...]
    """Attention layer by layer."""
    left_out: tuple[str, ...]
    """Linear maps that some other count of rows passes, such as distances; no term of the formula."""


@dataclass(frozen=True, slots=True, eq=False)
class MultiplyAdds:
    """Multiply-adds of one forward pass by the formula, for some lengths."""

    lengths: Int[np.ndarray, " lengths"]
    """Tokens of a text."""
    projections: Int[np.ndarray, " lengths"]
    """Multiply-adds of the query, key, value and output projections."""
    attention: Int[np.ndarray, " lengths"]
    """Multiply-adds of scores and of the mixing of values, windows honoured."""
    every_pair: Int[np.ndarray, " lengths"]
    """The same if every layer looked at every pair of tokens."""
    feed_forward: Int[np.ndarray, " lengths"]
    """Multiply-adds of the feed-forward blocks."""
    other: Int[np.ndarray, " lengths"]
    """Multiply-adds of other linear maps, the pooler among them."""

    @property
    def total(self) -> Int[np.ndarray, " lengths"]:
        """All of them, windows honoured."""
        found: np.ndarray = self.projections + self.attention + self.feed_forward + self.other
        return found


@dataclass(frozen=True, slots=True)
class Crossover:
    """Length from which attention's own work is at least that of another part."""

    tokens: int | None
    """The smallest such length; None where there is none up to the length searched."""
    part: str
    """"feed_forward" or "projections"."""


@dataclass(frozen=True, slots=True, eq=False)
class ActivationMemory:
    """Bytes of activations by batch and length, float32, attention computed step by step (eager)."""

    model: str
    """Name of the model."""
    holding: Holding
    """What is counted."""
    batches: tuple[int, ...]
    """Texts in a batch, one row of nbytes each."""
    lengths: tuple[int, ...]
    """Tokens of each text, one column of nbytes each."""
    nbytes: Int[np.ndarray, "batches lengths"]
    """Bytes; -1 where the run was too large to be made."""
