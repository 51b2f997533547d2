"""Views of the page Attention."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import cast

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.attention.maps import attention_rows, blocks_of
from bertviz_core.attention.results import (
    OF_LAYERS,
    AttentionAtlas,
    AttentionMap,
    Block,
    MapOptions,
    PooledMap,
    Weights,
)
from bertviz_core.attention.value_zeroing import require_values
from bertviz_core.errors import Progress
from bertviz_core.figures.attention.maps import attention_title, long_figure, readings_figure
from bertviz_core.figures.base.style import theme_named
from bertviz_core.questions.parameters import Param
from bertviz_core.questions.texts.attention import KEYS, PART, PUNCTUATION, QUERIES, READINGS, SPECIAL, WEIGHTS, WORDS
from bertviz_core.questions.texts.hidden_states import QUERY
from bertviz_core.text import escape_markdown
from bertviz_core.trace.cost import run_cost
from bertviz_core.trace.results import Trace
from ui import session
from ui.address.navigation import bring_along
from ui.address.registry import component_text, read_component, write_component
from ui.address.widgets import choice, keep_among, span, toggle, whole
from ui.cache import models
from ui.cache.figures import view_in_sight
from ui.components.attention.payload import identity
from ui.components.attention.view import (
    ViewOptions,
    ViewState,
    attention_state,
    attention_view,
    from_query,
    last_serial,
    opened_head,
    to_query,
)
from ui.views.attention import cache
from ui.views.attention.compared import compared_block
from ui.views.attention.downloads import (
    KEY,
    atlas_files,
    frame_of,
    head_files,
    measures_frame,
    note_view,
    scale_sentence,
)
from ui.views.attention.texts import FORMULAS, LABELS, attention_code, explanation
from ui.widgets.figure_block import explained, figure_block, folded, folded_table, numbers_table
from ui.widgets.heading import HEAD, head_select
from ui.widgets.models import LAYER, layer_select, store_layer
from ui.widgets.run_model import CONFIRM_ABOVE_SECONDS, agreed_cost, shown_to_user

SWITCHES = {
    WORDS: ("Merge pieces to words", "Weights on the pieces of a word are added up, their rows averaged."),
    SPECIAL: (
        "Hide special tokens",
        "Without [CLS], [SEP] and the like. Their share is stated beside the map; nothing is renormalised.",
    ),
    PUNCTUATION: ("Hide punctuation", "Without punctuation marks and symbols, as queries and as keys."),
}
"""Parameter -> label and help."""
LOOK = "look"
"""Name in the address."""
Shown = tuple[str, tuple[int, int]]
"""Identity of what the view shows, and (layer, head) of the open head."""


def weights_choice() -> Weights:
    """The kind of weights in the cells."""
    return choice(
        WEIGHTS,
        "Weights",
        READINGS,
        help="attention: the model's own attention weights. value-weighted: each weight times the length of the value "
        "vector that it weights. rollout: attention traced back to the input through all layers up to this one. "
        "value-zeroing: how far a token's vector turns when another token's value is set to zero in this layer.",
    )


def reading_controls(weights: Weights, blocks: tuple[Block, ...]) -> MapOptions:
    """Tokens shown in the maps; for a pair also which part of it."""
    with st.popover("Tokens", key="attention_tokens", width="content"):
        switches = {each.key: toggle(each, label, help=words) for each, (label, words) in SWITCHES.items()}
        block: Block = "all"
        if len(blocks) > 1:
            words = "A is the first text, B the second. A to B: how the first text attends to the second."
            block = choice(PART, "Part of the pair", blocks, help=words)
    return MapOptions(weights, block=block, **switches)


def store_opened(head: tuple[int, int] | None, with_head: bool) -> None:
    """Update layer and head after a head was opened in the view; a change of its looks leaves them."""
    if head is None:
        return
    if str(head[0]) != st.session_state.get(LAYER):
        store_layer(head[0])
    if with_head and head[1] != st.session_state.get(HEAD):
        st.session_state[HEAD] = head[1]


def requested_options(serial: int | None, shown: Shown) -> ViewOptions | None:
    """Return the options in the address; None if the browser has sent a message since.

    Positions in another text have no meaning in this one, and a clicked cell belongs to the head that was open.
    """
    state = component_text(LOOK, serial)
    if state is None:
        return None
    look, before = from_query(state.text), cast(Shown | None, state.shown)
    if before is None or before == shown:
        return look
    return replace(look, cell=None) if before[0] == shown[0] else replace(look, zoom=None, cell=None, pins=())


def position_range(param: Param, label: str, seq: int) -> tuple[int, int]:
    """First position and end of a part of a long text."""
    first, last = span(param, label, seq, (0, seq - 1))
    return first, last + 1


def position(param: Param, label: str, seq: int) -> int:
    """One position of a text."""
    bring_along(param.key)
    keep_among(param.key, range(seq), 0)
    return whole(param, label, 0, seq - 1, 0)


def folded_measures(atlas: AttentionAtlas, trace: Trace) -> None:
    """The measures of all heads, as a table."""
    with folded("What each head does, as a table", "attention_measures") as place:
        if place.open:
            numbers_table(measures_frame(atlas), f"What each head of {trace.model} does", 240)


def folded_readings(trace: Trace, layer: int, head: int, reading: MapOptions) -> None:
    """The raw weights, the value-weighted ones, the rollout and value zeroing, side by side."""
    key = "attention_beside"
    with folded("Raw, value-weighted, rollout and value zeroing side by side", key) as place:
        if place.open:
            with shown_to_user():
                readings, without = _readings(trace)
                maps = [cache.one_map(trace, layer, head, replace(reading, weights=each)) for each in readings]
            spec = readings_figure(maps, trace)
            frames = [frame_of(each).assign(reading=each.options.weights) for each in maps]
            tops = ", ".join(f"{float(each.weights.max(initial=0)):.3g}" for each in maps)
            caption = f"{spec.title}. Every map has its own colours, from 0 to {tops}"
            table = pd.concat(frames)
            words = figure_block(spec, spec.title, table, numbers="in files", caption=caption, texts=trace.tokens)
            for each in readings:
                words.caption(LABELS[each])
            words.caption(
                "Each map has its own scale. The rollout takes all heads of the layers up to this one, value "
                f"zeroing all heads of this layer.{without}"
            )


def _readings(trace: Trace) -> tuple[list[Weights], str]:
    """Readings that the model has and that are fast, and why value zeroing is missing."""
    seq = len(trace.tokens)
    others: list[Weights] = [each for each in LABELS if each != "value-zeroing"]
    if trace.attention_source != "recorded":
        return others, " Value zeroing needs values, which are not known here."
    if run_cost(models.loaded(trace.model), seq, runs=seq).seconds > CONFIRM_ABOVE_SECONDS:
        return others, " Value zeroing of a text this long is computed where it is chosen under Weights."
    return list(LABELS), ""


LONG_KEY = "attention_long"
NEAREST = 20
SLIDER = 270
"""Pixels of the layer widget, which shares a row with other widgets."""
ZEROING = "value-zeroing"
QUIET_S = 0.4
"""Shorter work shows no progress, so that nothing flickers."""
MOSTLY = 0.5
"""Share on special tokens above which hiding them is suggested."""


def long_view(trace: Trace) -> None:
    """One head of a long text, and what all of them would cost."""
    heads = trace.num_hidden_layers * trace.num_attention_heads
    st.caption(f"All {heads} heads at a glance would take about {cache.atlas_words(trace)}.")
    _long_head(trace)


@st.fragment
def _long_head(trace: Trace) -> None:
    """One head at a time, computed in tiles so that the whole map is never in memory."""
    seq = len(trace.tokens)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer, head = layer_select(trace.num_hidden_layers), head_select(trace.num_attention_heads)
        top, bottom = position_range(QUERIES, "Queries", seq)
        left, right = position_range(KEYS, "Keys", seq)
    attention_map = cache.part_map(trace, layer, head, (top, bottom, left, right))
    block = (
        -(-(bottom - top) // len(attention_map.row_starts)),
        -(-(right - left) // len(attention_map.column_starts)),
    )
    spec = long_figure(attention_map, trace)
    table = pd.DataFrame(attention_map.weights, columns=[f"from {start}" for start in attention_map.column_starts])
    table.insert(0, "query from", attention_map.row_starts)
    caption = f"{spec.title}. Largest weight of {block[0]} × {block[1]} cells."
    words = figure_block(spec, spec.title, table, numbers="in files", caption=caption, texts=trace.tokens)
    words.caption(
        f"{seq:,} × {seq:,} weights. Each cell is the largest of {block[0]} × {block[1]}; the softmax is over "
        "the whole row. Narrow the ranges for more detail."
    )
    _row(trace, layer, head)
    explained(LONG_KEY, FORMULAS["attention"], attention_code(trace, layer, head, MapOptions()))
    _receipt(st.empty(), trace)


def _row(trace: Trace, layer: int, head: int) -> None:
    """The exact weights of one token."""
    query = position(QUERY, "Query", len(trace.tokens))
    row = attention_rows(trace, layer, head, slice(query, query + 1))[0]
    most = np.argsort(-row, kind="stable")[:NEAREST]
    st.markdown(
        f"Token {query} **{escape_markdown(trace.tokens.tokens[query])}** looks at these {len(most)} tokens with "
        f"**{row[most].sum():.4f}** of a row that sums to {row.sum():.4f}."
    )
    frame = pd.DataFrame({"key": most, "token": [trace.tokens.tokens[key] for key in most], "weight": row[most]})
    numbers_table(frame, f"Keys that token {query} looks at most")


def heads_view(trace: Trace) -> None:
    """All heads with the open ones; long texts have one reading only."""
    read_component(LOOK, last_serial(KEY))
    _heads(trace)


@st.fragment
def _heads(trace: Trace) -> None:
    long = cache.cells(trace) > cache.ATLAS_CELLS
    with st.container(horizontal=True, vertical_alignment="bottom"):
        weights = "attention" if long else weights_choice()
        layer = layer_select(trace.num_hidden_layers, width=SLIDER)
        head = 0 if weights in OF_LAYERS else head_select(trace.num_attention_heads)
        reading = MapOptions() if long else reading_controls(weights, blocks_of(trace.tokens))
    with shown_to_user():
        atlas = cache.atlas(
            trace, reading, _progress(trace) if long else _zeroing(trace) if weights == ZEROING else None
        )
    serial, shown, second = last_serial(KEY), (identity(atlas), (layer, head)), trace.tokens.second_start
    state = attention_state(KEY, atlas, (layer, head), requested_options(serial, shown))
    map_of = partial(_map, trace, reading=reading, state=state, long=long)
    attention_view(
        atlas,
        [map_of(*each) for each in (*state.missing, *state.ahead)],
        state,
        key=KEY,
        title=trace.model,
        theme=theme_named(session.theme_name()),
        special=np.flatnonzero(trace.tokens.special).tolist(),
        second=second,
        reads=write_component(LOOK, to_query(state.look), serial, shown),
        on_change=partial(_follow, weights not in OF_LAYERS),
    )
    st.caption(LABELS[weights])
    if view_in_sight() is not None:
        note_view(trace, atlas, map_of, state)
    place = st.empty()
    if long:
        _receipt(place, trace)
        return
    attention_map = cache.one_map(trace, layer, head, reading)
    _exact(trace, reading, state)
    _hidden(attention_map)
    _special(atlas, attention_map)
    head_files(trace, atlas, map_of, attention_map, state)
    atlas_files(trace, atlas, state.look)
    scale = scale_sentence(atlas, [map_of(*each) for each in state.heads], state.look)
    folded_table(KEY, frame_of(attention_map), attention_title(attention_map, trace.model), scale=scale)
    folded_measures(atlas, trace)
    folded_readings(trace, layer, head, reading)
    explained(KEY, explanation(reading), attention_code(trace, layer, head, reading))
    _receipt(place, trace)
    compared_block(trace, layer, head, reading)


def _receipt(place: DeltaGenerator, trace: Trace) -> None:
    """Show the result of the comparison with the model's own attention, made after the picture is drawn."""
    if trace.attention_source != "recorded":
        return
    if words := cache.receipt(trace):
        place.caption(words)
    else:
        st.rerun()


