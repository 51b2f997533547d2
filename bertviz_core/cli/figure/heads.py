"""Figures of the command line that show a layer's heads: norms, a matrix, both ways of multiplying, one cell."""

from typing import TYPE_CHECKING

from bertviz_core.cli_figure_asked import Asked, Made, loaded, of_trace, traced
from bertviz_core.results.heads import BLOCKS, Block

if TYPE_CHECKING:
    from bertviz_core.results.head_cell import CellArithmetic
    from bertviz_core.results.trace import Trace

MULTIPLIED: tuple[Block, ...] = ("query", "key", "value")


def norms(asked: Asked) -> Made:
    """Norms of the heads' blocks."""
    from bertviz_core.heads import block_norms
    from figures.trace_pictures import norms_picture

    model = loaded(asked)
    picture = norms_picture(block_norms(model), model.name)
    return Made(picture, picture.title, ((model.name, model.revision),), notices=model.notices)


def matrix(asked: Asked) -> Made:
    """One projection of a layer, whole, cut or pulled apart."""
    from bertviz_core.heads import head_projections
    from figures.head_pictures import CUTS, matrix_picture

    model = loaded(asked)
    layer = asked.number("layer", asked.layer, model.num_hidden_layers, 0)
    parts = head_projections(model, layer)
    head = asked.number("head", asked.head, parts.num_heads, 0)
    cut = CUTS[asked.setting("cut", list(CUTS))]
    picture = matrix_picture(parts, layer, head, asked.setting("matrix", BLOCKS), cut)
    return Made(picture, picture.title, ((model.name, model.revision),), notices=model.notices)


def products(asked: Asked) -> Made:
    """One product that is cut beside one product per head."""
    from bertviz_core.cli_text import tokenized
    from bertviz_core.head_products import one_or_many
    from figures.head_pictures import products_picture

    model, read = loaded(asked), tokenized(asked.model, asked.text(), asked.pair)
    layer = asked.number("layer", asked.layer, model.num_hidden_layers, 0)
    block = asked.setting("product", MULTIPLIED)
    picture = products_picture(one_or_many(model, read, layer, block), read, layer, block, model.name)
    notices = (*model.notices, *read.notices)
    return Made(picture, picture.title, ((model.name, model.revision),), (read.text, read.pair), notices)


def cell(asked: Asked) -> Made:
    """One cell of attention, from two vectors to a weight."""
    from figures.head_pictures import cell_picture

    found, trace = _cell(asked)
    return of_trace(cell_picture(found, trace, found.layer, found.head), trace)


def mix(asked: Asked) -> Made:
    """What a head hands on for one query."""
    from figures.head_pictures import mix_picture, mix_place

    found, trace = _cell(asked)
    return of_trace(mix_picture(found, mix_place(found, trace, found.layer, found.head)), trace)


def _cell(asked: Asked) -> "tuple[CellArithmetic, Trace]":
    from bertviz_core.head_arithmetic import cell_arithmetic, layer_heads
    from bertviz_core.longest_piece import longest_piece

    model, trace = traced(asked)
    layer = asked.number("layer", asked.layer, trace.num_hidden_layers, 0)
    parts = layer_heads(model, trace, layer)
    head = asked.number("head", asked.head, parts.projections.num_heads, 0)
    longest = longest_piece(trace.tokens)
    query = asked.place("query", len(trace.tokens), longest)
    key = asked.place("key", len(trace.tokens), max(longest - 1, 0))
    return cell_arithmetic(model, trace, layer, head, query, key, parts), trace
