"""Attention probabilities of any layer and head of a Trace, computed when they are asked for."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.trace.results import Trace

TILE_CELLS = 2**21
"""Cells that are computed at once: 8 MiB, which stay in a processor's cache; all of a text up to 1,448 tokens."""
CACHED_CELLS = 2**16
"""Cells that are gone over several times in a row, 256 KiB."""
MAX_SINGLE_THREAD_MULTIPLY_ADDS = 2**26
"""Multiply-adds that one thread does in a few milliseconds."""
ONE_THREAD = 2**18
"""Multiply-adds up to which OpenBLAS starts no second thread (interface/gemm.c: 65,536 times its threshold of 4)."""


def attention_probs(trace: Trace, layer: int, head: int | None = None) -> Float[np.ndarray, "*heads seq seq"]:
    """softmax(query key^T * scaling + mask) of one head (seq, seq), or of all heads of a layer (heads, seq, seq).

    Every row sums to 1: row i is how the new vector of token i is mixed from the values of all tokens (Vaswani et al.
    2017, section 3.2.1). A key behind the mask gets exactly 0.

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
    """The rows of some neighbouring queries of attention_probs, at the cost of these rows alone.

    Raises:
        UnsupportedModelError: this model's attention is not known; says why.
        ValueError: there is no such layer or head, or the slice has a step.
    """
    found: np.ndarray = attention_block(trace, layer, slice(head, head + 1), rows)[0]
    return found


def attention_block(trace: Trace, layer: int, heads: slice, rows: slice) -> Float[np.ndarray, "heads rows seq"]:
    """Rows of some neighbouring heads of a layer; together they cost less than one by one.

    Raises:
        UnsupportedModelError: this model's attention is not known; says why.
        ValueError: there is no such layer or head, or a slice has a step.
    """
    _check(trace, layer, heads.start)
    if rows.step not in (None, 1) or heads.step not in (None, 1) or heads.stop > trace.num_attention_heads:
        raise ValueError(f"heads {heads}, rows {rows}: neighbours are wanted, of {trace.num_attention_heads} heads")
    return _block(trace, layer, heads, rows)


def head_batches(heads: int, seq: int, cells: int = TILE_CELLS) -> Iterator[slice]:
    """So many heads cut into slices of as many as fit one tile with all their rows, at least one."""
    step = max(1, cells // max(seq * seq, 1))
    for first in range(0, heads, step):
        yield slice(first, min(first + step, heads))


def row_tiles(seq: int, start: int = 0, stop: int | None = None, cells: int = TILE_CELLS) -> Iterator[slice]:
    """The queries from start to stop cut into as few slices as keep each below so many cells, the last one shorter."""
    step = max(1, cells // max(seq, 1))
    end = seq if stop is None else stop
    for first in range(start, end, step):
        yield slice(first, min(first + step, end))


def require_attention(trace: Trace) -> None:
    """Nothing, for a trace that knows attention.

    Raises:
        UnsupportedModelError: it does not; says why.
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
        return _softmax(_products(scaled, keys))
    part = mask[heads if len(mask) > 1 else slice(1), rows]
    if part.dtype != np.bool_:
        scores = _products(scaled, keys)
        scores += part
        return _softmax(scores)
    # In a local layer most keys are seen by none of these queries: only those between the first and last are computed.
    seen = np.flatnonzero(part.any(axis=(0, 1)))
    window = slice(int(seen[0]), int(seen[-1]) + 1) if len(seen) else slice(0, 0)
    probs = np.zeros((*scaled.shape[:2], len(trace.tokens)), dtype=np.float32)
    scores = _products(scaled, keys[:, window])
    np.copyto(scores, np.float32(-np.inf), where=~part[..., window])
    probs[..., window] = _softmax(scores)
    return probs


def _products(
    query: Float[np.ndarray, "heads rows head_dim"], key: Float[np.ndarray, "heads seq head_dim"]
) -> Float[np.ndarray, "heads rows seq"]:
    """The product query key^T of every head; large ones by torch in one call, with all cores.

    A small one by NumPy in pieces that OpenBLAS does with one thread: where other programs, such as the reader's
    browser, use the cores, each call that waits for a second thread takes 20 times as long as the product itself.
    """
    heads, rows, head_dim = query.shape
    seq = key.shape[1]
    if heads * rows * seq * head_dim > MAX_SINGLE_THREAD_MULTIPLY_ADDS:
        import torch

        # Arrays are writable, as torch warns of others.
        large: np.ndarray = torch.bmm(torch.from_numpy(query), torch.from_numpy(key).transpose(1, 2)).numpy()
        return large
    products = np.empty((heads, rows, seq), dtype=np.float32)
    step = max(1, ONE_THREAD // max(seq * head_dim, 1))
    for head, (left, right) in enumerate(zip(query, key, strict=True)):
        for first in range(0, rows, step):
            np.dot(left[first : first + step], right.T, out=products[head, first : first + step])
    return products


def _softmax(scores: Float[np.ndarray, "heads rows seq"]) -> Float[np.ndarray, "heads rows seq"]:
    """Softmax over the keys, in place; a row in which no key may be looked at becomes 0.

    By NumPy in one thread, a piece of the size of a cache at a time: torch is faster on idle cores, but twenty times
    slower on busy ones, where each of its many short calls waits for all its threads.
    """
    heads, rows, seq = scores.shape
    cells = scores.reshape(heads * rows, seq)
    step = max(1, CACHED_CELLS // max(seq, 1))
    for first in range(0, len(cells), step):
        piece = cells[first : first + step]
        peak = piece.max(axis=-1, keepdims=True, initial=-np.inf)
        peak[np.isneginf(peak)] = 0
        piece -= peak
        np.exp(piece, out=piece)
        total = piece.sum(axis=-1, keepdims=True)
        total[total == 0] = 1
        piece /= total
    return scores
