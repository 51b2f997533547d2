"""Compute max-pooled attention maps and measures of all heads, and a pooled map of one head of a very long text.

Rows are computed in tiles, so that the whole map of a long text is never in memory.
"""

from collections.abc import Sequence
from itertools import product
from math import log

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.attention.maps import (
    MapSelection,
    RowSource,
    attention_block,
    attention_rollout,
    attention_rows,
    draws_sink,
    head_batches,
    key_norms,
    require_attention,
    row_source,
    row_tiles,
    select_entries,
    shown_axes,
    with_sink,
)
from bertviz_core.attention.results import OF_LAYERS, AttentionAtlas, HeadMeasure, HeadMeasures, MapOptions, PooledMap
from bertviz_core.errors import Progress, no_progress
from bertviz_core.trace.results import Trace

MEASURES = ("entropy", "distance", "special_share", "diagonal_share")
SMALLEST_PROBABILITY = np.finfo(np.float32).tiny
"""Replaces 0 in a logarithm."""
MAX_THUMBNAIL_SIDE, MAX_MAP_SIDE = 64, 512
"""Maximum rows and columns of a thumbnail, and of the map of one head."""


def attention_atlas(
    trace: Trace,
    options: MapOptions | None = None,
    value_norms: Float[np.ndarray, "layers heads seq"] | None = None,
    max_side: int = MAX_THUMBNAIL_SIDE,
    progress: Progress = no_progress,
    layer_maps: Float[np.ndarray, "layers seq seq"] | None = None,
) -> AttentionAtlas:
    """A thumbnail and the measures of every head; a thumbnail is the max-pool of attention_map(...).weights.

    Measures are those of the maps as they are drawn. Rollout and value zeroing take the heads together: their atlas has
    one column.

    Args:
        value_norms: ||f(x_j)|| of every layer, head and key, for weights "value-weighted".
        layer_maps: maps of all layers for weights "rollout" (computed by default) or "value-zeroing".
    """
    options = options or MapOptions()
    selection = select_entries(trace.tokens, options)
    layers, heads = trace.num_hidden_layers, max(trace.num_attention_heads, 1)
    together = options.weights in OF_LAYERS
    if together:
        heads = 1
    if options.weights == "rollout" and layer_maps is None:
        layer_maps = attention_rollout(trace)
    axes = shown_axes(trace, selection, options)
    rows, columns = (pool_starts(len(axis), max_side) for axis in axes)
    thumbnails = np.empty((layers, heads, len(rows), len(columns)), dtype=np.float32)
    measures = np.empty((layers, heads, len(MEASURES)), dtype=np.float32)
    for layer, batch in product(range(layers), head_batches(heads, len(trace.tokens))):
        source_heads = None if together else batch
        source = row_source(trace, layer, source_heads, None if layer_maps is None else layer_maps[layer])
        norms = key_norms(trace, source_heads, options, None if value_norms is None else value_norms[layer])
        thumbnails[layer, batch], measures[layer, batch] = _thumbnails_and_measures(
            trace, selection, source, norms, max_side, draws_sink(trace, options)
        )
        _report(progress, layer, batch, measures.shape)
    of_each = (np.ascontiguousarray(measures[..., which]) for which in range(len(MEASURES)))
    return AttentionAtlas(options, *axes, thumbnails, rows, columns, HeadMeasures(*of_each))


