"""Views of the heads page that need no single cell: the matrix and its cuts, the same numbers twice, all heads."""

import pandas as pd
import streamlit as st

from bertviz_core.architecture.results import Architecture
from bertviz_core.errors import BertvizError
from bertviz_core.figures.heads.maps import head_norms_figure, products_figure
from bertviz_core.figures.heads.weight_matrix import CUTS, SYMBOLS, block_place, matrix_figure
from bertviz_core.heads.results import BLOCKS, Block, FusedVsPerHead, HeadParameters, HeadProjections
from bertviz_core.heads.weights import head_parameters
from ui.cache import ledgers, models
from ui.components.cell_click import cell_click
from ui.views.heads import cache
from ui.views.heads.texts import (
    MATRIX_CODE,
    MATRIX_WORDS,
    MEANING,
    NORMS_CODE,
    NORMS_WORDS,
    PRODUCTS_CODE,
    PRODUCTS_WORDS,
)
from ui.widgets import cell_controls, controls
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import explained, figure_block, folded_table
from ui.widgets.formatting import count, escape_markdown

OWNERS = "Heads own rows of the query, key and value projections, and columns of the output projection."


def head_count(name: str) -> int | None:
    """Heads of a layer of a model; None where they are not known, or the model is not."""
    try:
        return ledgers.architecture(name).num_attention_heads
    except BertvizError:
        return None


def sizes(model: Architecture) -> str:
    """Layers, heads and their size in words."""
    if model.num_attention_heads is None:
        return f"{count(model.num_hidden_layers)} layers, no heads"
    words = f"{count(model.num_attention_heads)} heads in each of {count(model.num_hidden_layers)} layers"
    return words if model.head_dim is None else f"{words}, {count(model.head_dim)} numbers each"


@st.fragment
@shown_to_user()
def matrix_view(name: str) -> None:
    """One projection of one layer, whole, cut, or pulled apart."""
    with st.container(horizontal=True, vertical_alignment="top"):
        layer = cell_controls.layer_select(cache.layers(name))
        parts = cache.projections(name, layer)
        head = cell_controls.head_select(parts.num_heads)
        block = controls.choice("Projection", BLOCKS, "matrix", help=OWNERS)
        cut = CUTS[controls.choice("Drawn", list(CUTS), "cut", help="The numbers are the same in all three.")]
    blocks = parts.blocks(block)
    matrix = parts.matrix(block)
    size = blocks.shape[2 if block == "output" else 1]
    steps(parts, block)
    spec, key = matrix_figure(parts, layer, head, block, cut), "heads_matrix"
    whole = pd.DataFrame(matrix, columns=[str(index) for index in range(matrix.shape[1])])
    filename = f"{SYMBOLS[block]} layer {layer} head {head} {parts.model}"
    with figure_block(spec, filename, whole, numbers="in files"):
        _clicked(key, parts, block, size)
    place = block_place(parts, head, block)
    own = pd.DataFrame(blocks[place], columns=[str(index) for index in range(blocks.shape[2])])
    own.insert(0, "row", range(len(own)))
    folded_table(key, own, f"Block of head {place} of {spec.title}")
    stored = parts.stored[block]
    code = MATRIX_CODE.format(name=stored.name, shape=tuple(matrix.shape), cut=blocks.shape, heads=len(blocks))
    explained(key, MATRIX_WORDS, code)


def steps(parts: HeadProjections, block: Block) -> None:
    """The shapes on the way from the stored parameter to the heads, in one line."""
    stored, matrix, blocks = parts.stored[block], parts.matrix(block), parts.blocks(block)
    axis = "columns" if block == "output" else "rows"
    size = blocks.shape[2 if block == "output" else 1]
    words = f"`{stored.name}` `{stored.shape}`"
    if stored.form != "as stored":
        words += f" → {escape_markdown(stored.form)} `{matrix.shape}`"
    words += f" → cut by {axis}, {len(blocks)} heads of {size} → `{blocks.shape}`"
    if len(blocks) < parts.num_heads:
        words += f"; each is shared by {parts.num_heads // len(blocks)} of the {parts.num_heads} heads"
    if len(parts.shared_with) > 1:
        words += f"; the layers {parts.shared_with[0]} to {parts.shared_with[-1]} share these weights"
    st.markdown(words)


def _clicked(key: str, parts: HeadProjections, block: Block, size: int) -> None:
    """The exact weight of the cell that was clicked, and whose it is."""
    matrix = parts.matrix(block)
    cell = cell_click(key)
    if not cell or cell[0] >= matrix.shape[0] or cell[1] >= matrix.shape[1]:
        axis = "columns" if block == "output" else "rows"
        st.caption(f"{MEANING[block]} Each head owns some of its {axis}. Click a cell for its exact weight.")
        return
    row, column = cell
    head, inside = divmod(column if block == "output" else row, size)
    axis = "column" if block == "output" else "row"
    owner = f"{axis} {inside} of head {head}" if head < len(parts.blocks(block)) else "of no head"
    st.markdown(f"Row {row}, column {column}: **{matrix[row, column]:.7f}**, {owner}.")


