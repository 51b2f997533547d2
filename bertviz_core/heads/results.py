"""Results of looking into the heads of a layer: projections cut into heads, norms, what a run gave them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

Positions = Literal["as projected", "rotated", "changed"]
"""What happens to query and key between projection and product: nothing but a factor; a rotation, which keeps their
length (rotary positions); something else."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreBreakdown:
    """How one attention weight comes about, from two vectors to a probability, every number on the way."""

    query_input: Float[np.ndarray, " hidden"]
    """x_i: the vector of the query token."""
    key_input: Float[np.ndarray, " key_hidden"]
    """x_j: the vector of the key token."""
    query_projected: Float[np.ndarray, " head_dim"]
    """The head's rows of W_q times x_i, plus bias."""
    key_projected: Float[np.ndarray, " head_dim"]
    """The head's rows of W_k times x_j, plus bias."""
    positions: Positions
    """What happens to both before they are multiplied."""
    query_factor: float
    """What the query is multiplied with before the product; 1 in most families, head_dim ** -0.5 in ESM."""
    projection_difference: float | None
    """Largest difference between what was computed here and what the model multiplied: of the numbers, or of the
    vectors' lengths where they were rotated; None where the model's are not known."""
    query: Float[np.ndarray, " head_dim"]
    """q_i as it is multiplied."""
    key: Float[np.ndarray, " head_dim"]
    """k_j as it is multiplied."""
    products: Float[np.ndarray, " head_dim"]
    """q_i k_i, number by number."""
    total: float
    """Their sum, the dot product."""
    scaling: float
    """What the sum is multiplied with, 1 / sqrt(head_dim) in most families."""
    scaled: float
    """total * scaling."""
    added: float
    """What is added to it; -inf for a masked key."""
    added_name: str
    """What it is that is added; "" where nothing is added to any key of this query."""
    is_remainder: bool
    """Whether the added term is not read from the model but worked out backwards from its weights."""
    added_peak: float
    """Largest absolute finite value that is added to a key of this query."""
    score: float
    """scaled + added; of a remainder only differences within the row have a meaning."""
    scores: Float[np.ndarray, " seq"]
    """The score of every key for this query."""
    weights: Float[np.ndarray, " seq"]
    """softmax(scores): the row of attention, sums to 1."""
    model_weights: Float[np.ndarray, " seq"]
    """The same row in the attention map that the other pages show."""
    max_difference: float
    """Largest absolute difference of the two rows."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadOutput:
    """What a head makes of its row of weights: a mix of values, and what it adds to the residual stream."""

    values: Float[np.ndarray, "seq value_dim"]
    """v_j of every token, of this head."""
    mix: Float[np.ndarray, " value_dim"]
    """sum over j of weight_j v_j."""
    head_output: Float[np.ndarray, " output_hidden"]
    """The head's columns of W_o times the mix: this head's part of the layer's attention output."""
    head_norms: Float[np.ndarray, " heads"]
    """Length of that part for every head, at the same query."""
    mix_difference: float | None
    """Largest difference of the mixes of all heads to what the model hands to W_o; None where it cannot be recorded."""
    output_difference: float | None
    """Largest difference of the sum over all heads, plus bias and rest, to what W_o really gave."""
    rest_norm: float
    """Length of what comes out of W_o from no head's mix (a convolution beside or behind attention); 0 mostly."""


@dataclass(frozen=True, slots=True, eq=False)
class CellBreakdown:
    """One cell of attention: layer, head, query token and key token."""

    model: str
    """Name of the model."""
    layer: int
    """Zero-based."""
    head: int
    """Zero-based."""
    key_head: int
    """Which key and value head this head uses; the same number unless heads share them."""
    query_position: int
    """Position of the query token."""
    key_position: int
    """Position of the key token."""
    score: ScoreBreakdown
    """From two vectors to one weight."""
    output: HeadOutput
    """From the row of weights to the head's output."""


Block = Literal["query", "key", "value", "output"]
BLOCKS: tuple[Block, ...] = ("query", "key", "value", "output")
"""The four matrices of an attention layer, in this order wherever an axis runs over them."""


