"""What a head does, in four numbers: how spread, how far, how much on special tokens, how much on itself."""

from collections.abc import Callable, Sequence
from math import log

import numpy as np
from jaxtyping import Bool, Float

from bertviz_core.attention import attention_block, head_batches, row_tiles
from bertviz_core.results.attention import HeadMeasures
from bertviz_core.results.trace import Trace

Progress = Callable[[int, int], None]
"""Called with the count of heads that are done and of all heads; may raise to stop between two heads."""
MEASURES = ("entropy", "distance", "special_share", "diagonal_share")
SMALLEST = np.finfo(np.float32).tiny
"""Instead of 0 in a logarithm, whose product with 0 is 0."""


def measures_of_head(trace: Trace, layer: int, head: int) -> Float[np.ndarray, " measures"]:
    """The four MEASURES of one head, computed tile by tile; units as in HeadMeasures.

    Raises:
        UnsupportedModelError: this model's attention is not known.
        ValueError: there is no such layer or head.
    """
    found: np.ndarray = _measures(trace, layer, slice(head, head + 1))[0]
    return found


def head_measures(trace: Trace, progress: Progress | None = None) -> HeadMeasures:
    """The four measures of every head; a mean over all queries of the attention over all tokens.

    Raises:
        UnsupportedModelError: this model's attention is not known.
    """
    layers, heads = trace.num_hidden_layers, max(trace.num_attention_heads, 1)
    found = np.empty((layers, heads, len(MEASURES)), dtype=np.float32)
    for layer in range(layers):
        for batch in head_batches(heads, len(trace.tokens)):
            found[layer, batch] = _measures(trace, layer, batch)
            report(progress, layer, batch, found.shape)
    return stacked_measures(found)


def report(progress: Progress | None, layer: int, batch: slice, shape: Sequence[int]) -> None:
    """Tell the progress of each head of a batch, of so many layers and heads."""
    if progress:
        for head in range(batch.start, batch.stop):
            progress(layer * shape[1] + head + 1, shape[0] * shape[1])


def measure_sums(
    rows: Float[np.ndarray, "rows seq"], first: int, special: Bool[np.ndarray, " seq"]
) -> Float[np.ndarray, " measures"]:
    """Sums over some neighbouring rows of the four measures, the first of them of this query; to be added up."""
    count, seq = rows.shape
    logs = np.maximum(rows, SMALLEST)
    np.log(logs, out=logs)
    ramp = np.abs(np.arange(1 - seq, seq, dtype=np.float32))
    # Row i of the view is |i - j| for all j: no array of its own.
    steps = np.lib.stride_tricks.sliding_window_view(ramp, seq)[::-1][first : first + count]
    entropy = -np.einsum("ij,ij->i", rows, logs).sum(dtype=np.float64)
    distance = np.einsum("ij,ij->i", rows, steps).sum(dtype=np.float64)
    diagonal = rows[np.arange(count), first + np.arange(count)].sum(dtype=np.float64)
    on_special = np.einsum("ij,j->i", rows, special.astype(np.float32)).sum(dtype=np.float64)
    return np.array([entropy, distance, on_special, diagonal])


def mean_measures(sums: Float[np.ndarray, " measures"], seq: int) -> Float[np.ndarray, " measures"]:
    """Sums over all queries as means; entropy between 0 and ln(seq) even after rounding."""
    means = (sums / max(seq, 1)).astype(np.float32)
    means[0] = np.clip(means[0], 0, log(max(seq, 1)))
    return means


def stacked_measures(found: Float[np.ndarray, "layers heads measures"]) -> HeadMeasures:
    """Measures of all heads, each as its own array."""
    return HeadMeasures(*(np.ascontiguousarray(found[..., which]) for which in range(len(MEASURES))))


def _measures(trace: Trace, layer: int, heads: slice) -> Float[np.ndarray, "heads measures"]:
    seq, special = len(trace.tokens), trace.tokens.special
    sums = np.zeros((heads.stop - heads.start, len(MEASURES)))
    for rows in row_tiles(seq):
        block = attention_block(trace, layer, heads, rows)
        sums += [measure_sums(each, rows.start, special) for each in block]
    return np.array([mean_measures(each, seq) for each in sums])
