"""Figures of the command line that show attention: a head as map or lines, its readings, a long text, all heads."""

from dataclasses import replace
from typing import get_args

from bertviz_core.attention.atlas import attention_atlas, pooled_map
from bertviz_core.attention.maps import attention_map
from bertviz_core.attention.probabilities import require_attention
from bertviz_core.attention.results import AttentionMap, Block, MapOptions, Weights
from bertviz_core.cli.figure.request import FigureOutput, FigureRequest, of_trace, traced
from bertviz_core.figures.attention.atlas import atlas_picture
from bertviz_core.figures.attention.heatmap import attention_picture, long_picture, readings_picture
from bertviz_core.figures.attention.lines import lines_picture
from bertviz_core.heads.value_norms import value_norms
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.results import Trace

READINGS: tuple[Weights, ...] = get_args(Weights)
BLOCKS: tuple[Block, ...] = get_args(Block)


def attention(asked: FigureRequest) -> FigureOutput:
    """What one head looks at, as a map."""
    model, trace = _attending(asked)
    return of_trace(attention_picture(_map(asked, model, trace, _reading(asked)), trace), trace)


def lines(asked: FigureRequest) -> FigureOutput:
    """What one head looks at, as lines."""
    model, trace = _attending(asked)
    return of_trace(lines_picture(_map(asked, model, trace, _reading(asked)), trace), trace)


def readings(asked: FigureRequest) -> FigureOutput:
    """Raw weights, value-weighted ones and the rollout, side by side."""
    model, trace = _attending(asked)
    maps = [_map(asked, model, trace, replace(_reading(asked), weights=weights)) for weights in READINGS]
    return of_trace(readings_picture(maps, trace, maps[0].layer, maps[0].head or 0), trace)


def long_text(asked: FigureRequest) -> FigureOutput:
    """One head of a long text, or a part of it."""
    _, trace = _attending(asked)
    seq = len(trace.tokens)
    layer, head = _place(asked, trace)
    queries, keys = asked.span("queries", seq, seq), asked.span("keys", seq, seq)
    found = pooled_map(trace, layer, head, query_range=queries, key_range=keys)
    return of_trace(long_picture(found, trace, layer, head), trace)


def atlas(asked: FigureRequest) -> FigureOutput:
    """All heads at a glance."""
    import numpy as np

    model, trace = _attending(asked)
    reading, norms = _reading(asked), None
    if reading.weights == "value-weighted":
        norms = np.stack([value_norms(model, trace, layer) for layer in range(trace.num_hidden_layers)])
    return of_trace(atlas_picture(attention_atlas(trace, reading, norms), trace), trace)


def _attending(asked: FigureRequest) -> "tuple[LoadedModel, Trace]":

    model, trace = traced(asked)
    require_attention(trace)
    return model, trace


def _reading(asked: FigureRequest) -> MapOptions:
    return MapOptions(
        asked.setting("weights", READINGS),
        asked.words,
        asked.flag("hide_special"),
        asked.flag("hide_punctuation"),
        asked.setting("part", BLOCKS if asked.pair else BLOCKS[:1]),
    )


def _place(asked: FigureRequest, trace: "Trace") -> tuple[int, int]:
    layer = asked.number("layer", asked.layer, trace.num_hidden_layers, 0)
    return layer, asked.number("head", asked.head, trace.num_attention_heads, 0)


def _map(asked: FigureRequest, model: "LoadedModel", trace: "Trace", reading: MapOptions) -> "AttentionMap":
    """The map of the head asked for; rollout takes all heads together."""
    layer, head = _place(asked, trace)
    norms = value_norms(model, trace, layer) if reading.weights == "value-weighted" else None
    return attention_map(trace, layer, None if reading.weights == "rollout" else head, reading, norms)
