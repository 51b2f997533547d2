"""Figures of the command line that show a layer's heads: norms, a matrix, both ways of multiplying, one cell."""

from bertviz_core.cli.figure.request import FigureOutput, FigureRequest, loaded, of_trace, traced
from bertviz_core.cli.options import tokenized
from bertviz_core.figures.heads.maps import norms_picture, products_picture
from bertviz_core.figures.heads.score_breakdown import cell_picture, mix_picture, mix_place
from bertviz_core.figures.heads.weight_matrix import CUTS, matrix_picture
from bertviz_core.heads.fused_products import compare_fused_and_per_head
from bertviz_core.heads.results import BLOCKS, Block, CellBreakdown
from bertviz_core.heads.score_breakdown import break_down_cell, layer_heads
from bertviz_core.heads.weights import block_norms, head_projections
from bertviz_core.trace.results import Trace
from bertviz_core.trace.tokenization import longest_piece

MULTIPLIED: tuple[Block, ...] = ("query", "key", "value")


def norms(asked: FigureRequest) -> FigureOutput:
    """Norms of the heads' blocks."""
    model = loaded(asked)
    picture = norms_picture(block_norms(model), model.name)
    return FigureOutput(picture, picture.title, ((model.name, model.revision),), notices=model.notices)


def matrix(asked: FigureRequest) -> FigureOutput:
    """One projection of a layer, whole, cut or pulled apart."""
    model = loaded(asked)
    layer = asked.number("layer", asked.layer, model.num_hidden_layers, 0)
    parts = head_projections(model, layer)
    head = asked.number("head", asked.head, parts.num_heads, 0)
    cut = CUTS[asked.setting("cut", list(CUTS))]
    picture = matrix_picture(parts, layer, head, asked.setting("matrix", BLOCKS), cut)
    return FigureOutput(picture, picture.title, ((model.name, model.revision),), notices=model.notices)


def products(asked: FigureRequest) -> FigureOutput:
    """One product that is cut beside one product per head."""
    model, read = loaded(asked), tokenized(asked.model, asked.text(), asked.pair)
    layer = asked.number("layer", asked.layer, model.num_hidden_layers, 0)
    block = asked.setting("product", MULTIPLIED)
    picture = products_picture(compare_fused_and_per_head(model, read, layer, block), read, layer, block, model.name)
    notices = (*model.notices, *read.notices)
    return FigureOutput(picture, picture.title, ((model.name, model.revision),), (read.text, read.pair), notices)


def cell(asked: FigureRequest) -> FigureOutput:
    """One cell of attention, from two vectors to a weight."""
    found, trace = _cell(asked)
    return of_trace(cell_picture(found, trace, found.layer, found.head), trace)


def mix(asked: FigureRequest) -> FigureOutput:
    """What a head hands on for one query."""
    found, trace = _cell(asked)
    return of_trace(mix_picture(found, mix_place(found, trace, found.layer, found.head)), trace)


def _cell(asked: FigureRequest) -> "tuple[CellBreakdown, Trace]":

    model, trace = traced(asked)
    layer = asked.number("layer", asked.layer, trace.num_hidden_layers, 0)
    parts = layer_heads(model, trace, layer)
    head = asked.number("head", asked.head, parts.projections.num_heads, 0)
    longest = longest_piece(trace.tokens)
    query = asked.place("query", len(trace.tokens), longest)
    key = asked.place("key", len(trace.tokens), max(longest - 1, 0))
    return break_down_cell(model, trace, layer, head, query, key, parts), trace