@st.fragment
@shown_to_user()
def products_view(name: str) -> None:
    """The proof: one product that is cut, and one product per head, on this text."""
    with st.container(horizontal=True, vertical_alignment="top"):
        layer = cell_controls.layer_select(cache.layers(name))
        wanted: tuple[Block, ...] = ("query", "key", "value")
        block = controls.choice("Projection", wanted, "product", help=OWNERS)
    products = cache.products(name, controls.text(), controls.pair(), layer, block)
    tokens = models.tokens(name, controls.text(), controls.pair())
    heads, seq, dim = products.fused.shape
    _times(products)
    columns = [f"head {head}, {index}" for head in range(heads) for index in range(dim)]
    frame = pd.DataFrame(products.fused.transpose(1, 0, 2).reshape(seq, -1), columns=columns)
    frame.insert(0, "token", list(tokens.tokens))
    code = PRODUCTS_CODE.format(layer=layer, inputs=products.inputs.shape, heads=heads, dim=dim)
    figure_block(
        products_figure(products, tokens, layer, block, name),
        f"{SYMBOLS[block]} products layer {layer} {name}",
        frame,
        texts=tokens,
        explanation=(PRODUCTS_WORDS, code),
    )


def _times(products: FusedVsPerHead) -> None:
    heads, seq, dim = products.fused.shape
    width, rows = products.inputs.shape[1], heads * dim
    difference = f"{products.max_difference:.1e}" if products.max_difference else "0"
    with st.container(horizontal=True):
        st.metric("Largest difference", difference, help="Of all numbers of both ways; float32 has about 7 digits.")
        st.metric(
            "One product",
            _duration(products.fused_seconds, products.per_head_seconds),
            help=f"({seq}, {width}) times ({width}, {rows}), cut into ({heads}, {seq}, {dim}). "
            f"Median of {products.runs}.",
        )
        st.metric(
            f"{heads} products",
            _duration(products.per_head_seconds, products.per_head_seconds),
            help=f"{heads} times ({seq}, {width}) times ({width}, {dim}). Median of {products.runs}.",
        )
        ratio = products.per_head_seconds / products.fused_seconds if products.fused_seconds else 1.0
        st.metric(
            "Per-head slowdown",
            f"{ratio:.1f}×",
            help="Time of one product per head over that of one product. That is why libraries keep one.",
        )
        if products.model_difference is not None:
            own = f"{products.model_difference:.1e}" if products.model_difference else "0"
            st.metric("To the model's own", own, help="Largest difference to what the model itself computed.")


def _duration(seconds: float, beside: float) -> str:
    """A duration in the unit of the one that stands beside it."""
    return f"{seconds * 1e6:,.0f} µs" if beside < 1e-3 else f"{seconds * 1e3:,.2f} ms"


def norms_view(name: str) -> None:
    """Norms of all heads of all layers, and how many parameters a head has."""
    norms = cache.norms(name)
    parts = cache.projections(name, 0)
    _parameters(head_parameters(parts), parts)
    frame = pd.DataFrame(
        [(layer, head, *row) for layer, rows in enumerate(norms.tolist()) for head, row in enumerate(rows)],
        columns=["layer", "head", *(SYMBOLS[block] for block in BLOCKS)],
    )
    code = NORMS_CODE.format(name=parts.stored["query"].name, heads=parts.num_heads)
    words = figure_block(
        head_norms_figure(norms, parts.model), f"norms of heads {parts.model}", frame, explanation=(NORMS_WORDS, code)
    )
    words.caption("A small norm says that the numbers are small, not that the head is of no use.")


def _parameters(parameters: HeadParameters, parts: HeadProjections) -> None:
    with st.container(horizontal=True):
        for block in BLOCKS:
            blocks = parts.blocks(block)
            biased = block != "output" and parts.bias(block) is not None
            shape = " × ".join(str(size) for size in blocks.shape[1:])
            words = f"{shape}{f' + {blocks.shape[1]} biases' if biased else ''}; {parameters.heads[block]} such blocks."
            st.metric(f"{SYMBOLS[block]} of a head", count(parameters.per_head[block]), help=words)
        st.metric(
            "Outside any head",
            count(parameters.outside_heads),
            help="The bias of the output, and columns that read no head.",
        )
        st.metric("Total, layer 0", count(parameters.total), help="Every block of every head, and what no head has.")