def _map(
    trace: Trace, layer: int, head: int, *, reading: MapOptions, state: ViewState, long: bool
) -> AttentionMap | PooledMap:
    if long:
        return cache.part_map(trace, layer, head, state.range)
    return cache.one_map(trace, layer, head, reading)


def _follow(with_head: bool) -> None:
    store_opened(opened_head(KEY), with_head)


def _exact(trace: Trace, reading: MapOptions, state: ViewState) -> None:
    """The exact value of the clicked cell."""
    if state.cell is None:
        return
    layer, head, query, key = state.cell
    attention_map = cache.one_map(trace, layer, head, reading)
    row = attention_map.weights[query]
    verb = "depends on" if reading.weights == "value-zeroing" else "looks at"
    total = f"; the row shows {row.sum():.4f} and hides {attention_map.hidden_share[query]:.4f}"
    st.markdown(
        f"Layer {layer}{'' if reading.weights in OF_LAYERS else f', head {head}'}: "
        f"{query} **{escape_markdown(attention_map.queries.labels[query])}** {verb} {key} "
        f"**{escape_markdown(attention_map.keys.labels[key])}** "
        f"with **{row[key]:.7f}**{total}."
    )


def _hidden(attention_map: AttentionMap) -> None:
    """The share of hidden keys, where keys are hidden."""
    share = attention_map.hidden_share
    if share.any():
        words = "the norms of a row" if attention_map.options.weights == "value-weighted" else "a row"
        st.markdown(
            f"The hidden keys have between **{share.min():.4f}** and **{share.max():.4f}** of {words}, "
            f"**{share.mean():.4f}** on average. Nothing is renormalised."
        )


