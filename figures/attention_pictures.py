"""Pictures of attention beside the opened head: three readings of it, a long text's, and all heads at a glance."""

from collections.abc import Sequence

import numpy as np

from bertviz_core.results.attention import AttentionAtlas, AttentionMap, PooledMap
from bertviz_core.results.trace import Trace
from figures.attention import attention_triptych, pooled_heatmap
from figures.attention_atlas import atlas_heatmap
from figures.attention_lines import attention_lines
from figures.picture import Picture
from figures.trace_pictures import attention_title

ATLAS_TITLES = {"attention": "Attention", "value-weighted": "Value-weighted attention", "rollout": "Attention rollout"}


def readings_picture(maps: Sequence[AttentionMap], trace: Trace, layer: int, head: int) -> Picture:
    """The raw weights, the value-weighted ones and the rollout, side by side."""
    title = f"Layer {layer}, head {head}: three readings - {trace.model}"
    special = np.flatnonzero(trace.tokens.special).tolist()
    alt = f"{title}: queries by keys, three maps"
    return Picture(title, alt, lambda look: attention_triptych(maps, special, title, look))


def long_picture(found: PooledMap, trace: Trace, layer: int, head: int) -> Picture:
    """One head of a long text, the largest weight of every block of cells."""
    title = f"Attention of layer {layer}, head {head} - {trace.model}"
    alt = f"{title}: positions of queries by positions of keys"
    return Picture(title, alt, lambda look: pooled_heatmap(found, title, look))


def lines_picture(found: AttentionMap, trace: Trace) -> Picture:
    """One map of attention as lines from queries to keys."""
    title = attention_title(found, trace.model)
    special = np.flatnonzero(trace.tokens.special).tolist()
    alt = f"{title}: lines from queries to keys"
    return Picture(title, alt, lambda look: attention_lines(found, special, title, look))


def atlas_picture(atlas: AttentionAtlas, trace: Trace) -> Picture:
    """All heads at a glance, a small map for each."""
    layers, heads = atlas.thumbnails.shape[:2]
    title = f"{ATLAS_TITLES[atlas.reading.weights]} of all heads - {trace.model}"
    alt = f"{title}: {layers} layers by {heads} heads, in each cell a map of queries by keys"
    return Picture(title, alt, lambda look: atlas_heatmap(atlas, title, look))
