"""Results that describe a model as a whole: its sizes and what its family has and lacks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing that a model has or lacks."""

    name: str
    """What is asked, such as "Pooler"."""
    answer: str
    """What this model has, such as "yes", "no", "rotary", "12 applications of 1 block"."""
    note: str
    """One sentence on what it means."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of one model, from its config and its ledger; None where the family has no such size."""

    model: str
    """Name under which the model was asked for."""
    title: str
    """The family in prose."""
    model_type: str
    """Hugging Face's word for the family."""
    architecture: str
    """Class of the model."""
    kind: str
    """Where it comes from: "bundled", "local", "catalogue", "cache", "hub"."""
    num_hidden_layers: int | None
    """Layers that a forward pass runs."""
    num_attention_heads: int | None
    """Heads of a layer."""
    head_dim: int | None
    """Numbers of a query, key or value vector of one head."""
    hidden_size: int | None
    """Numbers of a token's vector between layers."""
    embedding_size: int | None
    """Numbers of a word's vector in the embedding table."""
    intermediate_size: int | None
    """Numbers in the middle of the feed-forward block."""
    vocab_size: int | None
    """Tokens in the vocabulary."""
    max_position_embeddings: int | None
    """Positions that the config states."""
    type_vocab_size: int | None
    """Token types (segments); 0 where the family has none."""
    hidden_act: str | None
    """Activation of the feed-forward block."""
    has_pooler: bool
    """Whether a pooler follows the last layer."""
    norm_first: bool
    """Whether a layer normalises before its blocks, not behind them."""
    encoder_only: bool
    """Whether it is an encoder without a decoder."""
    capabilities: tuple[Capability, ...]
    """What the family has and lacks."""
