"""One head of a very long text: a pooled picture, a part of it, and the exact row of one token."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.attention import attention_rows
from bertviz_core.results.trace import Trace
from figures.attention_pictures import long_picture
from ui import attention_maps
from ui.attention_controls import position, position_range
from ui.attention_words import CODE, FORMULAS
from ui.errors import plain
from ui.export import chart, download_row, explained, numbers_table
from ui.head_controls import head_select, layer_select

KEY = "attention_long"
NEAREST = 20


@st.fragment
def long_view(trace: Trace) -> None:
    """One head at a time, tiled: no whole map is ever in memory."""
    seq = len(trace.tokens)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer, head = layer_select(trace.num_hidden_layers), head_select(trace.num_attention_heads)
        top, bottom = position_range("Queries", "queries", seq)
        left, right = position_range("Keys", "keys", seq)
    found = attention_maps.part_map(trace, layer, head, (top, bottom, left, right))
    block = (-(-(bottom - top) // len(found.row_starts)), -(-(right - left) // len(found.column_starts)))
    picture = long_picture(found, trace, layer, head)
    title = picture.title
    chart(picture, KEY)
    st.caption(
        f"{seq:,} × {seq:,} weights. Each cell is the largest of {block[0]} × {block[1]}; the softmax is over "
        "the whole row. Narrow the ranges to come closer."
    )
    table = pd.DataFrame(found.weights, columns=[f"from {start}" for start in found.column_starts])
    table.insert(0, "query from", found.row_starts)
    words = f"{title}. Largest weight of {block[0]} × {block[1]} cells."
    download_row(picture, KEY, title, words, table, trace.tokens)
    _row(trace, layer, head)
    explained(KEY, FORMULAS["attention"], CODE["attention"].format(layer=layer, head=head))


def _row(trace: Trace, layer: int, head: int) -> None:
    """What one token looks at, exactly."""
    query = position("Query", "query", len(trace.tokens))
    row = attention_rows(trace, layer, head, slice(query, query + 1))[0]
    most = np.argsort(-row, kind="stable")[:NEAREST]
    st.markdown(
        f"Token {query} **{plain(trace.tokens.tokens[query])}** looks at these {len(most)} tokens with "
        f"**{row[most].sum():.4f}** of a row that sums to {row.sum():.4f}."
    )
    frame = pd.DataFrame({"key": most, "token": [trace.tokens.tokens[key] for key in most], "weight": row[most]})
    numbers_table(frame, f"Keys that token {query} looks at most")
