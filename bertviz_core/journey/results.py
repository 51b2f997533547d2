"""Results of a journey: the stages of a model, their effect on every token, and their details."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.heads.results import CellBreakdown
from bertviz_core.trace.results import OfModel, Tokens

StageKind = Literal["embeddings", "shared", "layer", "norm", "aside", "decoder", "pooler", "task head"]
"""Kind of a stage; "shared" is used inside the layers and has no place of its own on the way, "norm" follows the last
layer inside the encoder, "aside" and "decoder" are not run."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a stage."""

    name: str
    """Name, such as "gated feed-forward"."""
    kind: str
    """Kind: "attention", "feed-forward", "norm", "add" and others."""
    numel: int | None = None
    """Number of parameters, for shared layers those of the stored layer; None if they are not counted separately."""
    placed: bool = True
    """Whether its place in the order is known."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One column of the drawing: a part of the model that the text passes or skips."""

    kind: StageKind
    name: str
    """Name, such as "layer 3"."""
    numel: int
    """Number of parameters counted here; the stages of a model sum to its ledger."""
    steps: tuple[Operation, ...] = ()
    """Operations of the stage, in the order of the run."""
    build: str = ""
    """Description of a layer's design; neighbouring layers with equal descriptions have the same design."""
    note: str = ""
    """A special property, one sentence; "" for none."""
    run: bool = True
    """Whether the text passes it."""
    used: str = ""
    """Of a stage that no number of the drawing is read off: what reads or runs it, such as "run on Predictions"."""


@dataclass(frozen=True, slots=True, eq=False)
class Strips:
    """Vectors in a few bins: the value of largest magnitude in each, with its sign."""

    edges: Int[np.ndarray, " edges"]
    """First dimension of every bin, and the end of the last."""
    values: Float[np.ndarray, "states seq bins"]
    """Value of each bin per entry of hidden_states and token."""


@dataclass(frozen=True, slots=True, eq=False)
class Journey(OfModel):
    """A text, or a pair, on its way through a model."""

    title: str
    """Name of the family."""
    revision: str
    """Revision of its files."""
    tokens: Tokens | None
    """The tokens; None without a tokenizer."""
    labels: tuple[str, ...]
    """Readable labels of the tokens."""
    stages: tuple[Stage, ...]
    """Stages in the order of the run; exactly one of kind "embeddings", and one of kind "layer" per layer."""
    turn: Float[np.ndarray, "layers seq"] | None
    """1 - cosine of a token's vector before and after each layer; None if the model was not run."""
    length: Float[np.ndarray, "layers seq"] | None
    """Euclidean length of the vector after each layer."""
    entropy: Float[np.ndarray, "layers seq"] | None
    """Entropy of each token's row of attention in nats, mean over the heads; None if attention is unknown."""
    strips: Strips | None
    """Binned vectors of the tokens, from the embedding output on."""
    heads: int
    """Number of heads per layer; 0 if attention is unknown."""
    missing: str = ""
    """Why the model was not run, one sentence; "" if it was."""
    attention_note: str = ""
    """Why the attention is unknown, one sentence; "" if it is known or the model was not run."""
    words: tuple[tuple[int, int, str], ...] = ()
    """First position, number of tokens and text of each word of several tokens."""
    sinks: bool = False
    """Whether an attention sink takes a share of the rows of attention."""

    @property
    def layers(self) -> int:
        """Number of layers."""
        return sum(stage.kind == "layer" for stage in self.stages)


@dataclass(frozen=True, slots=True, eq=False)
class ChangedJourney:
    """A journey and that of the same text with one change, at the same tokens and layers."""

    sentence: str
    """What was changed and how, one sentence."""
    before: Journey
    """The unchanged journey; of an edited text with the new tokens, at which its numbers are NaN."""
    after: Journey
    """The journey with the change."""
    cosine: Float[np.ndarray, " seq"]
    """Cosine of each token's last vector before and after; NaN for a new token."""
    origin: tuple[int, ...] | None = None
    """Position of each token of an edited text before the edit, -1 for a new one; None if the text is not edited."""
    gone: tuple[tuple[int, str], ...] = ()
    """Label of each token that only the text before has, and the position of the token that now follows its place."""


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingOpening:
    """Composition of the vector that enters the first layer, for one token."""

    token: int
    parts: Mapping[str, Float[np.ndarray, " width"]]
    """Name -> vector, in the order of the sum: the added rows, their sum, and the sum after the norm."""
    note: str
    """A limitation of the sum, one sentence; "" for none."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerOpening:
    """Details of one layer for one token."""

    layer: int
    token: int
    thumbnails: Float[np.ndarray, "heads rows columns"]
    """Attention of every head; for a long text the largest weight of each block of neighbouring cells."""
    rows: Float[np.ndarray, "heads seq"]
    """The token's row of attention in every head; what one lacks to 1 is on the attention sink."""
    weighted: Float[np.ndarray, "heads seq"] | None
    """The same weights times the norm of the transformed value, as shares of their sum; None if unknown."""
    attention_output: Float[np.ndarray, " hidden"] | None
    """Output of the attention block, or of the mixing of tokens, before any norm; None if it cannot be recorded."""
    activations: Float[np.ndarray, " intermediate"] | None = None
    """Inner activations of the feed-forward block for the token; None if they cannot be recorded."""
    feed_forward: Float[np.ndarray, " hidden"] | None = None
    """Output of the feed-forward block for the token, before any norm; None if it cannot be recorded."""
    head_norms: Float[np.ndarray, " heads"] | None = None
    """Euclidean length of what each head adds to the token's attention output; None if it cannot be recorded."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadOpening:
    """Details of one head of a layer for one query token and one key."""

    cell: CellBreakdown
    """All numbers from query and key to the weight and the weighted values."""


@dataclass(frozen=True, slots=True)
class Ribbons:
    """The strongest keys of one token, and the remainder."""

    keys: tuple[int, ...]
    """Positions of the keys, strongest first."""
    shares: tuple[float, ...]
    """Shares of these keys in the row."""
    rest: float
    """Share of all other keys; shares and rest sum to 1."""
