"""Results of working out one cell of attention by hand: from two vectors to what a head hands on."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

Positions = Literal["as projected", "rotated", "changed"]
"""What happens to query and key between projection and product: nothing but a factor; a rotation, which keeps their
length (rotary positions); something else."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreArithmetic:
    """How one attention weight comes about, from two vectors to a probability, every number on the way."""

    query_input: Float[np.ndarray, " hidden"]
    """x_i: the vector of the token that looks."""
    key_input: Float[np.ndarray, " key_hidden"]
    """x_j: the vector of the token looked at."""
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
    """What is added to it; -inf for a key that may not be looked at."""
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
class MixArithmetic:
    """What a head makes of its row of weights: a mix of values, and what of it goes back into the residual stream."""

    values: Float[np.ndarray, "seq value_dim"]
    """v_j of every token, of this head."""
    mix: Float[np.ndarray, " value_dim"]
    """sum over j of weight_j v_j."""
    head_output: Float[np.ndarray, " output_hidden"]
    """The head's columns of W_o times the mix: this head's part of the layer's attention output."""
    head_norms: Float[np.ndarray, " heads"]
    """Length of that part for every head, at the same query."""
    mix_difference: float | None
    """Largest difference of the mixes of all heads to what the model hands to W_o; None where it cannot be heard."""
    output_difference: float | None
    """Largest difference of the sum over all heads, plus bias and rest, to what W_o really gave."""
    rest_norm: float
    """Length of what comes out of W_o from no head's mix (a convolution beside or behind attention); 0 mostly."""


@dataclass(frozen=True, slots=True, eq=False)
class CellArithmetic:
    """One cell of attention: layer, head, the token that looks and the token looked at."""

    model: str
    """Name of the model."""
    layer: int
    """Zero-based."""
    head: int
    """Zero-based."""
    key_head: int
    """Which key and value head this head uses; the same number unless heads share them."""
    query_position: int
    """Position of the token that looks."""
    key_position: int
    """Position of the token looked at."""
    score: ScoreArithmetic
    """From two vectors to one weight."""
    mix: MixArithmetic
    """From the row of weights to what the head hands on."""
