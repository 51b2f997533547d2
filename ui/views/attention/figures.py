"""The opened head as a figure of its own, and its three readings side by side."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, MapOptions
from bertviz_core.figures.attention.atlas import atlas_figure
from bertviz_core.figures.attention.heatmap import attention_map_figure, readings_figure
from bertviz_core.figures.attention.lines import lines_figure
from bertviz_core.trace.results import Trace
from ui.components.attention.legend import MEASURES
from ui.views.attention import cache
from ui.views.attention.texts import LABELS
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import chart, download_row, folded, numbers_table

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


def folded_atlas(atlas: AttentionAtlas, trace: Trace) -> None:
    """All heads as a figure of their own, for a slide."""
    key = "attention_atlas"
    with folded("All heads as a figure", f"{key}_figure") as place:
        if place.open:
            picture = atlas_figure(atlas, trace)
            chart(picture, key)
            frame = measures_frame(atlas)
            download_row(picture, key, picture.title, picture.title, frame, trace.tokens)
            numbers_table(frame, f"What each head does: {picture.title}", 240)


def measures_frame(atlas: AttentionAtlas) -> pd.DataFrame:
    """What every head does, a row each."""
    layers, heads = atlas.measures.entropy.shape
    frame = pd.DataFrame([(layer, head) for layer in range(layers) for head in range(heads)], columns=["layer", "head"])
    for name, (words, *_) in MEASURES.items():
        frame[words] = getattr(atlas.measures, name).ravel()
    return frame


def folded_head(found: AttentionMap, trace: Trace, lines: bool) -> None:
    """The opened head as a figure of its own, for a slide: a map, or lines where the view draws those."""
    with folded("The opened head as a figure", f"{KEY}_figure") as place:
        if place.open:
            picture = lines_figure(found, trace) if lines else attention_map_figure(found, trace)
            chart(picture, "attention_figure")
            title, table = picture.title, frame_of(found)
            download_row(picture, "attention_figure", title, title, table, trace.tokens)


def folded_readings(trace: Trace, layer: int, head: int, reading: MapOptions) -> None:
    """The raw weights, the value-weighted ones and the rollout, side by side."""
    key = "attention_beside"
    with folded("Raw, value-weighted and rollout side by side", key) as place:
        if place.open:
            with shown_to_user():
                maps = [cache.one_map(trace, layer, head, replace(reading, weights=each)) for each in LABELS]
            picture = readings_figure(maps, trace)
            title = picture.title
            chart(picture, f"{key}_chart")
            for each in LABELS.values():
                st.caption(each)
            st.caption("Each map has a scale of its own. The rollout takes all heads of the layers up to this one.")
            frames = [frame_of(each).assign(reading=each.reading.weights) for each in maps]
            tops = ", ".join(f"{float(each.weights.max(initial=0)):.3g}" for each in maps)
            words = f"{title}. Every map has its own colours, from 0 to {tops}"
            download_row(picture, f"{key}_chart", title, words, pd.concat(frames), trace.tokens)
