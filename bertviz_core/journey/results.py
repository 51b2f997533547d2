"""Results of a journey: the stages of a model, what each does to every token, and the parts that can be opened."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.heads.results import CellBreakdown
from bertviz_core.trace.results import Tokens

StageKind = Literal["embeddings", "layer", "norm", "decoder", "pooler", "task head"]
"""What a stage is; "norm" is what follows the last layer inside the encoder, "decoder" is not run."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One column of the drawing: a part of the model that the text passes, or that it leaves aside."""

    kind: StageKind
    """What it is."""
    name: str
    """Its name in prose, such as "layer 3"."""
    numel: int
    """Parameters that are counted here; the stages of a model add up to its ledger."""
    steps: tuple[str, ...] = ()
    """What happens in it, in the order of the run."""
    build: str = ""
    """How a layer is built, in words; neighbouring layers with the same words are built alike."""
    note: str = ""
    """What sets it apart, one sentence; "" for nothing."""
    run: bool = True
    """Whether the text passes it."""


@dataclass(frozen=True, slots=True, eq=False)
class Strips:
    """Vectors drawn as few bins: the value of largest magnitude in each, its sign kept."""

    edges: Int[np.ndarray, " edges"]
    """First dimension of every bin, and the end of the last."""
    values: Float[np.ndarray, "states seq bins"]
    """Per entry of hidden_states and token."""


@dataclass(frozen=True, slots=True, eq=False)
class Journey:
    """A text, or a pair, on its way through a model."""

    model: str
    """Name of the model."""
    title: str
    """Its family in prose."""
    revision: str
    """State of its files."""
    tokens: Tokens | None
    """What was read; None without a tokenizer."""
    labels: tuple[str, ...]
    """The tokens as one reads them."""
    stages: tuple[Stage, ...]
    """In the order of the run; exactly one of kind "embeddings", and one of kind "layer" for each layer."""
    turn: Float[np.ndarray, "layers seq"] | None
    """1 - cosine of a token's vector before and after each layer; None where the model was not run."""
    length: Float[np.ndarray, "layers seq"] | None
    """Euclidean length of the vector after each layer."""
    entropy: Float[np.ndarray, "layers seq"] | None
    """Entropy of each token's row of attention in nats, mean over the heads; None where attention is not known."""
    strips: Strips | None
    """Its vectors, from the embedding output on."""
    heads: int
    """Heads of a layer; 0 where attention is not known."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""
    missing: str = ""
    """Why the model was not run, one sentence; "" where it was."""

    @property
    def layers(self) -> int:
        """Count of layers."""
        return sum(stage.kind == "layer" for stage in self.stages)


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingOpening:
    """How the vector that enters the first layer is made, for one token."""

    token: int
    """Its position."""
    parts: Mapping[str, Float[np.ndarray, " width"]]
    """Name -> vector, in the order of the sum: the rows that are added, their sum, what it is after the norm."""
    note: str
    """What the sum does not say, one sentence; "" for nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerOpening:
    """One layer, as one token passes it."""

    layer: int
    """Zero-based."""
    token: int
    """Position of the token."""
    thumbnails: Float[np.ndarray, "heads rows columns"]
    """Attention of every head; of a long text the largest weight of each block of neighbouring cells."""
    rows: Float[np.ndarray, "heads seq"]
    """The token's row of attention in every head; each sums to 1."""
    weighted: Float[np.ndarray, "heads seq"] | None
    """The same weights times the length of the transformed value, as shares of their sum; None where unknown."""
    attention_output: Float[np.ndarray, " hidden"] | None
    """What the attention block adds for the token, before any norm; None where it cannot be recorded."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadOpening:
    """One head of a layer, as one token asks one key."""

    cell: CellBreakdown
    """Every number from query and key to the weight and the mix."""


@dataclass(frozen=True, slots=True)
class Ribbons:
    """The strongest keys of one token, and what is left."""

    keys: tuple[int, ...]
    """Positions, the strongest first."""
    shares: tuple[float, ...]
    """Their shares of the row."""
    rest: float
    """Share of all other keys; shares and rest sum to 1."""
