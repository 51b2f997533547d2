"""Facts about a model that are derived from its dataflow."""

from dataclasses import dataclass
from typing import Literal

BlockKind = Literal["attention", "cross-attention", "feed-forward", "mixing", "other"]
"""Kind of a residual block; "mixing" combines tokens without attention."""
Order = Literal["post-norm", "pre-norm", "norms on both sides", "parallel", ""]
"""Position of normalisations relative to residual connections; "" for none of these."""
Position = Literal["absolute", "relative", "rotary"]
"""How positions enter: a vector added to the embeddings, a term of the scores, a rotation of queries and keys."""
Types = Literal["table", "words", "scores", ""]
"""How token types enter: their own table, rows of the vocabulary table, a term of the scores, not at all."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window of attention; None for no limit."""

    before: int | None
    """Tokens before it."""
    after: int | None
    """Tokens after it."""

    @property
    def limited(self) -> bool:
        """Whether attention is local, apart from causal masks."""
        return self.before is not None


@dataclass(frozen=True, slots=True)
class Block:
    """A residual block with its normalisations."""

    kinds: tuple[BlockKind, ...]
    """Its kinds; two for parallel attention and feed-forward."""
    norms_before: tuple[str, ...]
    """Normalisations at the start of the block."""
    norms_within: tuple[str, ...]
    """Normalisations of the result before it is added."""
    norms_behind: tuple[str, ...]
    """Normalisations of the sum."""
    modules: tuple[str, ...]
    """All modules with parameters, and activations, of the block."""


@dataclass(frozen=True, slots=True)
class AttentionFacts:
    """The self-attention of a layer."""

    softmax: bool
    """Whether it is ordinary softmax attention."""
    scaling: float | None
    """Factor of the product of query and key; None if unknown."""
    positions: tuple[Position, ...]
    """Positions in this layer: "relative", "rotary"."""
    types: bool
    """Whether token types affect the scores."""
    window: Window | None
    """Attention window; None if unknown."""


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """A stored layer."""

    stack: str
    """"encoder" or "decoder"."""
    layer: int
    """Zero-based index in its stack."""
    blocks: tuple[Block, ...]
    """Its blocks in order; empty if the residual connections are not known."""
    attention: AttentionFacts | None
    """Its attention; None if it has no softmax over tokens."""
    gated: bool
    """Whether its feed-forward block is gated."""

    @property
    def order(self) -> Order:
        """Position of the normalisations."""
        return _order(self.blocks)


@dataclass(frozen=True, slots=True)
class StreamTable:
    """An embedding table."""

    name: str
    """Name of the parameter."""
    role: Literal["word", "position", "token type", "other"]
    """Index of its rows."""
    rows: int
    """Number of rows."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model."""

    model_class: str
    """Class of the model."""
    tables: tuple[StreamTable, ...]
    """Embedding tables, in the order of the run."""
    before: tuple[str, ...]
    """Modules with parameters before the first layer."""
    encoder_behind: tuple[str, ...]
    """Modules with parameters after the last layer of the encoder."""
    decoder_behind: tuple[str, ...]
    """Modules with parameters after the last layer of the decoder."""
    layers: tuple[LayerFacts, ...]
    """The layers, stack by stack."""
    positions: tuple[Position, ...]
    """How positions enter; empty if unknown."""
    learned_positions: bool
    """Whether position vectors are learned."""
    types: Types
    """How token types enter."""
    keeps_tokens: bool
    """Whether every layer has a vector per token."""
    pooler: bool
    """Whether the base class has a pooler, even if this class does not."""
    base_class: str
    """Base class of the family."""
    recorded: bool
    """Whether every layer passes query, key and value, without unsupported arguments, to transformers' exchangeable
    attention function."""
    sinks: bool = False
    """Whether heads have attention sinks."""

    def layer(self, stack: str, index: int) -> LayerFacts | None:
        """The facts about a layer; None if there are none."""
        return next((row for row in self.layers if (row.stack, row.layer) == (stack, index)), None)


def _order(blocks: tuple[Block, ...]) -> Order:
    if not blocks:
        return ""
    if any({"attention", "feed-forward"} <= set(block.kinds) for block in blocks):
        return "parallel"
    before = [bool(block.norms_before) for block in blocks]
    within = [bool(block.norms_within) for block in blocks]
    behind = [bool(block.norms_behind) for block in blocks]
    if all(behind) and not any(before) and not any(within):
        return "post-norm"
    if any(behind):
        return ""
    if all(before) and all(within):
        return "norms on both sides"
    # ModernBERT leaves out the first norm of layer 0: the embeddings' own has just been.
    return "pre-norm" if all(before[1:]) and len(before) > 1 and not any(within) else ""
