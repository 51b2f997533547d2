"""One cell of attention: every number from two vectors to a weight, and to the head's output."""

from functools import partial

import pandas as pd
import streamlit as st

from bertviz_core.figures.heads.score_breakdown import cell_figure, mix_figure, mix_place
from bertviz_core.heads.results import CellBreakdown, ScoreBreakdown
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts import heads
from bertviz_core.text import digits
from bertviz_core.trace.results import Trace
from ui.cache.shared_model import SharedModel
from ui.views.heads.reproduction import cell_code
from ui.views.heads.texts import CELL_WORDS, POSITIONS, REMAINDER
from ui.widgets import cell_controls, text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import explained, figure_block, folded, numbers_table
from ui.widgets.formatting import run_words
from ui.widgets.models import run_model
from ui.widgets.view_and_layer import layer_select

KEY = "heads_cell"
ROW_OF_WEIGHTS = 1
"""Index of the figure's trace with the weights."""


def cell_view(name: str) -> None:
    """One cell of the attention on this text."""
    with st.spinner("Running the model"):
        trace = run_model.traced(name, text_fields.text(), text_fields.pair())
    _cell(name, trace)


@st.fragment
@shown_to_user()
def _cell(name: str, trace: Trace) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer = layer_select(trace.num_hidden_layers)
        parts = heads.layer_projections(SharedModel(name), layer)
        head = cell_controls.head_select(parts.num_heads)
        query, key = cell_controls.query_select(trace.tokens), cell_controls.key_select(trace.tokens)
    chosen = {"layer": layer, "head": head, heads.QUERY.key: query, heads.KEY.key: key}
    options = Options((trace.tokens.text,), trace.tokens.pair, values={each: str(at) for each, at in chosen.items()})
    cell = heads.cell(SharedModel(name, trace), options).result
    spec = cell_figure(cell, trace)
    title = spec.title
    frame = pd.DataFrame({"number": range(len(cell.score.query)), "q": cell.score.query, "k": cell.score.key})
    frame["product"] = cell.score.products
    words = figure_block(
        spec,
        f"attention layer {layer} head {head} cell {query} {key} {trace.model}",
        frame,
        alt=f"Products: {title}",
        texts=trace.tokens,
        on_select=partial(cell_controls.take_key, KEY, ROW_OF_WEIGHTS),
    )
    with words:
        _checks(cell)
        st.caption(f"The model ran {run_words(trace.device, trace.dtype)}.")
    row = pd.DataFrame({"position": range(len(trace.tokens)), "key": list(trace.tokens.tokens)})
    row["score"], row["weight"], row["in the map"] = cell.score.scores, cell.score.weights, cell.score.model_weights
    with folded("The row of weights as a table", "heads_row") as place:
        if place.open:
            numbers_table(row, f"Row of weights: {title}")
    _mix(cell, trace)
    code = cell_code(name, trace, cell, parts)
    explained(KEY, " ".join([CELL_WORDS, *_remarks(cell.score)]), code)


def _checks(cell: CellBreakdown) -> None:
    """The comparison with the model, in a line, and its remaining terms."""
    score = cell.score
    weight, own = score.weights[cell.key_position], score.model_weights[cell.key_position]
    line = (
        f"Weight by hand **{weight:.6f}**, in the attention map **{own:.6f}**; "
        f"largest difference in the row **{digits(score.max_difference, 2)}**."
    )
    if score.projection_difference is not None:
        what = "the lengths of the vectors" if score.positions == "rotated" else "query and key"
        line += (
            f" Largest difference from {what} that the model multiplied: **{digits(score.projection_difference, 2)}**."
        )
    st.markdown(line)
    for remark in _remarks(score):
        st.caption(remark)


def _remarks(score: ScoreBreakdown) -> list[str]:
    remarks = [POSITIONS[score.positions]] if score.positions in POSITIONS else []
    if score.query_factor != 1:
        remarks.append(f"This family multiplies the query with {digits(score.query_factor)} before the product.")
    if score.is_remainder:
        remarks.append(REMAINDER.format(name=score.added_name))
    return remarks


def _mix(cell: CellBreakdown, trace: Trace) -> None:
    """The head's output: the weighted sum of the values, through the head's columns of W_o."""
    st.header("Head output (added to the residual stream)", anchor=False)
    mix = cell.output
    frame = pd.DataFrame({"number": range(len(mix.head_output)), "part of the output": mix.head_output})
    filename = f"head output {mix_place(cell, trace)} {trace.model}"
    words = figure_block(mix_figure(cell, trace), filename, frame, texts=trace.tokens)
    if mix.output_difference is None or mix.mix_difference is None:
        words.markdown("This family applies `W_o` as a bare tensor, so its output cannot be compared here.")
    else:
        rest = f", plus what comes from outside the heads (length {mix.rest_norm:.3f})" if mix.rest_norm else ""
        words.markdown(
            f"The outputs of all heads, plus the bias{rest}, add up to the output of the layer's attention; largest "
            f"difference from the model's own **{digits(mix.output_difference, 2)}**."
        )
