"""Facts about a model that a run of its modules tells."""

from dataclasses import dataclass
from typing import Literal

BlockKind = Literal["attention", "cross-attention", "feed-forward", "mixing", "other"]
"""What a residual connection goes around; "mixing" is tokens mixed without attention."""
Order = Literal["post-norm", "pre-norm", "norms on both sides", "parallel", ""]
"""Where normalisations stand beside the residual connections; "" where a layer follows none of these."""
Position = Literal["absolute", "relative", "rotary"]
"""How positions enter: a vector added to the token's, a term of the scores, queries and keys turned."""
Types = Literal["table", "words", "scores", ""]
"""How token types enter: a table of their own, rows of the vocabulary table, a term of the scores, not at all."""


@dataclass(frozen=True, slots=True)
class Window:
    """How far a token sees; None for no limit."""

    before: int | None
    """Tokens before it."""
    after: int | None
    """Tokens after it."""

    @property
    def limited(self) -> bool:
        """Whether a token sees a window of neighbours only, causal masks aside."""
        return self.before is not None


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between a residual connection's start and its addition, and the normalisations around it."""

    kinds: tuple[BlockKind, ...]
    """What it does; two kinds where both read the same vectors."""
    norms_before: tuple[str, ...]
    """Normalisations that the block begins with; the residual connection starts before them."""
    norms_within: tuple[str, ...]
    """Normalisations that the block's result passes before it is added."""
    norms_behind: tuple[str, ...]
    """Normalisations of the sum."""
    modules: tuple[str, ...]
    """All modules with parameters, and activations, that the block passes."""


@dataclass(frozen=True, slots=True)
class AttentionFacts:
    """The attention of one layer to the text itself."""

    softmax: bool
    """Whether it is the ordinary one: softmax over scaled products of all queries and keys."""
    scaling: float | None
    """Factor of every product of a query and a key; None where it is not told."""
    positions: tuple[Position, ...]
    """How positions enter here: "relative", "rotary"."""
    types: bool
    """Whether token types change the scores."""
    window: Window | None
    """How far a token sees; None where no mask tells."""


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """One stored layer."""

    stack: str
    """"encoder" or "decoder"."""
    layer: int
    """Zero-based index in its stack."""
    blocks: tuple[Block, ...]
    """Its blocks in the order of the run; empty where the way through it is no chain of residual connections."""
    attention: AttentionFacts | None
    """Its attention; None where no softmax over tokens was seen."""
    gated: bool
    """Whether its feed-forward block multiplies two halves."""

    @property
    def order(self) -> Order:
        """Where the normalisations stand."""
        return _order(self.blocks)


@dataclass(frozen=True, slots=True)
class StreamTable:
    """A table whose rows are looked up for the tokens, on the way to the first layer."""

    name: str
    """Name of the parameter."""
    role: Literal["word", "position", "token type", "other"]
    """What its rows are looked up by."""
    rows: int
    """Rows of the table."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a run of a model tells of it."""

    model_class: str
    """Class that was run."""
    tables: tuple[StreamTable, ...]
    """Tables that make the vectors that enter the first layer, in the order of the run."""
    before: tuple[str, ...]
    """Modules with parameters that these vectors pass before the first layer."""
    encoder_behind: tuple[str, ...]
    """Modules with parameters that the vectors of the encoder's last layer pass before they are handed out."""
    decoder_behind: tuple[str, ...]
    """The same of the decoder."""
    layers: tuple[LayerFacts, ...]
    """The layers, stack by stack."""
    positions: tuple[Position, ...]
    """How positions enter, on any way; empty where on none that is known."""
    learned_positions: bool
    """Whether the vectors of positions are rows of a learned table."""
    types: Types
    """How token types enter."""
    keeps_tokens: bool
    """Whether every layer has a vector per token."""
    pooler: bool
    """Whether the base class has a pooler, which this class may leave out."""
    base_class: str
    """The family's class without a task head."""
    recorded: bool
    """Whether every layer hands query, key and value, and nothing else that matters, to transformers' exchangeable
    attention function."""
    sinks: bool = False
    """Whether heads also look at something that is no token."""

    def layer(self, stack: str, index: int) -> LayerFacts | None:
        """The facts of one layer; None where there are none."""
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
