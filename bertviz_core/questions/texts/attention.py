"""Questions about attention: maps of a head, other readings, pooled maps of long texts, overview of all heads."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.atlas import attention_atlas
from bertviz_core.attention.atlas import pooled_map as pooled
from bertviz_core.attention.maps import attention_map as map_of
from bertviz_core.attention.maps import attention_rollout, blocks_of, require_attention
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
from bertviz_core.errors import CheckpointError, Progress, no_progress
from bertviz_core.heads.weights import value_norms
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice, flag
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.hidden_states import HEAD, LAYER, run
from bertviz_core.trace.results import Trace

READINGS: tuple[Weights, ...] = get_args(Weights)
BLOCKS: tuple[Block, ...] = get_args(Block)
MERGED = "merge pieces to words: their weights as keys are added up, their rows as queries averaged"
HIDDEN = "leave [CLS], [SEP] and the like out; their share is stated beside the map, and nothing is renormalised"
UNPUNCTUATED = "leave punctuation marks and symbols out, as queries and as keys"
OF_PAIR = "the part of a pair that is shown; A to B: how the first text attends to the second"


def _blocks(opened: Opened, options: Options) -> Sequence[str]:
    blocks = () if options.pair is None else blocks_of(attending_run(opened, options.only()).result.tokens)
    return blocks if blocks[1:] else ()


def _positions(opened: Opened, options: Options) -> tuple[int, int, int]:
    return 0, len(attending_run(opened, options.only()).result.tokens) - 1, 0


WEIGHTS = choice("weights", READINGS, "what a cell is: the weight, or a reading of it", "Weights", parts=True)
WORDS = flag("words", MERGED, "Merge pieces to words")
SPECIAL = flag("hide_special", HIDDEN, "Hide special tokens")
PUNCTUATION = flag("hide_punctuation", UNPUNCTUATED, "Hide punctuation")
PART = Param("part", "choice", OF_PAIR, BLOCKS, "Part of the pair", _blocks, control="few")
QUERIES = Param("queries", "span", "tokens that look, FIRST:LAST", label="Queries", bounds=_positions)
KEYS = Param("keys", "span", "tokens that are looked at, FIRST:LAST", label="Keys", bounds=_positions)
MAP = (WORDS, SPECIAL, PUNCTUATION, PART)


@question()
def attending_run(opened: Opened, options: Options) -> Answer[Trace]:
    """The run, if the attention of the model is available."""
    made = run(opened, options)
    require_attention(made.result)
    return made


@question(figures=("attention", "lines"), params=(LAYER, HEAD, WEIGHTS, *MAP))
def attention_map(opened: Opened, options: Options) -> Answer[AttentionMap]:
    """Attention of one head; every row sums to 1."""
    made = attending_run(opened, options)
    shown = head_map(opened, made.result, *_place(opened, options, made.result), reading_of(options))
    return made.of(shown, attention_map=shown, trace=made.result)


@question(figures=("readings",), params=(LAYER, HEAD, *MAP))
def attention_readings(opened: Opened, options: Options) -> Answer[list[AttentionMap]]:
    """Raw weights, value-weighted attention, rollout, and value zeroing if the values are available."""
    known = attending_run(opened, options).result.attention_source == "recorded"
    return maps_of(opened, options, [each for each in READINGS if known or each != "value-zeroing"])


def maps_of(opened: Opened, options: Options, readings: Sequence[Weights]) -> Answer[list[AttentionMap]]:
    """The map of a head in some readings."""
    made, reading = attending_run(opened, options), reading_of(options)
    place = _place(opened, options, made.result)
    maps = [head_map(opened, made.result, *place, replace(reading, weights=each)) for each in readings]
    return made.of(maps, reading_maps=maps, trace=made.result)


@question(figures=("long",), params=(LAYER, HEAD, QUERIES, KEYS))
def pooled_map(opened: Opened, options: Options) -> Answer[PooledMap]:
    """Pooled attention of a head for a long text, or a part of it."""
    made = attending_run(opened, options)
    seq, (layer, head) = len(made.result.tokens), _place(opened, options, made.result)
    queries, keys = options.span(QUERIES.key, seq, seq), options.span(KEYS.key, seq, seq)
    part = pooled(made.result, layer, head, query_range=queries, key_range=keys)
    return made.of(part, pooled_map=part, trace=made.result)


@question(figures=("atlas",), params=(WEIGHTS, *MAP))
def atlas(opened: Opened, options: Options) -> Answer[AttentionAtlas]:
    """Thumbnails of all heads."""
    made = attending_run(opened, options)
    heads = atlas_of(opened, made.result, reading_of(options))
    return made.of(heads, atlas=heads, trace=made.result)


def atlas_of(opened: Opened, trace: Trace, reading: MapOptions, progress: Progress | None = None) -> AttentionAtlas:
    """Thumbnails of all heads of a run; progress counts heads, for value zeroing values."""

    def drawn() -> AttentionAtlas:
        norms = layer_maps = None
        reported, layers = progress or no_progress, range(trace.num_hidden_layers)
        if reading.weights == "value-weighted":
            norms = np.stack([layer_value_norms(opened, trace, layer) for layer in layers])
        elif reading.weights == "rollout":
            layer_maps = _rollout(opened, trace)
        elif reading.weights == "value-zeroing":
            layer_maps, reported = _zeroed_layers(opened, trace, reported), no_progress
        return _finite(attention_atlas(trace, reading, norms, progress=reported, layer_maps=layer_maps), trace.model)

    return opened.get_or_compute((__name__, "atlas_of", *trace.tokens.identity, reading), drawn)


def head_map(opened: Opened, trace: Trace, layer: int, head: int, reading: MapOptions) -> AttentionMap:
    """Attention map of one head of a run; rollout and value zeroing combine all heads."""
    norms = layer_value_norms(opened, trace, layer) if reading.weights == "value-weighted" else None
    layer_map = None
    if reading.weights == "rollout":
        layer_map = _rollout(opened, trace)[layer]
    if reading.weights == "value-zeroing":
        layer_map = _zeroed(opened, trace, layer)
    return map_of(trace, layer, None if reading.weights in OF_LAYERS else head, reading, norms, layer_map)


def layer_value_norms(opened: Opened, trace: Trace, layer: int) -> Float[np.ndarray, "heads seq"]:
    """Norms ||f(x)|| of every head and token of a layer; see value_norms."""
    key = (__name__, "norms", *trace.tokens.identity, layer)
    return opened.get_or_compute(key, lambda: value_norms(opened.loaded, trace, layer))


def _rollout(opened: Opened, trace: Trace) -> np.ndarray:
    return opened.get_or_compute((__name__, "rollout", *trace.tokens.identity), lambda: attention_rollout(trace))


def _zeroed(opened: Opened, trace: Trace, layer: int, progress: Progress = no_progress) -> np.ndarray:
    key = (__name__, "zeroed", *trace.tokens.identity, layer)
    return opened.get_or_compute(key, lambda: value_zeroing(opened.loaded, trace.tokens, layer, progress))


def _zeroed_layers(opened: Opened, trace: Trace, progress: Progress) -> np.ndarray:
    """Value zeroing of all layers; progress counts values of all layers."""
    layers, seq = trace.num_hidden_layers, len(trace.tokens)

    def reported(layer: int) -> Progress:
        return lambda done, _: progress(layer * seq + done, layers * seq)

    return np.stack([_zeroed(opened, trace, layer, reported(layer)) for layer in range(layers)])


def _finite(atlas: AttentionAtlas, model: str) -> AttentionAtlas:
    bad = int((~np.isfinite(atlas.thumbnails).all(axis=(2, 3))).sum())
    if bad:
        raise CheckpointError(
            f"The attention of {model!r} is not a number (NaN) in {bad} of {atlas.thumbnails[:, :, 0, 0].size} "
            "maps: its weights hold NaN or infinity, or its config leads to them; see the page Checkpoint."
        )
    return atlas


def reading_of(options: Options) -> MapOptions:
    """What a cell is, and which tokens are shown."""
    return MapOptions(
        options.choice(WEIGHTS, READINGS),
        options.flag(WORDS),
        options.flag(SPECIAL),
        options.flag(PUNCTUATION),
        options.choice(PART, BLOCKS if options.pair else BLOCKS[:1]),
    )


def _place(opened: Opened, options: Options, trace: Trace) -> tuple[int, int]:
    layer = options.numbered("layer", trace.num_hidden_layers, 0, opened.name)
    return layer, options.numbered("head", trace.num_attention_heads, 0, opened.name)
