"""The opened head as a figure of its own, and its three readings side by side."""

from dataclasses import replace

import pandas as pd

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, MapOptions
from bertviz_core.figures.attention.atlas import atlas_figure
from bertviz_core.figures.attention.heatmap import attention_map_figure, readings_figure
from bertviz_core.figures.attention.lines import lines_figure
from bertviz_core.trace.results import Trace
from ui.components.attention.colours import MEASURES
from ui.views.attention import cache
from ui.views.attention.texts import LABELS
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block, folded

KEY = "attention_heads"
"""Key of the view that the figures belong to."""


def frame_of(attention_map: AttentionMap) -> pd.DataFrame:
    """A map as a table: a row per query, a column per key, and what is hidden."""
    columns = [f"{place} {label}" for place, label in enumerate(attention_map.keys.labels)]
    frame = pd.DataFrame(attention_map.weights, columns=columns)
    frame.insert(0, "query", [f"{place} {label}" for place, label in enumerate(attention_map.queries.labels)])
    if attention_map.hidden_share.any():
        frame["hidden"] = attention_map.hidden_share
    return frame


def folded_atlas(atlas: AttentionAtlas, trace: Trace) -> None:
    """All heads as a figure of their own, for a slide."""
    key = "attention_atlas"
    with folded("All heads as a figure", f"{key}_figure") as place:
        if place.open:
            spec = atlas_figure(atlas, trace)
            words = f"What each head does: {spec.title}"
            frame = measures_frame(atlas)
            figure_block(spec, spec.title, frame, alt=words, numbers="open", height=240, texts=trace.tokens)


def measures_frame(atlas: AttentionAtlas) -> pd.DataFrame:
    """What every head does, a row each."""
    layers, heads = atlas.measures.entropy.shape
    frame = pd.DataFrame([(layer, head) for layer in range(layers) for head in range(heads)], columns=["layer", "head"])
    for name, (words, *_) in MEASURES.items():
        frame[words] = getattr(atlas.measures, name).ravel()
    return frame


def folded_head(attention_map: AttentionMap, trace: Trace, lines: bool) -> None:
    """The opened head as a figure of its own, for a slide: a map, or lines where the view draws those."""
    with folded("The opened head as a figure", f"{KEY}_figure") as place:
        if place.open:
            spec = lines_figure(attention_map, trace) if lines else attention_map_figure(attention_map, trace)
            figure_block(spec, spec.title, frame_of(attention_map), numbers="in files", texts=trace.tokens)


def folded_readings(trace: Trace, layer: int, head: int, reading: MapOptions) -> None:
    """The raw weights, the value-weighted ones and the rollout, side by side."""
    key = "attention_beside"
    with folded("Raw, value-weighted and rollout side by side", key) as place:
        if place.open:
            with shown_to_user():
                maps = [cache.one_map(trace, layer, head, replace(reading, weights=each)) for each in LABELS]
            spec = readings_figure(maps, trace)
            frames = [frame_of(each).assign(reading=each.options.weights) for each in maps]
            tops = ", ".join(f"{float(each.weights.max(initial=0)):.3g}" for each in maps)
            caption = f"{spec.title}. Every map has its own colours, from 0 to {tops}"
            table = pd.concat(frames)
            words = figure_block(spec, spec.title, table, numbers="in files", caption=caption, texts=trace.tokens)
            for each in LABELS.values():
                words.caption(each)
            words.caption("Each map has a scale of its own. The rollout takes all heads of the layers up to this one.")
