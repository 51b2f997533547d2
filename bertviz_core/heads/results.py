"""Results about heads: projections by head, norms, breakdowns of attention scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

Positions = Literal["as projected", "rotated", "changed"]
"""How query and key are changed between projection and product: only by a factor; by a rotation, which preserves their
length (rotary positions); otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreBreakdown:
    """All numbers from two vectors to an attention weight."""

    query_input: Float[np.ndarray, " hidden"]
    """x_i: the vector of the query token."""
    key_input: Float[np.ndarray, " key_hidden"]
    """x_j: the vector of the key token."""
    query_projected: Float[np.ndarray, " head_dim"]
    """The head's rows of W_q times x_i, plus bias."""
    key_projected: Float[np.ndarray, " head_dim"]
    """The head's rows of W_k times x_j, plus bias."""
    positions: Positions
    """How both are changed before the product."""
    query_factor: float
    """Factor of the query before the product; 1 in most families, head_dim ** -0.5 in ESM."""
    projection_difference: float | None
    """Largest difference between the vectors computed here and those of the model, of values, or of lengths if they are
    rotated; None if those of the model are unknown."""
    query: Float[np.ndarray, " head_dim"]
    """q_i in the product."""
    key: Float[np.ndarray, " head_dim"]
    """k_j in the product."""
    products: Float[np.ndarray, " head_dim"]
    """Elementwise product of q_i and k_j."""
    total: float
    """Their sum, the dot product."""
    scaling: float
    """Factor of the sum, 1 / sqrt(head_dim) in most families."""
    scaled: float
    """total * scaling."""
    added: float
    """Added term; -inf for a masked key."""
    added_name: str
    """Name of the added term; "" if nothing is added for this query."""
    is_remainder: bool
    """Whether the added term is inferred from the model's weights."""
    added_peak: float
    """Largest finite magnitude of the added terms for this query."""
    score: float
    """scaled + added; for a remainder only differences within the row are meaningful."""
    scores: Float[np.ndarray, " seq"]
    """The score of every key for this query."""
    weights: Float[np.ndarray, " seq"]
    """softmax(scores), which sums to 1 with the share of an attention sink."""
    model_weights: Float[np.ndarray, " seq"]
    """The same row of the attention map."""
    max_difference: float
    """Largest difference of the two rows."""
    sink: float | None = None
    """Score of the head's attention sink, which stands in the softmax beside those of the keys; None without one."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadOutput:
    """Output of a head for a row of weights: mixed values, and their contribution to the residual stream."""

    values: Float[np.ndarray, "seq value_dim"]
    """v_j of every token."""
    mix: Float[np.ndarray, " value_dim"]
    """sum over j of weight_j v_j."""
    head_output: Float[np.ndarray, " output_hidden"]
    """The head's columns of W_o times the mix: its part of the attention output."""
    head_norms: Float[np.ndarray, " heads"]
    """Length of that part for every head, at the same query."""
    mix_difference: float | None
    """Largest difference of all mixes from the recorded input of W_o; None if it cannot be recorded."""
    output_difference: float | None
    """Largest difference of the sum over all heads, plus bias and rest, from the recorded output of W_o."""
    rest_norm: float
    """Length of the part of the output that belongs to no head (a convolution); usually 0."""


@dataclass(frozen=True, slots=True, eq=False)
class CellBreakdown:
    """Breakdown of one attention weight."""

    model: str
    layer: int
    head: int
    key_head: int
    """Key and value head of this head; the same number unless heads share them."""
    query_position: int
    key_position: int
    score: ScoreBreakdown
    output: HeadOutput


Block = Literal["query", "key", "value", "output"]
BLOCKS: tuple[Block, ...] = ("query", "key", "value", "output")
"""The four matrices of an attention layer, in the order of every axis over them."""


