"""View Matrices of the page Heads: one matrix, its heads and the same product twice; norms of all layers' heads."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from bertviz_core.architecture.results import Architecture
from bertviz_core.errors import BertvizError
from bertviz_core.figures.heads.maps import head_norms_figure, products_figure
from bertviz_core.figures.heads.weight_matrix import CUTS, SYMBOLS, Cut, block_place, head_norms, matrix_figure
from bertviz_core.heads.fused_products import time_products
from bertviz_core.heads.results import (
    BLOCKS,
    Block,
    FusedVsPerHead,
    HeadParameters,
    HeadProjections,
    ProductTimes,
)
from bertviz_core.heads.weights import head_parameters
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts import heads
from bertviz_core.text import count, digits, escape_markdown
from ui import session
from ui.address.registry import param
from ui.address.values import put
from ui.address.widgets import choice, select, toggle
from ui.cache import ledgers, models
from ui.cache.shared_model import SharedModel
from ui.components.cell_click import cell_click
from ui.components.navigation import PageLink, page_links
from ui.components.step_links import address
from ui.views.heads import reproduction as lines
from ui.views.heads.score_breakdown import cell_view
from ui.views.heads.texts import (
    MATRIX_WORDS,
    MEANING,
    NORMS_WORDS,
    NUMBERS,
    OBSERVATIONS,
    PRODUCTS_WORDS,
    norm_words,
)
from ui.widgets import cell_controls, text_fields
from ui.widgets.cell_controls import HEAD
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import explained, figure_block, folded_table
from ui.widgets.view_and_layer import LAYER, layer_select, open_view, store_layer

PRODUCTS_HELP = "Multiplies your text by the whole matrix, and by the block of each head: numbers and times of both."
OWNERS = "Heads own rows of the query, key and value projections, and columns of the output projection."

WEIGHTS = param("weights_of")
MEASURED = "measured_products"
"""Session key: the products timed last, and their times."""


def head_count(name: str) -> int | None:
    """Number of heads per layer; None where it is unknown."""
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


def all_layers_chosen() -> bool:
    """Whether the norms of the heads of all layers are shown instead of a matrix of one layer."""
    return choice(WEIGHTS, "Show", label_visibility="collapsed") == WEIGHTS.options[1]


@st.fragment
@shown_to_user()
def matrix_view(name: str) -> None:
    """One projection of a layer, whole, cut or pulled apart."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer = layer_select(models.loaded(name).num_hidden_layers)
        parts = heads.layer_projections(SharedModel(name), layer)
        head = cell_controls.head_select(parts.num_heads)
        block = select(heads.MATRIX, "Projection", BLOCKS, width=140, help=OWNERS)
        drawn = select(heads.CUT, "Drawn", width=180, help="The numbers are the same in all three.")
    cut = CUTS[drawn]
    blocks = parts.blocks(block)
    matrix = parts.matrix(block)
    size = blocks.shape[2 if block == "output" else 1]
    spec, key = matrix_figure(parts, layer, head, block, cut), "heads_matrix"
    whole = pd.DataFrame(matrix, columns=[str(index) for index in range(matrix.shape[1])])
    filename = f"{SYMBOLS[block]} layer {layer} head {head} {parts.model}"
    with figure_block(spec, filename, whole, numbers="in files"):
        norms = head_norms(matrix, len(blocks), size, block != "output")
        st.markdown(f"{OBSERVATIONS[cut]} {norm_words(norms)}")
        steps(parts, block, cut)
        _clicked(key, parts, block, size)
    place = block_place(parts, head, block)
    own = pd.DataFrame(blocks[place], columns=[str(index) for index in range(blocks.shape[2])])
    own.insert(0, "row", range(len(own)))
    folded_table(key, own, f"Block of head {place} of {spec.title}")
    explained(key, MATRIX_WORDS, lines.matrix_code(name, parts, block))
    if toggle(param("products_shown"), products_label(parts.num_heads), help=PRODUCTS_HELP):
        _products(name, parts, block)


