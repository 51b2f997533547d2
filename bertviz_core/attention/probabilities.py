"""Compute the attention probabilities of any layer and head of a Trace."""

from collections.abc import Iterator
from math import prod

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.resources.blas import one_blas_thread
from bertviz_core.trace.results import Trace

MAX_TILE_CELLS = 2**21
"""Cells computed at once: 8 MiB, which fit into a CPU cache; sufficient for a text of 1,448 tokens."""
MAX_CACHED_CELLS = 2**16
"""Cells of a block for repeated passes, 256 KiB."""


def attention_probs(trace: Trace, layer: int, head: int | None = None) -> Float[np.ndarray, "*heads seq seq"]:
    """softmax(query key^T * scaling + mask) of one head (seq, seq), or of all heads of a layer (heads, seq, seq).

    Every row sums to 1: row i is how the new vector of token i is mixed from the values of all tokens (Vaswani et al.
    2017, section 3.2.1). A masked key gets exactly 0.

    Raises:
        UnsupportedModelError: this model's attention is not known; says why.
        ValueError: there is no such layer or head.
    """
    _check(trace, layer, head)
    if trace.attentions is not None:
        known = trace.attentions[layer]
        return known if head is None else known[head]
    seq = len(trace.tokens)
    probs = np.empty((trace.num_attention_heads if head is None else 1, seq, seq), dtype=np.float32)
    for heads in head_batches(len(probs), seq):
        for rows in row_tiles(seq):
            probs[heads, rows] = _block(trace, layer, heads if head is None else slice(head, head + 1), rows)
    return probs if head is None else probs[0]


def attention_rows(trace: Trace, layer: int, head: int, rows: slice) -> Float[np.ndarray, "rows seq"]:
    """Rows of attention_probs for consecutive queries, at the cost of these rows only.

    Raises:
        UnsupportedModelError: this model's attention is not known; says why.
        ValueError: there is no such layer or head, or the slice has a step.
    """
    block: np.ndarray = attention_block(trace, layer, slice(head, head + 1), rows)[0]
    return block


def attention_block(trace: Trace, layer: int, heads: slice, rows: slice) -> Float[np.ndarray, "heads rows seq"]:
    """Rows of consecutive heads of a layer; faster than one by one.

    Raises:
        UnsupportedModelError: this model's attention is not known; says why.
        ValueError: there is no such layer or head, or a slice has a step.
    """
    _check(trace, layer, heads.start)
    if rows.step not in (None, 1) or heads.step not in (None, 1) or heads.stop > trace.num_attention_heads:
        raise ValueError(f"heads {heads}, rows {rows}: they must be neighbours, of {trace.num_attention_heads} heads")
    return _block(trace, layer, heads, rows)


def head_batches(heads: int, seq: int, cells: int = MAX_TILE_CELLS) -> Iterator[slice]:
    """Slices of as many heads as fit into one tile, at least one."""
    step = max(1, cells // max(seq * seq, 1))
    for first in range(0, heads, step):
        yield slice(first, min(first + step, heads))


def row_tiles(seq: int, start: int = 0, stop: int | None = None, cells: int = MAX_TILE_CELLS) -> Iterator[slice]:
    """Slices of the queries from start to stop with a limited number of cells each."""
    step = max(1, cells // max(seq, 1))
    end = seq if stop is None else stop
    for first in range(start, end, step):
        yield slice(first, min(first + step, end))


def require_attention(trace: Trace) -> None:
    """Check that a trace has attention.

    Raises:
        UnsupportedModelError: the trace has no attention; the message says why.
    """
    if trace.attention_source == "none":
        raise UnsupportedModelError(f"There is no attention of {trace.model!r} to be shown. {trace.attention_note}")


def _check(trace: Trace, layer: int, head: int | None) -> None:
    require_attention(trace)
    if not 0 <= layer < trace.num_hidden_layers:
        raise ValueError(f"layer {layer} of {trace.num_hidden_layers}")
    if head is not None and not 0 <= head < trace.num_attention_heads:
        raise ValueError(f"head {head} of {trace.num_attention_heads}")


def _block(trace: Trace, layer: int, heads: slice, rows: slice) -> Float[np.ndarray, "heads rows seq"]:
    if trace.attentions is not None:
        return trace.attentions[layer][heads, rows]
    if trace.query is None or trace.key is None or trace.masks is None or trace.scaling is None:
        raise ValueError("a recorded trace without query, key, masks and scaling")
    query, key, mask = trace.query[layer], trace.key[layer], trace.masks[layer]
    # Several query heads may share a key head. The scaling goes to the query, of which there is less than of scores.
    shared = np.arange(heads.start, heads.stop) * len(key) // len(query)
    scaled, keys = query[heads, rows] * np.float32(trace.scaling[layer]), key[shared]
    if mask is None:
        return softmax(_products(scaled, keys))
    allowed = mask[heads if len(mask) > 1 else slice(1), rows]
    if allowed.dtype != np.bool_:
        scores = _products(scaled, keys)
        scores += allowed
        return softmax(scores)
    # In a local layer most keys are seen by none of these queries: only those between the first and last are computed.
    visible_keys = np.flatnonzero(allowed.any(axis=(0, 1)))
    window = slice(int(visible_keys[0]), int(visible_keys[-1]) + 1) if len(visible_keys) else slice(0, 0)
    probs = np.zeros((*scaled.shape[:2], len(trace.tokens)), dtype=np.float32)
    scores = _products(scaled, keys[:, window])
    np.copyto(scores, np.float32(-np.inf), where=~allowed[..., window])
    probs[..., window] = softmax(scores)
    return probs


def _products(
    query: Float[np.ndarray, "heads rows head_dim"], key: Float[np.ndarray, "heads seq head_dim"]
) -> Float[np.ndarray, "heads rows seq"]:
    """The product query key^T of every head, in one thread.

    BLAS with two threads waits for both. On two busy cores, of which the reader's browser may take one, the map of a
    head took 80 ms with two threads and 0.4 ms with one at 130 tokens, 97 ms and 1.4 ms at 512 tokens (medians).
    """
    with one_blas_thread(), np.errstate(invalid="ignore"):  # infinite weights make NaN here; a notice reports them
        products: np.ndarray = query @ key.transpose(0, 2, 1)
    return products


def softmax(scores: Float[np.ndarray, "*rows seq"]) -> Float[np.ndarray, "*rows seq"]:
    """Softmax over the keys, in place; a fully masked row becomes 0.

    A piece of the size of a processor's cache at a time: a whole tile at once took a quarter longer at 8,192 tokens.
    """
    seq = scores.shape[-1]
    cells = scores.reshape(prod(scores.shape[:-1]), seq)
    step = max(1, MAX_CACHED_CELLS // max(seq, 1))
    for first in range(0, len(cells), step):
        piece = cells[first : first + step]
        peak = piece.max(axis=-1, keepdims=True, initial=-np.inf)
        peak[np.isneginf(peak)] = 0
        with np.errstate(invalid="ignore"):  # a row with an infinite score becomes NaN
            piece -= peak
        np.exp(piece, out=piece)
        total = piece.sum(axis=-1, keepdims=True)
        total[total == 0] = 1
        piece /= total
    return scores
