"""Results about a model's architecture: sizes, design, module tree, shapes and layer flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

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

    @property
    def order(self) -> Order:
        """Position of the normalisations."""
        return _order(self.blocks)


@dataclass(frozen=True, slots=True)
class StreamTable:
    """An embedding table."""

    name: str
    role: Literal["word", "position", "token type", "other"]
    """Index of its rows."""
    rows: int


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model."""

    model_class: str
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
    types: Types
    """How token types enter."""
    keeps_tokens: bool
    """Whether every layer has a vector per token."""
    pooler: bool
    """Whether the base class has a pooler, even if this class does not."""
    base_class: str
    recorded: bool
    """Whether every layer passes query, key and value, without unsupported arguments, to transformers' exchangeable
    attention function."""
    sinks: bool = False

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


@dataclass(frozen=True, slots=True)
class Capability:
    """A property of a model."""

    name: str
    """Name of the property, such as "Pooler"."""
    answer: str
    """Its value, such as "yes", "no", "rotary", "12 applications of 1 block"."""
    note: str
    """Its meaning, one sentence."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of a model; None if the family has no such size."""

    model: str
    """Name under which the model was requested."""
    title: str
    """Display name of the family."""
    model_type: str
    """Hugging Face's word for the family."""
    architecture: str
    """Class of the model."""
    kind: str
    """Its source: "bundled", "local", "example", "catalogue", "cache" or "hub"."""
    num_hidden_layers: int | None
    """Layers of a forward pass."""
    num_attention_heads: int | None
    """Heads of a layer."""
    head_dim: int | None
    """Size of a query, key or value vector."""
    hidden_size: int | None
    """Size of a hidden state."""
    embedding_size: int | None
    """Size of a row of the vocabulary table."""
    intermediate_size: int | None
    """Intermediate size of the feed-forward block."""
    vocab_size: int | None
    """Size of the vocabulary."""
    max_position_embeddings: int | None
    """Positions according to the config."""
    type_vocab_size: int | None
    """Token types (segments); 0 if the family has none."""
    hidden_act: str | None
    """Activation of the feed-forward block."""
    config_class: str
    """Class named by the config; "" if there is none."""
    has_pooler: bool
    """Whether a pooler follows the last layer."""
    facts: ModelFacts | None
    """Facts from its dataflow; None if it cannot be run without weights."""
    capabilities: tuple[Capability, ...]
    """Properties of the model."""


DesignKind = Literal["encoder", "encoder-decoder", "decoder"]
"""Bidirectional attention, both, or causal attention."""


@dataclass(frozen=True, slots=True)
class Design:
    """The stacks of a model and their attention."""

    kind: DesignKind
    encoder_layers: int
    """Layers of the encoder in a forward pass; 0 for a decoder-only model."""
    decoder_layers: int
    """Layers of the decoder in a forward pass; 0 for an encoder-only model."""
    cross_attention: bool
    """Whether the decoder attends to an encoder, its own or that of another model."""
    mixes: bool
    """Whether some of its layers mix tokens without attention (Fourier transform, recurrence)."""
    local_layers: int
    """Layers with local attention."""
    order: Order = ""
    """Position of the normalisations; "" if the layers differ or it is unknown."""
    window: Window | None = None
    """Window of most local layers; None if there are none."""
    encoder_norm: bool = False
    """Whether a normalisation follows the encoder's last layer."""
    decoder_norm: bool = False
    """Whether a normalisation follows the decoder's last layer."""
    pooler: bool = False
    """Whether the output passes a pooler."""
    head: str = ""
    """Display name of its task head; "" for a class without one."""
    output: str = "a vector per token"


LM_HEAD, NEXT_TOKEN = "language model head", "the next token"
"""The head of a generative model, and its output."""
DeviceMode = Literal["meta", "zeros"]
"""How a model was run without weights: on the meta device, or with zero weights."""
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ModuleWeight:
    """A parameter of a module."""

    name: str
    """Name in the module, such as "weight"."""
    shape: Shape
    tied_to: str | None
    """Name of the parameter that it is tied to, which is counted instead."""


@dataclass(frozen=True, slots=True)
class ModuleRow:
    """A module of the tree, or several equal ones that are folded."""

    id: str
    """Unique dotted path, with a range for folded modules ("encoder.layer.0-11"); "" for the model itself."""
    parent: str | None
    """The id of its parent; None for the model itself."""
    depth: int
    """Depth in the tree; 0 for the model itself."""
    name: str
    """Last part of the path."""
    class_name: str
    repeats: int
    """Number of modules that it represents."""
    paths: tuple[str, ...]
    """Dotted paths of all modules that it represents, including those of folded parents."""
    head: str
    """Its line in print(model), without name and repeats."""
    extra: tuple[str, ...]
    """Further lines in print(model) before its children."""
    closes: bool
    """Whether its closing bracket has its own line."""
    numel: int
    """Parameters of all modules that it represents, tied and shared ones counted once: the sum over its children and
    own weights."""
    weights: tuple[ModuleWeight, ...]
    """Parameters of the (first) module without those of its children."""
    part: str
    """Component or part of a layer, for its colour; "" for several."""


@dataclass(frozen=True, slots=True)
class ModuleTree:
    """All modules of a model; parents come before their children."""

    model: str
    architecture: str
    rows: tuple[ModuleRow, ...]
    """The modules in the order of print(model)."""
    total: int
    """Parameters, tied ones counted once."""


@dataclass(frozen=True, slots=True)
class ModuleShape:
    """Shapes through a module in a run; inputs and outputs are those of its first call."""

    inputs: tuple[tuple[str, Shape], ...]
    """(argument name, shape) of every input tensor."""
    outputs: tuple[Shape, ...]
    """Shape of every output tensor."""
    entered: tuple[Shape, ...]
    """Shape of the first input tensor of every call; () for a call without one."""

    @property
    def calls(self) -> int:
        """Number of calls."""
        return len(self.entered)


