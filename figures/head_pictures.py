"""Pictures of one layer's heads as pages and the command line name them: matrix, products, one cell, what goes back."""

from bertviz_core.results.head_cell import CellArithmetic
from bertviz_core.results.heads import Block, HeadProjections, OneOrMany
from bertviz_core.results.trace import Tokens, Trace
from bertviz_core.visible import shortened, visible
from figures.head_cell import cell_figure, mix_figure
from figures.head_maps import product_maps
from figures.heads import SYMBOLS, Cut, projection_heatmap
from figures.picture import Picture
from figures.tokens_axis import labels

CUTS: dict[str, Cut] = {"cut into heads": "cut", "pulled apart": "apart", "one matrix": "whole"}
"""Words for a matrix's drawing -> how it is drawn."""
LONGEST = 18


def matrix_picture(parts: HeadProjections, layer: int, head: int, block: Block, cut: Cut) -> Picture:
    """One projection of a layer, the rows or columns of one head marked."""
    blocks, matrix = parts.blocks(block), parts.matrix(block)
    place, size = block_place(parts, head, block), blocks.shape[2 if block == "output" else 1]
    title = f"{SYMBOLS[block]} of layer {layer}, {len(blocks)} heads - {parts.model}"
    alt = f"{title}: weights on a symmetric scale, {matrix.shape[0]} rows by {matrix.shape[1]} columns"
    return Picture(
        title, alt, lambda look: projection_heatmap(matrix, block, len(blocks), size, place, cut, title, look)
    )


def block_place(parts: HeadProjections, head: int, block: Block) -> int:
    """Place of the block that a head uses: several heads may share one."""
    return head // (parts.num_heads // len(parts.blocks(block)))


def products_picture(found: OneOrMany, tokens: Tokens, layer: int, block: Block, model: str) -> Picture:
    """One product that is cut beside one product per head."""
    heads, seq, dim = found.one.shape
    title = f"x times {SYMBOLS[block]} of layer {layer}: one product, and {heads} - {model}"
    alt = f"{title}: two maps of {seq} tokens by {heads * dim} numbers, equal to the last digits"
    return Picture(title, alt, lambda look: product_maps(found, labels(tokens), title, look))


def cell_picture(cell: CellArithmetic, trace: Trace, layer: int, head: int) -> Picture:
    """From two vectors to one weight."""
    query, key = cell.query_position, cell.key_position
    looking, looked = (shortened(visible(trace.tokens.tokens[place]), LONGEST) for place in (query, key))
    title = f"Layer {layer}, head {head}: {looking} ({query}) looks at {looked} ({key}) - {trace.model}"
    names = labels(trace.tokens)
    alt = f"{title}: weight {cell.score.weights[key]:.4f}"
    return Picture(title, alt, lambda look: cell_figure(cell, names, title, look))


def mix_picture(cell: CellArithmetic, where: str) -> Picture:
    """What a head hands on; where names layer, head, query and model."""
    title = f"What the head hands on: {where}"
    alt = f"{title}: mix of values, its way through W_o, lengths of all heads' parts"
    return Picture(title, alt, lambda look: mix_figure(cell, title, look))


def mix_place(cell: CellArithmetic, trace: Trace, layer: int, head: int) -> str:
    """Layer, head, query and model in words."""
    return f"layer {layer}, head {head}, query {cell.query_position} - {trace.model}"
