"""The numbers of attention maps as tables."""

from collections.abc import Sequence

import numpy as np

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, PooledMap
from bertviz_core.lazy_imports import pandas as pd


def map_frame(attention_map: AttentionMap) -> "pd.DataFrame":
    """A row per query, a column per key, and the hidden share where there is one."""
    columns = [f"{place} {label}" for place, label in enumerate(attention_map.keys.labels)]
    frame = pd.DataFrame(attention_map.weights, columns=columns)
    frame.insert(0, "query", [f"{place} {label}" for place, label in enumerate(attention_map.queries.labels)])
    return frame.assign(hidden=attention_map.hidden_share) if attention_map.hidden_share.any() else frame


def readings_frame(reading_maps: Sequence[AttentionMap]) -> "pd.DataFrame":
    """The rows of several readings of a head, one below the other."""
    return pd.concat([map_frame(each).assign(reading=each.options.weights) for each in reading_maps])


def pooled_frame(pooled_map: PooledMap) -> "pd.DataFrame":
    """A row and a column per block of positions, with the largest weight of its cells."""
    columns = [f"from {start}" for start in pooled_map.column_starts]
    frame = pd.DataFrame(pooled_map.weights, columns=columns)
    frame.insert(0, "query from", pooled_map.row_starts)
    return frame


MEASURE_NAMES = {
    "entropy": "entropy",
    "distance": "mean distance",
    "special_share": "share on special tokens",
    "diagonal_share": "share on the diagonal",
}
"""Field of HeadMeasures -> what it is called."""


def measures_frame(atlas: AttentionAtlas) -> "pd.DataFrame":
    """Measures of all heads, a row each."""
    layers, heads = np.indices(atlas.measures.entropy.shape)
    measures = {words: getattr(atlas.measures, name).ravel() for name, words in MEASURE_NAMES.items()}
    return pd.DataFrame({"layer": layers.ravel(), "head": heads.ravel(), **measures})
