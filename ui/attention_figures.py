"""The opened head as a figure of its own, and its three readings side by side."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from bertviz_core.results.attention import AttentionMap, Reading
from bertviz_core.results.trace import Trace
from figures.attention import attention_triptych
from figures.picture import Picture
from figures.trace_pictures import attention_picture
from ui import attention_maps
from ui.attention_words import LABELS
from ui.errors import told
from ui.export import chart, download_row

KEY = "attention_heads"
"""Key of the view that the figures belong to."""


def frame_of(found: AttentionMap) -> pd.DataFrame:
    """A map as a table: a row per query, a column per key, and what is hidden."""
    columns = [f"{place} {label}" for place, label in enumerate(found.keys.labels)]
    frame = pd.DataFrame(found.weights, columns=columns)
    frame.insert(0, "query", [f"{place} {label}" for place, label in enumerate(found.queries.labels)])
    if found.hidden_share.any():
        frame["hidden"] = found.hidden_share
    return frame


def head_figure(found: AttentionMap, trace: Trace) -> None:
    """The opened head as a figure of its own, for a slide."""
    with st.expander("The opened head as a figure", key=f"{KEY}_figure", on_change="rerun") as place:
        if place.open:
            picture = attention_picture(found, trace)
            chart(picture, "attention_figure")
            title, table = picture.title, frame_of(found)
            download_row(picture, "attention_figure", title, title, table, trace.tokens)


def three_readings(trace: Trace, layer: int, head: int, reading: Reading, special: list[int]) -> None:
    """The raw weights, the value-weighted ones and the rollout, side by side."""
    key = "attention_beside"
    with st.expander("Raw, value-weighted and rollout side by side", key=key, on_change="rerun") as place:
        if place.open:
            with told():
                maps = [attention_maps.one_map(trace, layer, head, replace(reading, weights=each)) for each in LABELS]
            title = f"Layer {layer}, head {head}: three readings - {trace.model}"
            alt = f"{title}: queries by keys, three maps"
            picture = Picture(title, alt, lambda look: attention_triptych(maps, special, title, look))
            chart(picture, f"{key}_chart")
            for each in LABELS.values():
                st.caption(each)
            st.caption("Each map has a scale of its own. The rollout takes all heads of the layers up to this one.")
            frames = [frame_of(each).assign(reading=each.reading.weights) for each in maps]
            tops = ", ".join(f"{float(each.weights.max(initial=0)):.3g}" for each in maps)
            words = f"{title}. Every map has its own colours, from 0 to {tops}"
            download_row(picture, f"{key}_chart", title, words, pd.concat(frames), trace.tokens)
