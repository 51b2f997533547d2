"""Folded parts below the attention view: measures of all heads, and all readings of the open head."""

from dataclasses import replace

import pandas as pd

from bertviz_core.attention.results import AttentionAtlas, MapOptions, Weights
from bertviz_core.figures.attention.heatmap import readings_figure
from bertviz_core.trace.cost import run_cost
from bertviz_core.trace.results import Trace
from ui.cache import models
from ui.views.attention import cache
from ui.views.attention.downloads import frame_of, measures_frame
from ui.views.attention.texts import LABELS
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block, folded, numbers_table
from ui.widgets.models.run_model import CONFIRM_ABOVE_SECONDS


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
