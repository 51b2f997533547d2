"""The views of the attention page: all heads with those opened, and one head of a very long text."""

from functools import partial

import numpy as np
import streamlit as st

from bertviz_core.attention_axes import blocks_of
from bertviz_core.results.attention import AttentionAtlas, AttentionMap, PooledMap, Reading
from bertviz_core.results.trace import Trace
from figures.attention import UNITS
from figures.caption import Caption
from figures.style import theme
from figures.trace_pictures import attention_title
from ui import attention_maps, controls
from ui.attention_controls import (
    asked_look,
    keep_look,
    reading_controls,
    take_look,
    take_opened,
    weights_choice,
)
from ui.attention_figures import KEY, atlas_figure, frame_of, head_figure, three_readings
from ui.attention_words import CODE, LABELS, explanation
from ui.components.attention_html import attention_html, file_payload
from ui.components.attention_payload import identity
from ui.components.attention_view import ViewState, attention_state, attention_view, opened_head, said_last
from ui.errors import plain, told
from ui.export import csv_text, explained, file_name, folded_table
from ui.head_controls import head_select, layer_select


def heads_view(trace: Trace) -> None:
    """The atlas with the opened heads; short texts in every reading, long ones as they are."""
    take_look(said_last(KEY))
    _heads(trace)


@st.fragment
def _heads(trace: Trace) -> None:
    long = attention_maps.cells(trace) > attention_maps.ATLAS_CELLS
    with st.container(horizontal=True, vertical_alignment="bottom"):
        weights = "attention" if long else weights_choice()
        layer = layer_select(trace.num_hidden_layers)
        head = 0 if weights == "rollout" else head_select(trace.num_attention_heads)
        reading = Reading() if long else reading_controls(weights, blocks_of(trace.tokens))
    st.caption(LABELS[weights])
    with told():
        atlas = attention_maps.atlas(trace, reading, _progress(trace) if long else None)
    said, shown = said_last(KEY), (identity(atlas), (layer, head))
    state = attention_state(KEY, atlas, (layer, head), asked_look(said, shown))
    special = np.flatnonzero(trace.tokens.special).tolist()
    attention_view(
        atlas,
        [_map(trace, *each, reading, state, long) for each in (*state.missing, *state.ahead)],
        state,
        key=KEY,
        title=trace.model,
        look=theme(controls.theme_name()),
        special=special,
        taken=keep_look(state.look, said, shown),
        on_change=partial(_follow, weights != "rollout"),
    )
    if long:
        return
    found = attention_maps.one_map(trace, layer, head, reading)
    title = attention_title(found, trace.model)
    _exact(trace, reading, state)
    _hidden(found)
    _downloads(trace, atlas, found, reading, title, special)
    head_figure(found, trace, state.look.lines)
    atlas_figure(atlas, trace)
    three_readings(trace, layer, head, reading)
    explained(KEY, explanation(reading), CODE[reading.weights].format(layer=layer, head=head))


def _map(
    trace: Trace, layer: int, head: int, reading: Reading, state: ViewState, long: bool
) -> AttentionMap | PooledMap:
    if long:
        return attention_maps.part_map(trace, layer, head, state.range)
    return attention_maps.one_map(trace, layer, head, reading)


def _follow(with_head: bool) -> None:
    take_opened(opened_head(KEY), with_head)


def _exact(trace: Trace, reading: Reading, state: ViewState) -> None:
    """The exact value of the cell that was clicked; the view itself says that one can."""
    if state.cell is None:
        return
    layer, head, query, key = state.cell
    found = attention_maps.one_map(trace, layer, head, reading)
    row = found.weights[query]
    total = f"; the row shows {row.sum():.4f} and hides {found.hidden_share[query]:.4f}"
    st.markdown(
        f"Layer {layer}{'' if reading.weights == 'rollout' else f', head {head}'}: "
        f"{query} **{plain(found.queries.labels[query])}** looks at {key} **{plain(found.keys.labels[key])}** "
        f"with **{row[key]:.7f}**{total}."
    )


def _hidden(found: AttentionMap) -> None:
    """What is not shown, where something is not."""
    share = found.hidden_share
    if share.any():
        words = "of each row lies" if found.reading.weights != "value-weighted" else "of the norms of each row lie"
        st.markdown(
            f"On keys that are not shown {words} between **{share.min():.4f}** and **{share.max():.4f}**, "
            f"on average **{share.mean():.4f}**. Nothing is renormalised."
        )


def _downloads(
    trace: Trace, atlas: AttentionAtlas, found: AttentionMap, reading: Reading, title: str, special: list[int]
) -> None:
    """The whole view as one file that opens without a network, and the opened map as numbers."""
    look = theme(controls.theme_name())
    name, read = file_name(KEY, title), trace.tokens
    texts = tuple(text for text in (read.text, read.pair) if text)
    top = float(found.weights.max(initial=0))
    colours = f"{UNITS[reading.weights]}, 0 to {top:.3g} in the opened head"
    caption = Caption(LABELS[reading.weights], ((trace.model, trace.revision),), texts, colours).line

    def page() -> str:
        payload = file_payload(
            atlas,
            [found],
            lambda layer, head: attention_maps.one_map(trace, layer, head, reading),
            title=trace.model,
            look=look,
            special=special,
            heads=[(found.layer, found.head or 0)],
        )
        return attention_html(payload, title, caption)

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            "HTML of this view",
            page,
            f"{name}.html",
            "text/html",
            key=f"{KEY}_html",
            help="One file with all heads; opens without a network.",
            on_click="ignore",
        )
        st.download_button(
            "CSV", lambda: csv_text(frame_of(found)), f"{name}.csv", "text/csv", key=f"{KEY}_csv", on_click="ignore"
        )
    folded_table(KEY, frame_of(found), title)


def _progress(trace: Trace) -> attention_maps.Progress:
    """Tells how many heads are done; what it writes is where a click ends the work."""
    place = st.empty()

    def tell(done: int, heads: int) -> None:
        place.progress(done / heads, f"Head {done} of {heads}: {len(trace.tokens):,} tokens")
        if done == heads:
            place.empty()

    return tell
