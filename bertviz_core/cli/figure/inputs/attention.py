"""Attention of a text: one head's map, its readings, a long text in parts, all heads."""

from dataclasses import replace
from functools import cached_property
from typing import get_args

import numpy as np

from bertviz_core.attention.atlas import attention_atlas, pooled_map
from bertviz_core.attention.maps import attention_map
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
from bertviz_core.cli.figure.inputs.runs import RunInputs
from bertviz_core.heads.weights import value_norms
from bertviz_core.trace.results import Trace

READINGS: tuple[Weights, ...] = get_args(Weights)
BLOCKS: tuple[Block, ...] = get_args(Block)


class AttentionInputs(RunInputs):
    """Maps of attention, read as asked."""

    @cached_property
    def _attending(self) -> Trace:
        require_attention(self.trace)
        return self.trace

    @cached_property
    def _reading(self) -> MapOptions:
        return MapOptions(
            self.asked.setting("weights", READINGS),
            self.asked.words,
            self.asked.flag("hide_special"),
            self.asked.flag("hide_punctuation"),
            self.asked.setting("part", BLOCKS if self.asked.pair else BLOCKS[:1]),
        )

    @cached_property
    def _place(self) -> tuple[int, int]:
        """Layer and head."""
        layer = self.asked.number("layer", self.asked.layer, self._attending.num_hidden_layers, 0)
        return layer, self.asked.number("head", self.asked.head, self._attending.num_attention_heads, 0)

    def _map(self, reading: MapOptions) -> AttentionMap:
        """The map of the head asked for; rollout and value zeroing take all heads together."""
        layer, head = self._place
        norms = value_norms(self.loaded, self.trace, layer) if reading.weights == "value-weighted" else None
        zeroed = value_zeroing(self.loaded, self.trace.tokens, layer) if reading.weights == "value-zeroing" else None
        return attention_map(self.trace, layer, None if reading.weights in OF_LAYERS else head, reading, norms, zeroed)

    @cached_property
    def attention_map(self) -> AttentionMap:
        """What one head looks at."""
        return self._map(self._reading)

    @cached_property
    def reading_maps(self) -> list[AttentionMap]:
        """The raw weights, the value-weighted ones, the rollout, and value zeroing where the values are known."""
        known = self._attending.attention_source == "recorded"
        readings = [each for each in READINGS if known or each != "value-zeroing"]
        return [self._map(replace(self._reading, weights=each)) for each in readings]

    @cached_property
    def pooled_map(self) -> PooledMap:
        """One head of a long text, or a part of it."""
        seq = len(self._attending.tokens)
        layer, head = self._place
        queries, keys = self.asked.span("queries", seq, seq), self.asked.span("keys", seq, seq)
        return pooled_map(self.trace, layer, head, query_range=queries, key_range=keys)

    @cached_property
    def atlas(self) -> AttentionAtlas:
        """All heads at a glance."""
        trace, norms, zeroed = self._attending, None, None
        layers = range(trace.num_hidden_layers)
        if self._reading.weights == "value-weighted":
            norms = np.stack([value_norms(self.loaded, trace, layer) for layer in layers])
        if self._reading.weights == "value-zeroing":
            zeroed = np.stack([value_zeroing(self.loaded, trace.tokens, layer) for layer in layers])
        return attention_atlas(trace, self._reading, norms, layer_maps=zeroed)
