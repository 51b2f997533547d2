"""Results about a model's architecture: sizes, design, module tree, shapes and layer flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bertviz_core.architecture.structure.results import Block, ModelFacts, Order, Position, Window


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
    """Class whose parameters are there."""
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
    config_class: str
    """Class that the config names; "" where it names none."""
    has_pooler: bool
    """Whether a pooler follows the last layer."""
    facts: ModelFacts | None
    """What a run of its modules tells; None where they cannot be run without weights."""
    capabilities: tuple[Capability, ...]
    """What this model has and lacks, in words."""


DesignKind = Literal["encoder", "encoder-decoder", "decoder"]
"""Who sees whom: every token all others; both; every token itself and those before."""


@dataclass(frozen=True, slots=True)
class Design:
    """Which stacks a model has and how far their tokens see."""

    kind: DesignKind
    """Which of the three."""
    encoder_layers: int
    """Layers of the encoder that one run passes; 0 for a decoder alone."""
    decoder_layers: int
    """Layers of the decoder that one run passes; 0 for an encoder alone."""
    cross_attention: bool
    """Whether the decoder attends to vectors of an encoder, its own or another model's."""
    mixes: bool
    """Whether its layers mix tokens in another way than attention (Fourier transform, recurrence), in part at least."""
    local_layers: int
    """Layers of the encoder, or of a decoder that stands alone, in which a token sees a window of neighbours only."""
    order: Order = ""
    """Where the normalisations of its layers stand; "" where they differ or are not told."""
    window: Window | None = None
    """How far a token sees in most of the local layers; None where there are none."""
    encoder_norm: bool = False
    """Whether a normalisation follows the encoder's last layer."""
    decoder_norm: bool = False
    """Whether a normalisation follows the decoder's last layer."""
    pooler: bool = False
    """Whether what comes out has passed a pooler."""
    head: str = ""
    """What its task head is, in words; "" for a class without one."""
    given: str = "a vector per token"
    """What comes out, in words."""


LM_HEAD, NEXT_TOKEN = "language model head", "the next token"
"""The head of a model that writes, and what it gives."""
DeviceMode = Literal["meta", "zeros"]
"""How a model without its values was run: on torch's meta device, or with every weight a shared 0."""
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ModuleWeight:
    """One parameter that a module holds itself."""

    name: str
    """Name in the module, such as "weight"."""
    shape: Shape
    """Size of every axis."""
    tied_to: str | None
    """Name of the parameter whose values it shares; counted there, not here."""


@dataclass(frozen=True, slots=True)
class ModuleRow:
    """One module of the printed tree, or a run of equal ones that stand folded into one."""

    id: str
    """Dotted path, unique; the number of a fold is a range ("encoder.layer.0-11"); "" is the model itself."""
    parent: str | None
    """The id of the module around it; None for the model itself."""
    depth: int
    """Modules around it: 0 for the model itself."""
    name: str
    """Its own part of the path."""
    class_name: str
    """Class of the module."""
    repeats: int
    """How many equal modules the row stands for; 1 for a module of its own."""
    paths: tuple[str, ...]
    """Dotted paths of all modules that the row stands for, folds around it included."""
    head: str
    """What PyTorch prints on its line behind the name and the repeats."""
    extra: tuple[str, ...]
    """Lines that PyTorch prints below the head, before the modules inside."""
    closes: bool
    """Whether a bracket closes it on a line of its own."""
    numel: int
    """Parameters of all modules that it stands for, tied and shared ones counted once; children and own weights add
    up to it."""
    weights: tuple[ModuleWeight, ...]
    """Parameters that the (first) module holds itself, not those of the modules inside."""
    part: str
    """Component or part of a layer that it belongs to, as figures colour it; "" for several."""


@dataclass(frozen=True, slots=True)
class ModuleTree:
    """All modules of a model, each behind the one around it."""

    model: str
    """Name under which the model was asked for."""
    architecture: str
    """Class of the model."""
    rows: tuple[ModuleRow, ...]
    """The modules in the order of print(model)."""
    total: int
    """Parameters, tied ones counted once."""


@dataclass(frozen=True, slots=True)
class ModuleShape:
    """Shapes that went through one module in a run; inputs and outputs are those of its first call."""

    inputs: tuple[tuple[str, Shape], ...]
    """(name of the argument, shape) of every tensor that went in, in the order of the call."""
    outputs: tuple[Shape, ...]
    """Shape of every tensor that came out."""
    entered: tuple[Shape, ...]
    """Shape of the first tensor that went in, call by call; () for a call without one."""

    @property
    def calls(self) -> int:
        """How many times the run called it."""
        return len(self.entered)


@dataclass(frozen=True, slots=True)
class ShapeRun:
    """Shapes through all modules that one run called, the batch axis first."""

    modules: Mapping[str, ModuleShape]
    """Dotted path -> shapes, in the order in which the modules were entered."""
    seq: int
    """Tokens of the text."""
    device_mode: DeviceMode
    """How the model was run."""
    decoder_tokens: int
    """Tokens given to the decoder; 0 for a model without one."""


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step of a layer, in the order of the run."""

    kind: str
    """"norm", "projection", "attention_output", "attention_other", "feed_forward", "activation", "mixing", "other"."""
    name: str
    """Path inside the layer."""
    class_name: str
    """Class of the module."""
    part: str
    """Part of the layer, as figures colour it."""
    weights: tuple[Shape, ...]
    """Shapes of its parameters."""
    numel: int
    """Parameters in it."""
    enters: Shape | None
    """Shape that goes in, the batch axis left out; None where it was not told."""
    leaves: Shape | None
    """Shape that comes out, the batch axis left out."""


@dataclass(frozen=True, slots=True)
class LayerFlow:
    """The data's way through one layer."""

    model: str
    """Name of the model."""
    title: str
    """The family in prose."""
    layer: int
    """Zero-based index among the stored layers."""
    paths: tuple[str, ...]
    """Dotted paths of the modules that make the layer; several where a family lists its parts one by one."""
    class_name: str
    """Class of the layer's module, or of each of them."""
    order: Order
    """Where the normalisations stand; "" where the steps follow no chain of residual connections."""
    steps: tuple[FlowStep, ...]
    """Every step that has parameters or is an activation, in the order of the run."""
    blocks: tuple[Block, ...]
    """Its blocks and the normalisations around them; empty where the steps stand in the order of the run."""
    softmax: bool
    """Whether attention is the ordinary one: softmax over the products of queries and keys."""
    scaling: float | None
    """Factor of every product of a query and a key; None where it is not told."""
    gated: bool
    """Whether the feed-forward block multiplies two halves, one of them behind the activation."""
    activation: str
    """Name of the activation."""
    num_attention_heads: int | None
    """Heads."""
    head_dim: int | None
    """Numbers of a query, key or value vector of one head."""
    hidden: int | None
    """Numbers of a token's vector that enters the layer."""
    window: Window | None
    """How far a token sees; None for all of the text."""
    positions: tuple[Position, ...]
    """How positions enter in this layer: "relative", "rotary"."""
    seq: int
    """Tokens of the text."""
    vectors: int
    """Vectors that enter the layer: one per token, fewer where a family pools, more where it pads."""
    applications: int
    """How many times one run passes this layer."""
    total: int
    """Parameters of the layer."""
