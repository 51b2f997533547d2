"""Maps, atlases, norms, rollouts and value zeroing of the attention page, kept for all sessions while there is room."""

import numpy as np
import streamlit as st

from bertviz_core.attention.atlas import attention_atlas, pooled_map
from bertviz_core.attention.maps import attention_map
from bertviz_core.attention.results import OF_LAYERS, AttentionAtlas, AttentionMap, MapOptions, PooledMap
from bertviz_core.attention.rollout import attention_rollout
from bertviz_core.attention.value_zeroing import value_zeroing
from bertviz_core.errors import CheckpointError, Progress
from bertviz_core.heads.weights import value_norms
from bertviz_core.trace.results import Trace
from bertviz_core.trace.verification import receipt as receipt_of
from ui.cache import models
from ui.cache.decorator import cached_by_bytes
from ui.cache.traces import checked

ATLAS_CELLS = 250_000_000
"""Cells of all maps together up to which all heads are shown at once without asking."""
CELLS_PER_SECOND = 100_000_000
"""About how many cells of attention are computed in a second; for words, not for budgets."""
Key = tuple[str, str, str, str, str, str | None, int]


def cells(trace: Trace) -> int:
    """Cells of all maps of a trace."""
    return trace.num_hidden_layers * trace.num_attention_heads * len(trace.tokens) ** 2


def atlas_words(trace: Trace) -> str:
    """About how long all heads of a long text take, in words."""
    seconds = cells(trace) / CELLS_PER_SECOND
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def atlas(trace: Trace, reading: MapOptions, progress: Progress | None = None) -> AttentionAtlas:
    """All heads at a glance.

    Args:
        trace: the run.
        reading: how the maps are read.
        progress: called after every head, or with value zeroing after every value; it may write to the page, which ends
            the work when the reader clicks on.

    Raises:
        BertvizError: as attention_atlas; or a weight is no number, and cannot be drawn.
    """
    return _atlas(_key(trace), reading, trace, progress)


def one_map(trace: Trace, layer: int, head: int, reading: MapOptions) -> AttentionMap:
    """The map of one head, read as asked; rollout and value zeroing take all heads together.

    Raises:
        UnsupportedModelError: the model's values are not known, and value zeroing needs them.
    """
    if reading.weights in OF_LAYERS:
        rollout = reading.weights == "rollout"
        layer_map = _rollout(_key(trace), trace)[layer] if rollout else _zeroing(_key(trace), layer, trace, None)
        return attention_map(trace, layer, None, reading, layer_map=layer_map)
    norms = _norms(_key(trace), trace)[layer] if reading.weights == "value-weighted" else None
    return attention_map(trace, layer, head, reading, norms)


def part_map(trace: Trace, layer: int, head: int, part: tuple[int, int, int, int] | None) -> PooledMap:
    """The map of one head of a long text, or a part of it, as a picture of limited size."""
    rows, columns = (None, None) if part is None else (part[:2], part[2:])
    return pooled_map(trace, layer, head, query_range=rows, key_range=columns)


def receipt(trace: Trace) -> str:
    """What the comparison of the recorded attention with the model's own gave, one sentence; made now if it was not.

    "" for attention that is the model's own anyway, and for a model that just failed: its next run is not recorded.
    """
    kept = _receipts()
    key = trace.model, trace.revision, trace.dtype
    if trace.attention_source == "recorded" and key not in kept:
        check = checked(models.loaded(trace.model))
        kept.update({key: receipt_of(check)} if check is not None else {})
    return kept.get(key, "") if trace.attention_source == "recorded" else ""


@st.cache_resource(max_entries=1, show_spinner=False)
def _receipts() -> dict[tuple[str, str, str], str]:
    """The sentences, by model, revision and number format."""
    return {}


def _key(trace: Trace) -> Key:
    tokens = trace.tokens
    return trace.model, trace.revision, trace.dtype, trace.attention_source, tokens.text, tokens.pair, len(tokens)


@cached_by_bytes()
def _atlas(key: Key, reading: MapOptions, _trace: Trace, _progress: Progress | None) -> AttentionAtlas:
    norms = _norms(key, _trace) if reading.weights == "value-weighted" else None
    layer_maps, told = _rollout(key, _trace) if reading.weights == "rollout" else None, _progress
    if reading.weights == "value-zeroing":
        layer_maps, told = _zeroings(key, _trace, _progress), None
    found = attention_atlas(_trace, reading, norms, progress=told, layer_maps=layer_maps)
    bad = int((~np.isfinite(found.thumbnails).all(axis=(2, 3))).sum())
    if bad:
        raise CheckpointError(
            f"The attention of {_trace.model!r} is not a number (NaN) in {bad} of {found.thumbnails[:, :, 0, 0].size} "
            "maps: its weights hold NaN or infinity, or its config leads to them; see the page Checkpoint."
        )
    return found


@cached_by_bytes()
def _norms(key: Key, _trace: Trace) -> np.ndarray:
    """||f(x)|| of every layer, head and token."""
    loaded = models.loaded(_trace.model)
    return np.stack([value_norms(loaded, _trace, layer) for layer in range(_trace.num_hidden_layers)])


@cached_by_bytes()
def _rollout(key: Key, _trace: Trace) -> np.ndarray:
    return attention_rollout(_trace)


@cached_by_bytes()
def _zeroing(key: Key, layer: int, _trace: Trace, _progress: Progress | None) -> np.ndarray:
    return value_zeroing(models.loaded(_trace.model), _trace.tokens, layer, _progress)


def _zeroings(key: Key, trace: Trace, progress: Progress | None) -> np.ndarray:
    """Value zeroing of every layer; progress counts the values of all layers."""
    layers, seq = trace.num_hidden_layers, len(trace.tokens)

    def told(layer: int) -> Progress | None:
        return progress and (lambda done, _: progress(layer * seq + done, layers * seq))

    return np.stack([_zeroing(key, layer, trace, told(layer)) for layer in range(layers)])