def pooled_map(
    trace: Trace,
    layer: int,
    head: int,
    max_side: int = MAX_MAP_SIDE,
    query_range: tuple[int, int] | None = None,
    key_range: tuple[int, int] | None = None,
) -> PooledMap:
    """The map of one head, max-pooled to a limited size.

    The softmax is taken over the whole row even if a range of keys is shown.

    Args:
        query_range: tokens of the rows, end exclusive; None for all.
    """
    seq = len(trace.tokens)
    (top, bottom), (left, right) = query_range or (0, seq), key_range or (0, seq)
    if not (0 <= top < bottom <= seq and 0 <= left < right <= seq):
        raise ValueError(f"queries {top} to {bottom}, keys {left} to {right} of {seq} tokens")
    narrow = [
        max_pool(attention_rows(trace, layer, head, rows)[:, left:right], max_side, axis=1)
        for rows in row_tiles(seq, top, bottom)
    ]
    weights = max_pool(np.concatenate(narrow), max_side, axis=0)
    rows, columns = pool_starts(bottom - top, max_side), pool_starts(right - left, max_side)
    return PooledMap(layer, head, weights, top + rows, left + columns)


def pool_starts(length: int, side: int) -> Int[np.ndarray, " blocks"]:
    """Start index of every block when entries are split into at most `side` blocks, like np.array_split."""
    if side < 1:
        raise ValueError(f"a picture of {side} cells a side")
    count = min(length, side)
    small, longer = divmod(length, max(count, 1))
    blocks = np.arange(count)
    return blocks * small + np.minimum(blocks, longer)


def max_pool(cells: Float[np.ndarray, "rows columns"], side: int, axis: int) -> Float[np.ndarray, "fewer cells"]:
    """The maximum of every block of rows (axis 0) or columns (axis 1); NaN propagates."""
    length = cells.shape[axis]
    starts = pool_starts(length, side)
    if len(starts) == length:
        return cells
    last_indices = np.append(starts[1:], length) - 1
    pooled: np.ndarray = cells.take(starts, axis=axis)
    for step in range(1, int((last_indices - starts).max()) + 1):
        np.maximum(pooled, cells.take(np.minimum(starts + step, last_indices), axis=axis), out=pooled)
    return pooled


def _thumbnails_and_measures(
    trace: Trace,
    selection: MapSelection,
    source: RowSource,
    norms: Float[np.ndarray, "heads seq"] | None,
    side: int,
    sink: bool,
) -> tuple[Float[np.ndarray, "heads rows columns"], Float[np.ndarray, "heads measures"]]:
    """Thumbnails and measures of consecutive heads; columns are pooled per tile, rows at the end."""
    narrow: list[list[np.ndarray]] = []
    sums: list[list[np.ndarray]] = []
    keys = selection.starts[selection.keys]
    for tokens, entries in selection.tiles():
        block = source(tokens)
        scales = [None] * len(block) if norms is None else norms
        distances = token_distances(selection.starts[entries][selection.queries[entries]], keys)
        parts = [selection.apply(rows, entries, scale) for rows, scale in zip(block, scales, strict=True)]
        maps = [with_sink(*part) if sink else part[0] for part in parts]
        sums.append([measure_sums(cells, distances, trace.tokens.special[keys]) for cells in maps])
        narrow.append([max_pool(cells, side, axis=1) for cells in maps])
    thumbnails = [max_pool(np.concatenate(pieces), side, axis=0) for pieces in zip(*narrow, strict=True)]
    shape = int(selection.queries.sum()), len(keys) + sink
    measures = [mean_measures(head_sums, *shape) for head_sums in np.sum(sums, axis=0)]
    return np.array(thumbnails), np.array(measures)


def token_distances(queries: Int[np.ndarray, " rows"], keys: Int[np.ndarray, " columns"]) -> Float[np.ndarray, "r c"]:
    """|i - j| of the positions of queries and keys."""
    distances: np.ndarray = np.abs(queries[:, None] - keys).astype(np.float32)
    return distances


