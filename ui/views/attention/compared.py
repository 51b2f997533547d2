"""The attention of the second model of the sidebar beside that of the first, and which heads changed most."""

from functools import partial

import pandas as pd
import streamlit as st

from bertviz_core.attention.results import OF_LAYERS, MapOptions
from bertviz_core.errors import BertvizError
from bertviz_core.figures.attention.two_models import attention_changed_figure, attention_compared_figure
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.two_models.runs import (
    attention_comparison_frame,
    attention_that_changed,
    changed_heads_frame,
    heads_that_changed,
)
from bertviz_core.questions.texts.two_models import (
    OTHER_HEAD,
    OTHER_LAYER,
    changed_heads,
    compared_attention,
    second_sizes,
)
from bertviz_core.text import escape_markdown
from bertviz_core.trace.results import Trace
from ui.address.widgets import select
from ui.cache.shared_model import SharedModel
from ui.components.charts import cell_click
from ui.views.attention.texts import CHANGED, COMPARED, MERGE, SAME_PLACE, reading_values
from ui.widgets.figure_block import figure_block, numbers_table
from ui.widgets.heading import HEAD, unshown
from ui.widgets.lists import answer
from ui.widgets.models import beside, store_layer

MAP, TABLE = "attention_changed", "attention_changed_heads"
"""Keys of the map of all heads, and of the list of heads."""
HEIGHT = 240
"""Pixels of the list."""
AS_FIRST, PLACE_WIDTH = "same place", 220
"""The default of the second model's layer and head, and pixels of each list."""


def compared_block(trace: Trace, layer: int, head: int, reading: MapOptions) -> None:
    """Show the same head of both models and the changes of all heads; nothing without a second model.

    Args:
        trace: run of the first model.
        layer: layer of the open head.
        head: the open head.
        reading: what its cells are, and which tokens are shown.
    """

    def show(other: str) -> None:
        opened, tokens = SharedModel(trace.model, trace), trace.tokens
        values = {OTHER.key: other, **reading_values(layer, head, reading)}
        values |= _second_place(opened, other, trace, reading)
        _maps(opened, Options((tokens.text,), tokens.pair, values=values), trace)
        _changed(opened, Options((tokens.text,), tokens.pair, values={OTHER.key: other}))

    beside("attention_second", show)


def _second_place(opened: SharedModel, other: str, trace: Trace, reading: MapOptions) -> dict[str, str]:
    """Lists of the second model's layers and heads; the numbers that the reader has chosen."""
    sizes = second_sizes(opened, Options((trace.tokens.text,), trace.tokens.pair, values={OTHER.key: other}))
    params = (OTHER_LAYER, OTHER_HEAD)[: 1 if reading.weights in OF_LAYERS else 2]
    with st.container(horizontal=True):
        return {
            param.key: number
            for param, count in zip(params, sizes, strict=False)
            if count > 1 and (number := _place_select(param, count)) != AS_FIRST
        }


def _place_select(param: Param, count: int) -> str:
    """A layer or head of the second model as a number, or `AS_FIRST`."""
    label = f"{param.kind.capitalize()} of the second model"
    options = [AS_FIRST, *map(str, range(count))]
    return select(param, label, options, help=SAME_PLACE.format(noun=param.kind), width=PLACE_WIDTH)


def _maps(opened: SharedModel, options: Options, trace: Trace) -> None:
    """Both maps and their difference."""
    made = compared_attention(opened, options)
    compared = made.result
    models = tuple(dict.fromkeys(compared.models))
    if compared.same_entries:
        st.markdown(escape_markdown(attention_that_changed(compared)))
    spec = attention_compared_figure(compared)
    words = figure_block(
        spec,
        spec.title,
        attention_comparison_frame(compared),
        texts=made.texts,
        models=models,
        explanation=(COMPARED, library_lines(compared_attention, opened, options)),
    )
    for notice in unshown(made.notices):
        if notice not in (*trace.tokens.notices, *trace.notices):  # shown at the top of the page
            words.caption(escape_markdown(notice))
    if not compared.same_entries and not compared.first.options.words:
        words.caption(MERGE)


def _changed(opened: SharedModel, options: Options) -> None:
    """The divergence of every head as a map and as a list; where there is none, one sentence says why."""
    st.markdown("**Which heads changed most**")
    try:
        made = answer(changed_heads, opened, options)
    except BertvizError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    compared, frame = made.result, changed_heads_frame(made.result)
    st.markdown(escape_markdown(heads_that_changed(compared)))
    words = figure_block(
        attention_changed_figure(compared),
        f"changed heads {' '.join(dict.fromkeys((compared.first, compared.second)))}",
        frame,
        numbers="in files",
        texts=made.texts,
        models=tuple(dict.fromkeys((compared.first, compared.second))),
        explanation=(CHANGED, library_lines(changed_heads, opened, options)),
    )
    with words:
        cell_click(MAP, open_head)
    words.caption("Click a cell, or a row of the list below, to open that head above.")
    numbers_table(
        frame, "Heads by how far their attention is apart", HEIGHT, key=TABLE, on_row=partial(take_row, frame)
    )  # fmt: skip


def take_row(frame: pd.DataFrame) -> None:
    """Open the head of the selected row."""
    event = st.session_state.get(TABLE)
    rows = event["selection"]["rows"] if event else []
    if rows and rows[0] < len(frame):
        open_head(int(frame["layer"].iloc[rows[0]]), int(frame["head"].iloc[rows[0]]))


def open_head(layer: int, head: int) -> None:
    """Open a head of both models above; a callback, so that widgets, which are drawn before, write the address."""
    for param in (OTHER_LAYER, OTHER_HEAD):
        if param.key in st.session_state:
            st.session_state[param.key] = AS_FIRST
    store_layer(layer)
    st.session_state[HEAD] = head
