"""Results about what a run costs: multiply-adds by part and length, memory of activations."""

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
    """Multiply-adds for each text, however long."""

    def at(self, seq: int) -> int:
        """All of them for seq tokens."""
        return self.per_pair * seq * seq + self.per_token * seq + self.per_text


@dataclass(frozen=True, slots=True)
class LayerAttention:
    """What the scores and the mixing of one layer cost for each pair of tokens."""

    path: str
    """Dotted path of the layer."""
    per_pair: int
    """Multiply-adds for one pair of tokens, all heads and all runs of the layer together."""
    window: Window | None
    """How far a token sees; None for all of the text."""


@dataclass(frozen=True, slots=True)
class OperationTerms:
    """The formula for the multiply-adds of one forward pass on n tokens, part by part."""

    model: str
    """Name of the model."""
    model_class: str
    """Class that is counted."""
    projections: Growth
    """The maps that make query, key and value, and the output projection."""
    feed_forward: Growth
    """The feed-forward blocks."""
    other: Growth
    """All else: projections of embeddings, pooler, task head, tables of distances."""
    attention: Growth
    """Scores and the mixing of values, every pair of tokens counted."""
    layers: tuple[LayerAttention, ...]
    """The layers whose attention has a cost for each pair; theirs add up to attention.per_pair."""
    exact: bool
    """Whether the formula gave PyTorch's own count at a length that it was not made from."""
    decoder_tokens: int
    """Tokens that a decoder behind an encoder is given; 0 for none, or for the text itself."""


@dataclass(frozen=True, slots=True, eq=False)
class MultiplyAdds:
    """Multiply-adds of one forward pass by part, for some lengths."""

    lengths: Int[np.ndarray, " lengths"]
    """Tokens of a text."""
    projections: Int[np.ndarray, " lengths"]
    """Multiply-adds of the query, key, value and output projections."""
    attention: Int[np.ndarray, " lengths"]
    """Multiply-adds of scores and of the mixing of values; by the formula, windows honoured."""
    every_pair: Int[np.ndarray, " lengths"]
    """The same if every layer looks at every pair of tokens, as PyTorch counts."""
    feed_forward: Int[np.ndarray, " lengths"]
    """Multiply-adds of the feed-forward blocks."""
    other: Int[np.ndarray, " lengths"]
    """Multiply-adds of all else, pooler and task head among them."""

    @property
    def total(self) -> Int[np.ndarray, " lengths"]:
        """All of them, windows honoured."""
        total: np.ndarray = self.projections + self.attention + self.feed_forward + self.other
        return total

    @property
    def whole(self) -> Int[np.ndarray, " lengths"]:
        """All of them, every pair of tokens counted."""
        whole: np.ndarray = self.projections + self.every_pair + self.feed_forward + self.other
        return whole


@dataclass(frozen=True, slots=True)
class Crossover:
    """The length from which on attention costs at least as much as the feed-forward blocks."""

    tokens: int | None
    """The smallest such length, 1 where it always does; None where there is none up to the length searched."""
    projections: bool = False
    """Whether the projections count as attention; without them it is scores and mixing alone."""


Holding = Literal["inference", "training"]
"""What memory is counted: tensors alive at the fullest moment without gradients, or all kept for the backward pass."""


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
