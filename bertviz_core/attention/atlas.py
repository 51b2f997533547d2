"""All heads at a glance, and one head of a very long text: maps as small pictures, one head in memory at a time."""

from itertools import product

import numpy as np
from jaxtyping import Float

from bertviz_core.attention import attention_rows, head_batches, row_tiles
from bertviz_core.attention_measures import (
    MEASURES,
    Progress,
    mean_measures,
    measure_sums,
    report,
    stacked_measures,
)
from bertviz_core.attention_reading import Plan, RowSource, key_norms, plan, row_source
from bertviz_core.attention_rollout import attention_rollout
from bertviz_core.pooling import max_pool, pool_starts
from bertviz_core.results.attention import AttentionAtlas, PooledMap, Reading
from bertviz_core.results.trace import Trace

ATLAS_SIDE, MAP_SIDE = 64, 512


def attention_atlas(
    trace: Trace,
    reading: Reading | None = None,
    value_norms: Float[np.ndarray, "layers heads seq"] | None = None,
    max_side: int = ATLAS_SIDE,
    progress: Progress | None = None,
    rollout: Float[np.ndarray, "layers seq seq"] | None = None,
) -> AttentionAtlas:
    """A thumbnail and the measures of every head; a thumbnail is the max-pool of attention_map(...).weights.

    Rollout takes the heads together, so its atlas has one column, and its measures are those of the rollout.

    Args:
        trace: the run.
        reading: what is merged, hidden and cut out; the default shows all tokens.
        value_norms: ||f(x_j)|| of every layer, head and key, for weights "value-weighted".
        max_side: most rows and columns of a thumbnail.
        progress: called after every head; what it raises ends the work.
        rollout: what attention_rollout(trace) gave, so that it is not computed again.

    Raises:
        UnsupportedModelError: this model's attention is not known.
        TextError: nothing is left to be shown, or the text is too long for rollout.
        ValueError: norms that are missing.
    """
    reading = reading or Reading()
    how = plan(trace.tokens, reading)
    layers, heads = trace.num_hidden_layers, max(trace.num_attention_heads, 1)
    if reading.weights == "rollout":
        heads, rollout = 1, attention_rollout(trace) if rollout is None else rollout
    rows, columns = (pool_starts(int(shown.sum()), max_side) for shown in (how.queries, how.keys))
    thumbnails = np.empty((layers, heads, len(rows), len(columns)), dtype=np.float32)
    measures = np.empty((layers, heads, len(MEASURES)), dtype=np.float32)
    for layer, batch in product(range(layers), head_batches(heads, len(trace.tokens))):
        which = None if reading.weights == "rollout" else batch
        source = row_source(trace, layer, which, rollout)
        norms = key_norms(trace, which, reading, None if value_norms is None else value_norms[layer])
        thumbnails[layer, batch], measures[layer, batch] = _pictures(trace, how, source, norms, max_side)
        report(progress, layer, batch, measures.shape)
    axes = (how.shown(how.queries), how.shown(how.keys))
    return AttentionAtlas(reading, *axes, thumbnails, rows, columns, stacked_measures(measures))


def pooled_map(
    trace: Trace,
    layer: int,
    head: int,
    max_side: int = MAP_SIDE,
    query_range: tuple[int, int] | None = None,
    key_range: tuple[int, int] | None = None,
) -> PooledMap:
    """One head's map of a text of any length as a picture of limited size, each cell the largest of its block.

    The softmax is taken over the whole row also where a range of keys is shown. Rows are computed in tiles, so that the
    whole map is never in memory.

    Args:
        trace: the run.
        layer: zero-based.
        head: zero-based.
        max_side: most rows and columns of the picture.
        query_range: first token of the rows, and the one behind the last; None for all.
        key_range: the same for the columns.

    Raises:
        UnsupportedModelError: this model's attention is not known.
        ValueError: no such layer or head, or a range that is empty or leaves the text.
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


def _pictures(
    trace: Trace, how: Plan, source: RowSource, norms: Float[np.ndarray, "heads seq"] | None, side: int
) -> tuple[Float[np.ndarray, "heads rows columns"], Float[np.ndarray, "heads measures"]]:
    """Thumbnails and measures of some neighbouring heads; columns are pooled per tile, rows at the end."""
    narrow: list[list[np.ndarray]] = []
    sums: list[list[np.ndarray]] = []
    for tokens, part in how.tiles():
        block = source(tokens)
        scales = [None] * len(block) if norms is None else norms
        sums.append([measure_sums(rows, tokens.start, trace.tokens.special) for rows in block])
        read = (how.read(rows, part, scale)[0] for rows, scale in zip(block, scales, strict=True))
        narrow.append([max_pool(cells, side, axis=1) for cells in read])
    thumbnails = [max_pool(np.concatenate(parts), side, axis=0) for parts in zip(*narrow, strict=True)]
    return np.array(thumbnails), np.array([mean_measures(each, len(trace.tokens)) for each in np.sum(sums, axis=0)])