def steps(parts: HeadProjections, block: Block, cut: Cut) -> None:
    """Shapes from the stored parameter to the drawn blocks, in one line."""
    stored, matrix, blocks = parts.stored[block], parts.matrix(block), parts.blocks(block)
    axis = "columns" if block == "output" else "rows"
    size = blocks.shape[2 if block == "output" else 1]
    words = f"`{stored.name}` `{stored.shape}`"
    if stored.form != "as stored":
        words += f" → {escape_markdown(stored.form)} `{matrix.shape}`"
    if cut != "whole":
        words += f" → cut by {axis}, {len(blocks)} heads of {size} → `{blocks.shape}`"
    if len(blocks) < parts.num_heads:
        words += f"; each is shared by {parts.num_heads // len(blocks)} of the {parts.num_heads} heads"
    if len(parts.shared_with) > 1:
        words += f"; the layers {parts.shared_with[0]} to {parts.shared_with[-1]} share these weights"
    st.markdown(words)


def _clicked(key: str, parts: HeadProjections, block: Block, size: int) -> None:
    """The exact weight of the clicked cell, and its head."""
    matrix = parts.matrix(block)
    cell = cell_click(key)
    if not cell or cell[0] >= matrix.shape[0] or cell[1] >= matrix.shape[1]:
        axis = "columns" if block == "output" else "rows"
        st.caption(f"{MEANING[block]} Each head owns some of its {axis}. Click a cell for its exact weight.")
        return
    row, column = cell
    head, inside = divmod(column if block == "output" else row, size)
    axis = "column" if block == "output" else "row"
    owner = f"{axis} {inside} of head {head}" if head < len(parts.blocks(block)) else "not part of any head"
    st.markdown(f"Row {row}, column {column}: **{matrix[row, column]:.7f}**, {owner}.")


def products_label(count: int) -> str:
    """Label of the switch that compares one product with one per head, for this many heads."""
    return f"One product or {NUMBERS[count].lower() if count < len(NUMBERS) else count}"


def _products(name: str, parts: HeadProjections, block: Block) -> None:
    """Compare one product that is cut into heads with one product per head, on the text of the sidebar."""
    if block not in heads.MULTIPLIED:
        st.info("Choose query, key or value above: the output projection multiplies what the heads have mixed.")
        return
    layer, text, pair, opened = parts.layer, text_fields.text(), text_fields.pair(), SharedModel(name)
    products = heads.products(opened, Options((text,), pair, values={"layer": str(layer), "product": block})).result
    tokens = models.tokens(name, text, pair)
    count, seq, dim = products.fused.shape
    columns = [f"head {head}, {index}" for head in range(count) for index in range(dim)]
    frame = pd.DataFrame(products.fused.transpose(1, 0, 2).reshape(seq, -1), columns=columns)
    frame.insert(0, "token", list(tokens.tokens))
    code = lines.products_code(name, tokens, parts, block)
    words = figure_block(
        products_figure(products, tokens, layer, block, name),
        f"{SYMBOLS[block]} products layer {layer} {name}",
        frame,
        texts=tokens,
        explanation=(PRODUCTS_WORDS, code),
    )
    with words:
        _agreement(products)
        _times(products, times(name, text, pair, products), models.loaded(name).device)


def _agreement(products: FusedVsPerHead) -> None:
    """Differences of both ways from each other and from the model."""
    difference = digits(products.max_difference, 2)
    words = f"Largest difference between the two ways: **{difference}**"
    if products.model_difference is not None:
        own = digits(products.model_difference, 2)
        words += f", between the one product and what the model itself computed: **{own}**"
    st.markdown(f"{words}. Float32 keeps about 7 digits.")


