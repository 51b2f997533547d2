"""A layer's heads: norms, a matrix, both ways of multiplying, one cell."""

from functools import cached_property

import numpy as np
from jaxtyping import Float

from bertviz_core.cli.figure.inputs.runs import RunInputs
from bertviz_core.figures.heads.weight_matrix import CUTS, Cut
from bertviz_core.heads.fused_products import compare_fused_and_per_head
from bertviz_core.heads.results import BLOCKS, Block, CellBreakdown, FusedVsPerHead, HeadProjections
from bertviz_core.heads.score_breakdown import break_down_cell, layer_heads
from bertviz_core.heads.weights import block_norms, head_projections
from bertviz_core.trace.tokenization import longest_piece

MULTIPLIED: tuple[Block, ...] = ("query", "key", "value")


class HeadInputs(RunInputs):
    """Weights of heads, and what one of them does with a text."""

    @cached_property
    def layer(self) -> int:
        """A layer, the first by default."""
        return self.asked.number("layer", self.asked.layer, self.loaded.num_hidden_layers, 0)

    @cached_property
    def head(self) -> int:
        """A head of it, the first by default."""
        return self.asked.number("head", self.asked.head, self.projections.num_heads, 0)

    @cached_property
    def projections(self) -> HeadProjections:
        """The projections of the layer, cut into heads."""
        self.notices = self.loaded.notices
        return head_projections(self.loaded, self.layer)

    @cached_property
    def block(self) -> Block:
        """One of the four projections."""
        return self.asked.setting("matrix", BLOCKS)

    @cached_property
    def cut(self) -> Cut:
        """How it is drawn."""
        return CUTS[self.asked.setting("cut", list(CUTS))]

    @cached_property
    def head_norms(self) -> Float[np.ndarray, "layers heads blocks"]:
        """Norms of the heads' blocks of all layers."""
        self.notices = self.loaded.notices
        return block_norms(self.loaded)

    @cached_property
    def multiplied(self) -> Block:
        """The projection that is computed both ways."""
        return self.asked.setting("product", MULTIPLIED)

    @cached_property
    def products(self) -> FusedVsPerHead:
        """One product that is cut beside one product per head."""
        read = self.tokens
        compared = compare_fused_and_per_head(self.loaded, read, self.layer, self.multiplied)
        self.notices = (*self.loaded.notices, *read.notices)
        return compared

    @cached_property
    def cell(self) -> CellBreakdown:
        """One cell of attention, from two vectors to a weight."""
        model, broken_down = self.loaded, self.trace
        layer = self.asked.number("layer", self.asked.layer, broken_down.num_hidden_layers, 0)
        parts = layer_heads(model, broken_down, layer)
        head = self.asked.number("head", self.asked.head, parts.projections.num_heads, 0)
        longest = longest_piece(broken_down.tokens)
        query = self.asked.place("query", len(broken_down.tokens), longest)
        key = self.asked.place("key", len(broken_down.tokens), max(longest - 1, 0))
        return break_down_cell(model, broken_down, layer, head, query, key, parts)