def _special(atlas: AttentionAtlas, attention_map: AttentionMap) -> None:
    """A hint where most of the attention is on special tokens."""
    measured = atlas.measures.special_share[attention_map.layer, attention_map.head or 0]
    if attention_map.options.weights == "attention" and not attention_map.options.hide_special and measured >= MOSTLY:
        st.caption(
            f"Of the weights drawn, this head puts {measured:.1%} on special tokens. **Hide special tokens**, under "
            "**Tokens** above, leaves the rest visible."
        )


def _zeroing(trace: Trace) -> Progress:
    """Ask for confirmation of slow value zeroing, and return a callback that shows progress; a click ends the work.

    Raises:
        UnsupportedModelError: the model's values cannot be found.
    """
    loaded, place, started = models.loaded(trace.model), st.empty(), perf_counter()
    require_values(loaded)
    agreed_cost(loaded, trace.tokens, runs=trace.num_hidden_layers * len(trace.tokens))

    def progress(done: int, values: int) -> None:
        if done == values:
            place.empty()
        elif perf_counter() - started > QUIET_S:
            place.progress(done / values, f"{done:,} of {values:,} values set to zero, one by one in every layer")

    return progress


def _progress(trace: Trace) -> Progress:
    """Show how many heads are done; writing to the page ends superseded work."""
    place = st.empty()

    def progress(done: int, heads: int) -> None:
        place.progress(done / heads, f"Head {done} of {heads}: {len(trace.tokens):,} tokens")
        if done == heads:
            place.empty()

    return progress


VIEWS: Mapping[str, Callable[[Trace], None]] = {"One head": long_view, "All heads": heads_view}
"""Name -> view of the run on a long text; the page of a shorter one is heads_view alone."""