@dataclass(frozen=True, slots=True)
class StoredMatrix:
    """How one of the four matrices is stored."""

    name: str
    shape: tuple[int, ...]
    form: str
    """How the matrix is obtained, such as "as stored", "rows 0 to 767 of 2,304"."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadProjections:
    """The projections of a layer, split into heads; rows are outputs.

    Row r of W_q is row r % head_dim of head r // head_dim; column c of W_o is column c % value_dim of head
    c // value_dim.
    """

    model: str
    """Name of the model."""
    layer: int
    """Zero-based."""
    shared_with: tuple[int, ...]
    """All layers that use these weights, including this one."""
    query: Float[np.ndarray, "heads head_dim hidden"]
    """W_q by rows."""
    key: Float[np.ndarray, "key_heads head_dim key_hidden"]
    """W_k by rows; key_heads divides heads if heads share key heads."""
    value: Float[np.ndarray, "key_heads value_dim value_hidden"]
    """W_v by rows."""
    output: Float[np.ndarray, "heads output_hidden value_dim"]
    """W_o by columns."""
    query_bias: Float[np.ndarray, "heads head_dim"] | None
    """Bias of W_q; None if there is none."""
    key_bias: Float[np.ndarray, "key_heads head_dim"] | None
    """Bias of W_k."""
    value_bias: Float[np.ndarray, "key_heads value_dim"] | None
    """Bias of W_v."""
    output_bias: Float[np.ndarray, " output_hidden"] | None
    """Bias of W_o, which belongs to no head."""
    output_rest: Float[np.ndarray, "output_hidden rest"]
    """Columns of W_o that belong to no head (ConvBERT's convolutions); none in most families."""
    norms: Float[np.ndarray, "heads blocks"]
    """Frobenius norm of each head's block of W_q, W_k, W_v, W_o; a shared key head counts for each of its heads."""
    stored: Mapping[Block, StoredMatrix]
    """How each of BLOCKS is stored."""

    @property
    def num_heads(self) -> int:
        """Heads of the layer."""
        return len(self.query)

    @property
    def head_dim(self) -> int:
        """Size of a query or key vector."""
        return int(self.query.shape[1])

    def blocks(self, block: Block) -> np.ndarray:
        """One of the four matrices, with a first axis of heads (or key heads)."""
        blocks: np.ndarray = getattr(self, block)
        return blocks

    def matrix(self, block: Block) -> np.ndarray:
        """One of the four matrices as a whole; rows are outputs."""
        blocks = self.blocks(block)
        if block != "output":
            return blocks.reshape(-1, blocks.shape[-1])
        columns = blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)
        return np.concatenate([columns, self.output_rest], axis=1) if self.output_rest.size else columns

    def bias(self, block: Block) -> np.ndarray | None:
        """The bias of one of the four matrices; None if there is none."""
        bias: np.ndarray | None = getattr(self, f"{block}_bias")
        return bias


@dataclass(frozen=True, slots=True)
class HeadParameters:
    """Number of parameters of a head and of the projections of its layer."""

    per_head: Mapping[Block, int]
    """Parameters of each of BLOCKS for one head, including its bias (the output bias belongs to no head)."""
    heads: Mapping[Block, int]
    """Number of such blocks; fewer for key and value if heads share them."""
    outside_heads: int
    """Parameters that belong to no head: the output bias, further columns of W_o."""
    total: int
    """Parameters of the four projections: the sum of per_head x heads, and outside_heads."""


@dataclass(frozen=True, slots=True, eq=False)
class FusedVsPerHead:
    """A projection computed as one product that is split, and as one product per head."""

    model: str
    layer: int
    block: Block
    inputs: Float[np.ndarray, "seq hidden"]
    """Recorded inputs of the projection."""
    fused: Float[np.ndarray, "heads seq dim"]
    """inputs @ W^T + b in one product, then split."""
    per_head: Float[np.ndarray, "heads seq dim"]
    """inputs @ W_h^T + b_h for each head."""
    max_difference: float
    """Largest difference of the two; rounding only."""
    model_difference: float | None
    """Largest difference of `fused` from the recorded output; None if it cannot be recorded."""


@dataclass(frozen=True, slots=True)
class ProductTimes:
    """Durations of both computations on one thread."""

    fused_seconds: float
    """Shortest duration of the large product."""
    per_head_seconds: float
    """Shortest duration of all small products together."""
    runs: int


@dataclass(frozen=True, slots=True, eq=False)
class LayerRun:
    """Recorded inputs and outputs of the projections of a layer."""

    query_input: Float[np.ndarray, "seq hidden"]
    """Input of W_q, after the normalisation of a pre-norm layer."""
    key_input: Float[np.ndarray, "seq key_hidden"]
    """Input of W_k."""
    value_input: Float[np.ndarray, "seq value_hidden"]
    """Input of W_v."""
    query: Float[np.ndarray, "seq rows"] | None
    """Output of W_q; None if it is a bare tensor, which a hook cannot record."""
    key: Float[np.ndarray, "seq key_rows"] | None
    """Output of W_k."""
    value: Float[np.ndarray, "seq value_rows"] | None
    """Output of W_v."""
    mixed: Float[np.ndarray, "seq columns"] | None
    """Input of W_o: the concatenated outputs of all heads; None if the run is changed or W_o bare."""
    output: Float[np.ndarray, "seq output_hidden"] | None
    """Output of W_o, including its bias."""