@dataclass(frozen=True, slots=True)
class ShapeRun:
    """Shapes through all modules in a run on one text."""

    modules: Mapping[str, ModuleShape]
    """Dotted path -> shapes, in the order of the calls."""
    seq: int
    device_mode: DeviceMode
    decoder_tokens: int
    """Tokens of the decoder; 0 for a model without one."""
    batch_axes: Mapping[str, tuple[int | None, int | None]]
    """Dotted path -> axis of the batch in its first input and first output; None if there is none. Some families have
    the tokens first."""

    def text_shapes(self, path: str) -> tuple[Shape | None, Shape | None]:
        """The shapes of the first input and output of a module without the batch axis; None if unknown."""
        shapes = self.modules[path]
        entering, leaving = self.batch_axes.get(path, (None, None))
        return (
            _without_batch(shapes.inputs[0][1], entering) if shapes.inputs else None,
            _without_batch(shapes.outputs[0], leaving) if shapes.outputs else None,
        )


def _without_batch(shape: Shape, axis: int | None) -> Shape:
    """The shape without an axis, or without a leading one of size 1, to which a table is broadcast."""
    if axis is None:
        return shape[1:] if len(shape) > 2 and shape[0] == 1 else shape
    return shape[:axis] + shape[axis + 1 :]


@dataclass(frozen=True, slots=True)
class FlowStep:
    """A step of a layer."""

    kind: str
    """"norm", "projection", "attention_output", "attention_other", "feed_forward", "activation", "mixing", "other"."""
    name: str
    """Path inside the layer."""
    class_name: str
    part: str
    """Part of the layer, for its colour."""
    weights: tuple[Shape, ...]
    numel: int
    enters: Shape | None
    """Input shape without the batch axis; None if unknown."""
    leaves: Shape | None
    """Output shape without the batch axis."""


@dataclass(frozen=True, slots=True)
class FlowRemainder:
    """Parameters of a module of a layer that belong to none of its steps."""

    module: str
    """Path inside the layer."""
    names: tuple[str, ...]
    numel: int
    called: bool
    """Whether the run calls the module."""


@dataclass(frozen=True, slots=True)
class LayerFlow:
    """The dataflow of a layer."""

    model: str
    title: str
    """Display name of the family."""
    layer: int
    """Zero-based index among the stored layers."""
    paths: tuple[str, ...]
    """Dotted paths of the modules of the layer; several if a family has a list for each part."""
    class_name: str
    """Class of the module, or of each of them."""
    order: Order
    """Position of the normalisations; "" if the residual connections are not known."""
    steps: tuple[FlowStep, ...]
    """Steps with parameters, and activations, in the order of the run."""
    blocks: tuple[Block, ...]
    """Its blocks with their normalisations; empty if they are not known."""
    softmax: bool
    """Whether it has ordinary softmax attention."""
    scaling: float | None
    """Factor of the product of query and key; None if unknown."""
    gated: bool
    activation: str
    num_attention_heads: int | None
    head_dim: int | None
    hidden: int | None
    """Size of the input vectors."""
    window: Window | None
    """Attention window; None for full attention."""
    positions: tuple[Position, ...]
    """Positions in this layer: "relative", "rotary"."""
    seq: int
    vectors: int
    """Number of input vectors: one per token, fewer after pooling, more with padding."""
    applications: int
    """Applications of the layer in a forward pass."""
    total: int
    """Parameters of the layer: the sum over steps and remainders."""
    remainders: tuple[FlowRemainder, ...] = ()
    """Parameters outside the steps, such as modules for global attention, or for entities, that a plain text skips."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Multiply-adds of one forward pass on n tokens, as per_pair * n² + per_token * n + per_text."""

    per_pair: int = 0
    per_token: int = 0
    per_text: int = 0
    """Multiply-adds for each text, regardless of its length."""

    def at(self, seq: int) -> int:
        """Total for `seq` tokens."""
        return self.per_pair * seq * seq + self.per_token * seq + self.per_text


@dataclass(frozen=True, slots=True)
class LayerAttention:
    """Cost of the scores and the mixing of values of a layer for each pair of tokens."""

    path: str
    per_pair: int
    """Multiply-adds for a pair of tokens, summed over all heads and applications of the layer."""
    window: Window | None
    """Attention window; None for full attention."""


@dataclass(frozen=True, slots=True)
class OperationTerms:
    """The formula for the multiply-adds of one forward pass on n tokens, part by part."""

    model: str
    model_class: str
    projections: Growth
    """Projections of query, key, value and output."""
    feed_forward: Growth
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
    projections: Int[np.ndarray, " lengths"]
    """Multiply-adds of the query, key, value and output projections."""
    attention: Int[np.ndarray, " lengths"]
    """Multiply-adds of scores and mixing of values; within windows for the formula."""
    every_pair: Int[np.ndarray, " lengths"]
    """The same for all pairs of tokens, as PyTorch counts."""
    feed_forward: Int[np.ndarray, " lengths"]
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


Holding = Literal["inference", "training"]
"""Peak memory of a forward pass without gradients, or all tensors saved for the backward pass."""


@dataclass(frozen=True, slots=True, eq=False)
class ActivationMemory:
    """Bytes of activations by batch and length, in float32 with eager attention."""

    model: str
    holding: Holding
    batches: tuple[int, ...]
    """Batch sizes, the rows of nbytes."""
    lengths: tuple[int, ...]
    """Tokens of each text, the columns of nbytes."""
    nbytes: Int[np.ndarray, "batches lengths"]
    """Bytes; -1 if the run was too large."""
