"""What stands folded below the attention view: the measures of all heads, and the opened head read in three ways."""

from dataclasses import replace

import pandas as pd

from bertviz_core.attention.results import AttentionAtlas, MapOptions
from bertviz_core.figures.attention.heatmap import readings_figure
from bertviz_core.trace.results import Trace
from ui.views.attention import cache
from ui.views.attention.files import frame_of, measures_frame
from ui.views.attention.texts import LABELS
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block, folded, numbers_table


def folded_measures(atlas: AttentionAtlas, trace: Trace) -> None:
    """What each head does, as a table."""
    with folded("What each head does, as a table", "attention_measures") as place:
        if place.open:
            numbers_table(measures_frame(atlas), f"What each head of {trace.model} does", 240)


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
