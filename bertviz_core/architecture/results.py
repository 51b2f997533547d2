"""Results about a model's architecture: sizes, design, module tree, shapes and layer flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bertviz_core.architecture.structure.results import Block, ModelFacts, Order, Position, Window


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
    """Kind of model."""
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
    """Description of the output."""


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
    """Size of every axis."""
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
    """Class of the module."""
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
    """Name under which the model was requested."""
    architecture: str
    """Class of the model."""
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
    """Tokens of the text."""
    device_mode: DeviceMode
    """How the model was run."""
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
    """Class of the module."""
    part: str
    """Part of the layer, for its colour."""
    weights: tuple[Shape, ...]
    """Shapes of its parameters."""
    numel: int
    """Number of parameters."""
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
    """Names of the parameters in the module."""
    numel: int
    """Their number."""
    called: bool
    """Whether the run calls the module."""


@dataclass(frozen=True, slots=True)
class LayerFlow:
    """The dataflow of a layer."""

    model: str
    """Name of the model."""
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
    """Whether the feed-forward block is gated."""
    activation: str
    """Name of the activation."""
    num_attention_heads: int | None
    """Heads."""
    head_dim: int | None
    """Size of a query, key or value vector."""
    hidden: int | None
    """Size of the input vectors."""
    window: Window | None
    """Attention window; None for full attention."""
    positions: tuple[Position, ...]
    """Positions in this layer: "relative", "rotary"."""
    seq: int
    """Tokens of the text."""
    vectors: int
    """Number of input vectors: one per token, fewer after pooling, more with padding."""
    applications: int
    """Applications of the layer in a forward pass."""
    total: int
    """Parameters of the layer: the sum over steps and remainders."""
    remainders: tuple[FlowRemainder, ...] = ()
    """Parameters outside the steps, such as modules for global attention, or for entities, that a plain text skips."""
