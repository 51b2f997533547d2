"""Attention of a text: one head's map, its readings, a long text in parts, all heads at a glance."""

from dataclasses import replace
from typing import get_args

import numpy as np

from bertviz_core.attention.atlas import attention_atlas
from bertviz_core.attention.atlas import pooled_map as pooled
from bertviz_core.attention.maps import attention_map as map_of
from bertviz_core.attention.probabilities import require_attention
from bertviz_core.attention.results import (
    OF_LAYERS,
    AttentionAtlas,
    AttentionMap,
    Block,
    MapOptions,
    PooledMap,
    Weights,
)
from bertviz_core.attention.value_zeroing import value_zeroing
from bertviz_core.heads.weights import value_norms
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice, flag
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.heads import HEAD, LAYER
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.trace.results import Trace

READINGS: tuple[Weights, ...] = get_args(Weights)
BLOCKS: tuple[Block, ...] = get_args(Block)
WEIGHTS = choice("weights", READINGS, "what a cell is: the weight, or a reading of it")
WORDS = flag("words", "merge pieces to words: sum over keys, mean over queries")
SPECIAL = flag("hide_special", "leave special tokens out")
PUNCTUATION = flag("hide_punctuation", "leave punctuation out")
PART = choice("part", BLOCKS, "the part of a pair that is shown")
QUERIES = Param("queries", "span", "tokens that look, FIRST:LAST")
KEYS = Param("keys", "span", "tokens that are looked at, FIRST:LAST")
MAP = (WORDS, SPECIAL, PUNCTUATION, PART)


@question()
def attending_run(opened: Opened, options: Options) -> Answer[Trace]:
    """The run of a model whose attention is known."""
    made = run(opened, options)
    require_attention(made.result)
    return made


@question(figures=("attention", "lines"), params=(LAYER, HEAD, WEIGHTS, *MAP))
def attention_map(opened: Opened, options: Options) -> Answer[AttentionMap]:
    """What one head looks at; every row sums to 1."""
    made = attending_run(opened, options)
    head_map = _map(opened, options, made.result, _reading(options))
    return made.of(head_map, attention_map=head_map, trace=made.result)


@question(figures=("readings",), params=(LAYER, HEAD, *MAP))
def attention_readings(opened: Opened, options: Options) -> Answer[list[AttentionMap]]:
    """The raw weights, the value-weighted ones, the rollout, and value zeroing where the values are known."""
    made, reading = attending_run(opened, options), _reading(options)
    known = made.result.attention_source == "recorded"
    readings = [each for each in READINGS if known or each != "value-zeroing"]
    maps = [_map(opened, options, made.result, replace(reading, weights=each)) for each in readings]
    return made.of(maps, reading_maps=maps, trace=made.result)


@question(figures=("long",), params=(LAYER, HEAD, QUERIES, KEYS))
def pooled_map(opened: Opened, options: Options) -> Answer[PooledMap]:
    """One head of a long text, or of a part of it."""
    made = attending_run(opened, options)
    seq, (layer, head) = len(made.result.tokens), _place(opened, options, made.result)
    queries, keys = options.span(QUERIES.key, seq, seq), options.span(KEYS.key, seq, seq)
    head_map = pooled(made.result, layer, head, query_range=queries, key_range=keys)
    return made.of(head_map, pooled_map=head_map, trace=made.result)


@question(figures=("atlas",), params=(WEIGHTS, *MAP))
def atlas(opened: Opened, options: Options) -> Answer[AttentionAtlas]:
    """All heads at a glance."""
    made, reading = attending_run(opened, options), _reading(options)
    trace, layers, norms, zeroed = made.result, range(made.result.num_hidden_layers), None, None
    if reading.weights == "value-weighted":
        norms = np.stack([value_norms(opened.loaded, trace, layer) for layer in layers])
    if reading.weights == "value-zeroing":
        zeroed = np.stack([value_zeroing(opened.loaded, trace.tokens, layer) for layer in layers])
    head_map = attention_atlas(trace, reading, norms, layer_maps=zeroed)
    return made.of(head_map, atlas=head_map, trace=trace)


def _reading(options: Options) -> MapOptions:
    return MapOptions(
        options.choice(WEIGHTS, READINGS),
        options.flag(WORDS),
        options.flag(SPECIAL),
        options.flag(PUNCTUATION),
        options.choice(PART, BLOCKS if options.pair else BLOCKS[:1]),
    )


def _place(opened: Opened, options: Options, trace: Trace) -> tuple[int, int]:
    """Layer and head."""
    layer = options.numbered("layer", trace.num_hidden_layers, 0, opened.name)
    return layer, options.numbered("head", trace.num_attention_heads, 0, opened.name)


def _map(opened: Opened, options: Options, trace: Trace, reading: MapOptions) -> AttentionMap:
    """The map of a head; rollout and value zeroing take all heads together."""
    layer, head = _place(opened, options, trace)
    norms = value_norms(opened.loaded, trace, layer) if reading.weights == "value-weighted" else None
    zeroed = value_zeroing(opened.loaded, trace.tokens, layer) if reading.weights == "value-zeroing" else None
    return map_of(trace, layer, None if reading.weights in OF_LAYERS else head, reading, norms, zeroed)
