"""Texts of the page Heads."""

import numpy as np
from jaxtyping import Float

from bertviz_core.figures.heads.weight_matrix import Cut
from bertviz_core.heads.results import Block

NUMBERS = (
    "No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve",
    "Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen", "Nineteen", "Twenty",
)  # fmt: skip


def question(heads: int | None) -> str:
    """The question of the page, for a model with this many heads."""
    if heads is None:
        return "Many heads, one matrix: where are they?"
    number = NUMBERS[heads] if heads < len(NUMBERS) else str(heads)
    return f"{number} heads, one matrix: where are they?" if heads != 1 else "One head, one matrix: where is it?"


MEANING: dict[Block, str] = {
    "query": "$W_q$ turns a token's vector into its query, what it looks for.",
    "key": "$W_k$ turns a token's vector into its key, what it offers to be found by.",
    "value": "$W_v$ turns a token's vector into its value: what other tokens receive from it.",
    "output": "$W_o$ turns the mixes of all heads, side by side, back into one vector of the hidden size.",
}
OBSERVATIONS: dict[Cut, str] = {
    "whole": "**What to see:** the file holds one matrix and has no mark where one head ends and the next begins: the "
    "heads exist because the model cuts the product.",
    "cut": "**What to see:** the lines are drawn by us, at equal distances; the file has no mark there.",
    "apart": "**What to see:** the same numbers as in one matrix, each head's block by itself.",
}


def norm_words(norms: Float[np.ndarray, " heads"]) -> str:
    """What the sizes of the heads' blocks show of their edges, in one sentence; "" for a single block."""
    if len(norms) < 2:
        return ""
    most, least = int(norms.argmax()), int(norms.argmin())
    return (
        f"Of all {len(norms)} blocks that of head {most} is the largest, with the norm **{norms[most]:.2f}**, and that "
        f"of head {least} the smallest, **{norms[least]:.2f}**: where neighbours differ, an edge can be seen."
    )


MATRIX_WORDS = (
    "A layer keeps one matrix for all its heads. Rows are outputs: head h owns the `head_dim` rows from "
    "`h × head_dim` on of `W_q`, `W_k` and `W_v`. In `W_o` it owns as many columns, those that read its part of the "
    "mixed values. Nothing in the file marks the cuts: the model makes them when it reshapes the product. Pulled apart "
    "or not, the numbers are the same. A matrix of more than 650,000 cells is drawn by squares of cells, each with its "
    "number of largest magnitude. The colour scale covers 99.8 % of the weights; what is beyond has its last colour."
)
PRODUCTS_WORDS = (
    "x is what really enters the projection in this layer: the hidden state, normalised before where the family does "
    "so. A product of matrices works row by row, so it is the same to multiply with the whole matrix and cut the "
    "result, or to cut the matrix and multiply with every block. What differs is the last digit, since sums are "
    "rounded in another order, and the time: a large product is started once and keeps the processor busy. Both ways "
    "are timed in turn, on one thread and counting only the time in which it computes; the shortest of several runs is "
    "shown, a measurement whose ratio is impossible is repeated, and none is kept for another reader."
)
NORMS_WORDS = (
    "The Frobenius norm of a block is the square root of the sum of its squared numbers. Squared and summed over the "
    "heads, the norms give the squared norm of the whole matrix. Layers that share weights (ALBERT) have equal rows; a "
    "key or value block that several heads share counts for each of them."
)
CELL_WORDS = (
    "q is the head's block of `W_q` times the vector of the token that looks, plus bias; k is the same with `W_k` for "
    "the token looked at. Their products are summed (the dot product), multiplied with the scaling, mostly "
    "`1 / sqrt(head_dim)`, and the softmax over all keys makes the row of weights, which sums to 1 (Vaswani et al. "
    "2017, section 3.2.1). The values are mixed by these weights, and the head's columns of `W_o` turn the mix into "
    "its part of the layer's output, which is added to the residual stream. A large weight is not by itself "
    "importance: it may sit on a short value."
)
POSITIONS = {
    "rotated": "Before they are multiplied, query and key are turned by an angle that grows with their position "
    "(rotary positions, Su et al. 2021); the products are of the turned vectors.",
    "changed": "Between projection and product this family changes query and key further; the products are of the "
    "changed vectors, which were recorded.",
}
REMAINDER = (
    "This family computes attention in code of its own and adds to the products: {name}. The added terms are worked "
    "out backwards from the model's weights, as the logarithm of each weight less its scaled product, up to the mean "
    "of the row, which a softmax does not feel. So the row agrees by construction."
)