@dataclass(frozen=True, slots=True)
class StoredMatrix:
    """Where one of the four matrices stands in the checkpoint."""

    name: str
    """Name of the parameter."""
    shape: tuple[int, ...]
    """Its shape as it is stored."""
    form: str
    """How the matrix is read out of it, such as "as stored", "rows 0 to 767 of 2,304"."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadProjections:
    """The projections of one layer, cut into heads the way the model cuts them; rows are what comes out.

    Side by side the blocks are the matrix again: row r of W_q is row r % head_dim of head r // head_dim, column c of
    W_o is column c % value_dim of head c // value_dim.
    """

    model: str
    """Name of the model."""
    layer: int
    """Zero-based."""
    shared_with: tuple[int, ...]
    """All layers that use these same weights, this one included; more than one only where a family shares them."""
    query: Float[np.ndarray, "heads head_dim hidden"]
    """W_q by rows."""
    key: Float[np.ndarray, "key_heads head_dim key_hidden"]
    """W_k by rows; key_heads divides heads where several heads share one."""
    value: Float[np.ndarray, "key_heads value_dim value_hidden"]
    """W_v by rows."""
    output: Float[np.ndarray, "heads output_hidden value_dim"]
    """W_o by columns."""
    query_bias: Float[np.ndarray, "heads head_dim"] | None
    """Added to every query; None where the family has none."""
    key_bias: Float[np.ndarray, "key_heads head_dim"] | None
    """Added to every key."""
    value_bias: Float[np.ndarray, "key_heads value_dim"] | None
    """Added to every value."""
    output_bias: Float[np.ndarray, " output_hidden"] | None
    """Added once behind all heads; no head has a part of it."""
    output_rest: Float[np.ndarray, "output_hidden rest"]
    """Columns of W_o that read no head (ConvBERT's convolutions); none in most families."""
    norms: Float[np.ndarray, "heads blocks"]
    """Frobenius norm of each head's block of W_q, W_k, W_v, W_o; a shared key head counts for each of its heads."""
    stored: Mapping[Block, StoredMatrix]
    """Where each of BLOCKS stands in the checkpoint."""

    @property
    def num_heads(self) -> int:
        """Heads of the layer."""
        return len(self.query)

    @property
    def head_dim(self) -> int:
        """Numbers in a query or key of one head."""
        return int(self.query.shape[1])

    def blocks(self, block: Block) -> np.ndarray:
        """One of the four matrices, cut: an array with a first axis of heads (or key heads)."""
        cut: np.ndarray = getattr(self, block)
        return cut

    def matrix(self, block: Block) -> np.ndarray:
        """One of the four matrices whole again, rows being what comes out: the inverse of the cut."""
        blocks = self.blocks(block)
        if block != "output":
            return blocks.reshape(-1, blocks.shape[-1])
        columns = blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)
        return np.concatenate([columns, self.output_rest], axis=1) if self.output_rest.size else columns

    def bias(self, block: Block) -> np.ndarray | None:
        """The bias that belongs to one of the four matrices; None where there is none."""
        bias: np.ndarray | None = getattr(self, f"{block}_bias")
        return bias


@dataclass(frozen=True, slots=True)
class HeadParameters:
    """How many numbers one head has, and what the layer's projections have in all."""

    per_head: Mapping[Block, int]
    """Of each of BLOCKS, its bias included (the output's bias belongs to no head)."""
    heads: Mapping[Block, int]
    """How many such blocks there are; fewer for key and value where heads share them."""
    outside_heads: int
    """Parameters of the four projections that belong to no head: the output's bias, columns that read no head."""
    total: int
    """Parameters of the four projections: the sum of per_head x heads, and outside_heads."""


@dataclass(frozen=True, slots=True, eq=False)
class FusedVsPerHead:
    """The same numbers twice: one large product that is cut, and one small product per head, side by side."""

    model: str
    """Name of the model."""
    layer: int
    """Zero-based."""
    block: Block
    """Which projection: query, key or value."""
    inputs: Float[np.ndarray, "seq hidden"]
    """What really enters the projection for this text: the vectors of all tokens."""
    fused: Float[np.ndarray, "heads seq dim"]
    """inputs @ W^T + b in one product, then cut."""
    per_head: Float[np.ndarray, "heads seq dim"]
    """inputs @ W_h^T + b_h, a product for each head."""
    max_difference: float
    """Largest absolute difference of the two; float32 rounding at most."""
    model_difference: float | None
    """Largest absolute difference of `fused` to what the model itself computed; None where it cannot be recorded."""


@dataclass(frozen=True, slots=True)
class ProductTimes:
    """How long both ways took, measured once on one thread; another measurement gives other numbers."""

    fused_seconds: float
    """Shortest duration of the large product and its cut."""
    per_head_seconds: float
    """Shortest duration of all small products together."""
    runs: int
    """How often each was run."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerRun:
    """What one layer's projections were given for a text, and what they gave, as the model itself ran them."""

    query_input: Float[np.ndarray, "seq hidden"]
    """What enters W_q; behind the normalisation where a layer normalises first."""
    key_input: Float[np.ndarray, "seq key_hidden"]
    """What enters W_k."""
    value_input: Float[np.ndarray, "seq value_hidden"]
    """What enters W_v."""
    query: Float[np.ndarray, "seq rows"] | None
    """What W_q gave, not yet cut; None where the family applies it as a bare tensor, which no hook can record."""
    key: Float[np.ndarray, "seq key_rows"] | None
    """What W_k gave."""
    value: Float[np.ndarray, "seq value_rows"] | None
    """What W_v gave."""
    mixed: Float[np.ndarray, "seq columns"] | None
    """What enters W_o: the mixes of all heads side by side."""
    output: Float[np.ndarray, "seq output_hidden"] | None
    """What W_o gave, its bias included."""
