"""Questions about the heads of a layer: matrices, norms, fused and separate products, and a cell step by step."""

import numpy as np
from jaxtyping import Float

from bertviz_core.figures.heads.weight_matrix import CUTS
from bertviz_core.heads.projections import capture_layer_io
from bertviz_core.heads.results import BLOCKS, Block, CellBreakdown, FusedVsPerHead, HeadProjections, LayerRun
from bertviz_core.heads.score_breakdown import LayerHeads, break_down_cell, layer_heads
from bertviz_core.heads.weights import block_norms, compare_fused_and_per_head, head_projections
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.questions.texts.tokens import tokens
from bertviz_core.trace.results import Trace
from bertviz_core.trace.tokenization import longest_piece

MULTIPLIED: tuple[Block, ...] = ("query", "key", "value")


def _last_layer(opened: Opened, options: Options) -> tuple[int, int, int]:
    return 0, opened.loaded.num_hidden_layers - 1, 0


def _last_head(opened: Opened, options: Options) -> tuple[int, int, int]:
    return 0, layer_projections(opened, _layer(opened, options)).num_heads - 1, 0


def _query(opened: Opened, options: Options) -> tuple[int, int, int]:
    read = tokens(opened, options).result
    return 0, len(read) - 1, longest_piece(read)


def _key(opened: Opened, options: Options) -> tuple[int, int, int]:
    least, most, query = _query(opened, options)
    return least, most, max(query - 1, 0)


LAYER = Param("layer", "layer", "the layer, counted from 0", bounds=_last_layer)
HEAD = Param("head", "head", "a head of the layer, counted from 0", bounds=_last_head)
OWNERS = "heads own rows of query, key and value, and columns of the output"
MATRIX = Param(
    "matrix", "choice", f"one of the four projections: {OWNERS}", BLOCKS, "Projection", lambda opened, options: BLOCKS
)
SAME = "how the matrix is drawn; the numbers are the same in all three"
CUT = Param("cut", "choice", SAME, tuple(CUTS), "Drawn", lambda opened, options: tuple(CUTS))
PRODUCT = choice("product", MULTIPLIED, "the projection that is computed both ways")
LOOKS = "position of the query, the token that attends to all others; the longest token by default"
LOOKED_AT = "position of the key, the token that is attended to; the one before the query by default"
QUERY = Param("query", "position", LOOKS, label="Query token", bounds=_query, listed=True)
KEY = Param("key", "position", LOOKED_AT, label="Key token", bounds=_key, listed=True)


@question(figures=("matrix",), params=(LAYER, HEAD, MATRIX, CUT))
def head_matrices(opened: Opened, options: Options) -> Answer[HeadProjections]:
    """The query, key, value and output matrices of a layer, split into heads."""
    layer = _layer(opened, options)
    projections = layer_projections(opened, layer)
    head = options.numbered("head", projections.num_heads, 0, opened.name)
    drawn = {"layer": layer, "head": head, "block": options.choice(MATRIX), "cut": CUTS[options.choice(CUT)]}
    return answered(opened, projections, opened.loaded.notices, projections=projections, **drawn)


@question(figures=("heads",))
def head_norms(opened: Opened, options: Options) -> Answer[Float[np.ndarray, "layers heads blocks"]]:
    """Norms of the blocks of all heads and layers."""
    norms = block_norms(opened.loaded)
    return answered(opened, norms, opened.loaded.notices, head_norms=norms, model_name=opened.source.name)


@question(figures=("products",), params=(LAYER, PRODUCT))
def products(opened: Opened, options: Options) -> Answer[FusedVsPerHead]:
    """Comparison of one fused product with one product per head."""
    read, layer = tokens(opened, options), _layer(opened, options)
    multiplied: Block = options.choice(PRODUCT, MULTIPLIED)
    compared = compare_fused_and_per_head(opened.loaded, read.result, layer, multiplied)
    drawn = {"tokens": read.result, "layer": layer, "multiplied": multiplied, "model_name": opened.source.name}
    return read.of(compared, opened.loaded.notices, products=compared, **drawn)


@question(figures=("cell", "mix"), params=(LAYER, HEAD, QUERY, KEY))
def cell(opened: Opened, options: Options) -> Answer[CellBreakdown]:
    """Computation of an attention weight from two vectors, and of the output of its head."""
    made = run(opened, options)
    layer = options.numbered("layer", made.result.num_hidden_layers, 0, opened.name)
    parts = layer_parts(opened, made.result, layer)
    head = options.numbered("head", parts.projections.num_heads, 0, opened.name)
    (_, last, longest), (_, _, before) = _query(opened, options), _key(opened, options)
    query, key = options.whole(QUERY.key, last + 1, longest), options.whole(KEY.key, last + 1, before)
    broken_down = break_down_cell(opened.loaded, made.result, layer, head, query, key, parts)
    return made.of(broken_down, cell=broken_down, trace=made.result)


def layer_projections(opened: Opened, layer: int) -> HeadProjections:
    """The matrices of a layer, split into heads.

    Raises:
        BertvizError: the attention has no such matrices, or the weights are not on this machine.
    """
    return opened.get_or_compute((__name__, "layer_projections", layer), lambda: head_projections(opened.loaded, layer))


def layer_run(opened: Opened, trace: Trace, layer: int) -> LayerRun:
    """Inputs and outputs of the projections of a layer.

    Raises:
        UnsupportedModelError: the family has no such projections.
    """
    key = (__name__, "layer_run", *trace.tokens.identity, layer)
    return opened.get_or_compute(key, lambda: capture_layer_io(opened.loaded, trace.tokens, layer))


def layer_parts(opened: Opened, trace: Trace, layer: int) -> LayerHeads:
    """Intermediate results shared by all cells of a layer.

    Raises:
        UnsupportedModelError: the family has no such projections, or keeps them in a way that is not known.
    """
    key = (__name__, "layer_parts", *trace.tokens.identity, layer)
    return opened.get_or_compute(key, lambda: layer_heads(opened.loaded, trace, layer, layer_run(opened, trace, layer)))


def _layer(opened: Opened, options: Options) -> int:
    return options.numbered("layer", opened.loaded.num_hidden_layers, 0, opened.name)