def _times(products: FusedVsPerHead, times: ProductTimes | None, device: str) -> None:
    """The measured times of both ways."""
    many_heads, seq, dim = products.fused.shape
    width = products.inputs.shape[1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if times is not None:
            one, many = times.fused_seconds, times.per_head_seconds
            shapes = f"({seq}, {width}) times ({width}, {many_heads * dim}), cut into ({many_heads}, {seq}, {dim})."
            st.metric("One product", _duration(one, many), help=shapes)
            shapes = f"{many_heads} times ({seq}, {width}) times ({width}, {dim})."
            st.metric(
                f"{many_heads} products" if many_heads > 1 else "The head's product", _duration(many, many), help=shapes
            )
            st.metric("Ratio", f"{many / one:.1f}×", help="The second time divided by the first.")
        st.button("Measure again", on_click=forget_times, key="measure_products")
    if times is None:
        st.caption("The server is too busy to time two products that small; measure again later.")
    else:
        where = "one thread of this server" if device == "cpu" else device
        st.caption(
            f"Measured just now, on {where}: the shortest of {times.runs} runs of each. "
            "Another measurement gives somewhat other times; the numbers in the figure stay the same."
        )


def _duration(seconds: float, beside: float) -> str:
    """A duration in the unit of another one."""
    return f"{seconds * 1e6:,.0f} µs" if beside < 1e-3 else f"{seconds * 1e3:,.2f} ms"


def norms_view(name: str) -> None:
    """Norms of all heads of all layers, and how many parameters a head has."""
    norms = heads.head_norms(SharedModel(name), Options()).result
    parts = heads.layer_projections(SharedModel(name), 0)
    frame = pd.DataFrame(
        [(layer, head, *row) for layer, rows in enumerate(norms.tolist()) for head, row in enumerate(rows)],
        columns=["layer", "head", *(SYMBOLS[block] for block in BLOCKS)],
    )
    spec, code = head_norms_figure(norms, parts.model), lines.norms_code(name, parts)
    with figure_block(spec, f"norms of heads {parts.model}", frame, explanation=(NORMS_WORDS, code)):
        _chosen_head(spec.chart, norms)
        _parameters(head_parameters(parts), parts)


def _chosen_head(key: str, norms: Float[np.ndarray, "layers heads blocks"]) -> None:
    """The clicked head, its norms, and links to it."""
    cell = cell_click(key)
    if not cell or cell[0] >= norms.shape[0] or cell[1] >= norms.shape[1]:
        st.caption(
            "Click a cell to open its head. A small norm says that the numbers are small, not that the head is useless."
        )
        return
    layer, head = cell
    found = ", ".join(
        f"${SYMBOLS[block]}$ {norm:.4f}" for block, norm in zip(BLOCKS, norms[layer, head].tolist(), strict=True)
    )
    place = (("layer", str(layer)), ("head", str(head)))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Layer {layer}, head {head}: {found}.", width="content")
        for label, view in (("Its matrices", "Matrices"), ("One cell", "One cell")):
            st.button(label, on_click=_open_head, args=(view, layer, head), key=f"open_{view.replace(' ', '_')}")
        link = PageLink("Attention", address("attention", place), "hub")
        page_links([("", [link])], "heads_attention", label="The same head on another page", width="content")


def _open_head(view: str, layer: int, head: int) -> None:
    """Open a head in a view of this page; written into the address here, since new widgets do not write it."""
    open_view(view)
    st.session_state[WEIGHTS.key] = WEIGHTS.options[0]
    session.store(HEAD, head)
    store_layer(layer)
    for key, place in ((LAYER, layer), (HEAD, head)):
        put(key, str(place) if place else None)


def _parameters(parameters: HeadParameters, parts: HeadProjections) -> None:
    with st.container(horizontal=True):
        for block in BLOCKS:
            blocks = parts.blocks(block)
            biased = block != "output" and parts.bias(block) is not None
            shape = " × ".join(str(size) for size in blocks.shape[1:])
            words = f"{shape}{f' + {blocks.shape[1]} biases' if biased else ''}; {parameters.heads[block]} such blocks."
            st.metric(f"${SYMBOLS[block]}$ of a head", count(parameters.per_head[block]), help=words)
        st.metric(
            "Outside the heads",
            count(parameters.outside_heads),
            help="The bias of the output, and columns that belong to no head.",
        )
        st.metric("Total, layer 0", count(parameters.total), help="The blocks of all heads, and what is outside them.")


def times(name: str, text: str, pair: str | None, products: FusedVsPerHead) -> ProductTimes | None:
    """Times of both ways, measured once for each reader, and again on request."""
    model = models.loaded(name)
    what = (model.name, model.revision, text, pair, products.layer, products.block)
    stored = session.stored(MEASURED)
    if stored is None or stored[0] != what:
        stored = (what, time_products(model, products))
        session.store(MEASURED, stored)
    measured: ProductTimes | None = stored[1]
    return measured


def forget_times() -> None:
    """Measure both ways again."""
    session.store(MEASURED, None)


VIEWS: Mapping[str, Callable[[str], None]] = {"Matrices": matrix_view, "One cell": cell_view}
"""Name -> view of a model; of all layers, the first is norms_view."""