def measure_sums(
    cells: Float[np.ndarray, "rows columns"],
    distances: Float[np.ndarray, "rows tokens"],
    special: Bool[np.ndarray, " tokens"],
) -> Float[np.ndarray, " measures"]:
    """Sums of the four measures over some rows of a map; the cells of a row are taken as shares of their sum.

    Args:
        cells: they may have one more column, the share of the attention sink.
        distances: of every query to every key, in tokens.
    """
    total = cells.sum(axis=1, keepdims=True)
    shares = np.divide(cells, total, out=np.zeros_like(cells), where=total != 0)
    logs = np.maximum(shares, SMALLEST_PROBABILITY)
    np.log(logs, out=logs)
    entropy = -np.einsum("ij,ij->i", shares, logs).sum(dtype=np.float64)
    shares = shares[:, : distances.shape[1]]
    distance = np.einsum("ij,ij->i", shares, distances).sum(dtype=np.float64)
    diagonal = np.einsum("ij,ij->i", shares, (distances == 0).astype(np.float32)).sum(dtype=np.float64)
    on_special = np.einsum("ij,j->i", shares, special.astype(np.float32)).sum(dtype=np.float64)
    return np.array([entropy, distance, on_special, diagonal])


def mean_measures(sums: Float[np.ndarray, " measures"], queries: int, keys: int) -> Float[np.ndarray, " measures"]:
    """Turn sums over all queries into means; entropy is clipped to [0, ln(keys)]."""
    means = (sums / max(queries, 1)).astype(np.float32)
    means[0] = np.clip(means[0], 0, log(max(keys, 1)))
    return means


def _report(progress: Progress, layer: int, batch: slice, shape: Sequence[int]) -> None:
    for head in range(batch.start, batch.stop):
        progress(layer * shape[1] + head + 1, shape[0] * shape[1])


PROFILE_MEASURES: tuple[HeadMeasure, ...] = (
    "entropy",
    "distance",
    "first_share",
    "separator_share",
    "previous_share",
    "next_share",
    "diagonal_share",
)
"""The measures of Clark et al. 2019, What Does BERT Look At?, sections 3.1 to 3.3."""


def head_profile(trace: Trace) -> Float[np.ndarray, "measures layers heads"]:
    """Every measure of PROFILE_MEASURES of every head: means over the queries of the text.

    Entropy in nats, distance in tokens; the others are shares of a row, 0 to 1: what lies on the special token at the
    very front ([CLS]), on all other special tokens ([SEP]), on the token before, on the one after, on the token itself.
    A token with none before or after it counts with 0 there. Entropy, distance and diagonal are those of an atlas, and
    its special share is the sum of the first two shares. An attention sink counts as in an atlas.
    """
    require_attention(trace)
    seq, special = len(trace.tokens), trace.tokens.special
    heads, keys = trace.num_attention_heads, seq + (trace.sinks is not None)
    profile = np.empty((len(PROFILE_MEASURES), trace.num_hidden_layers, heads), dtype=np.float32)
    for layer in range(trace.num_hidden_layers):
        for batch in head_batches(heads, seq):
            sums = np.zeros((batch.stop - batch.start, len(PROFILE_MEASURES)))
            for tile in row_tiles(seq):
                block = attention_block(trace, layer, batch, tile)
                block = block if trace.sinks is None else with_sink(block)
                distances = token_distances(np.arange(tile.start, tile.stop), np.arange(seq))
                sums += np.stack([_profile_sums(rows, distances, tile.start, special) for rows in block])
            profile[:, layer, batch] = np.stack([mean_measures(each, seq, keys) for each in sums], axis=1)
    return profile


def _profile_sums(
    rows: Float[np.ndarray, "rows columns"],
    distances: Float[np.ndarray, "rows seq"],
    start: int,
    special: Bool[np.ndarray, " seq"],
) -> Float[np.ndarray, " measures"]:
    """Sums over consecutive queries, starting at `start`."""
    entropy, distance, on_special, diagonal = measure_sums(rows, distances, special)
    first = float(rows[:, 0].sum(dtype=np.float64)) if special[:1].any() else 0.0
    rows = rows[:, : len(special)]
    before, after = (float(np.trace(rows, start + step, dtype=np.float64)) for step in (-1, 1))
    return np.array([entropy, distance, first, on_special - first, before, after, diagonal])
