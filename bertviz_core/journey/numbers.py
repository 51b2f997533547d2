"""Numbers of a journey: binned vectors, entropy of every token, attention ribbons, and opened stages."""

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.attention.probabilities import attention_block, attention_probs, head_batches, row_tiles
from bertviz_core.heads.results import LayerRun
from bertviz_core.hidden_states.results import EmbeddingSum
from bertviz_core.journey.results import EmbeddingOpening, LayerOpening, Ribbons, Strips
from bertviz_core.trace.results import Trace

MOST_RIBBONS, COVERED = 8, 0.9
"""Maximum number of keys with an own ribbon, and the share of a row after which no further key is taken."""
THUMBNAIL = 48
"""Maximum number of rows and columns of a head's thumbnail."""


def bin_edges(width: int, bins: int) -> Int[np.ndarray, " edges"]:
    """Return the first dimension of every bin, and the end of the last: nonempty bins of nearly equal size."""
    count = min(width, bins)
    return np.arange(count + 1) * width // count


def binned(
    vectors: Float[np.ndarray, "*rows width"], edges: Int[np.ndarray, " edges"]
) -> Float[np.ndarray, "*rows bins"]:
    """Return the value of largest magnitude in each bin, with its sign."""
    highest = np.maximum.reduceat(vectors, edges[:-1], axis=-1)
    lowest = np.minimum.reduceat(vectors, edges[:-1], axis=-1)
    return np.where(-lowest > highest, lowest, highest)


def strips_of(trace: Trace, bins: int) -> Strips:
    """Bin the vectors of every token at every entry of hidden_states, into at most this number of bins."""
    edges = bin_edges(trace.hidden_states.shape[-1], bins)
    return Strips(edges, binned(trace.hidden_states, edges))


def strongest_weights(trace: Trace, token: int) -> tuple[Int[np.ndarray, " layers"], Int[np.ndarray, " layers"]]:
    """Return the head and the key of the largest attention weight of a token in each layer.

    Raises:
        UnsupportedModelError: this model's attention is not known.
    """
    heads, keys = np.zeros((2, trace.num_hidden_layers), dtype=np.int64)
    for layer in range(trace.num_hidden_layers):
        rows = attention_block(trace, layer, slice(0, trace.num_attention_heads), slice(token, token + 1))[:, 0]
        heads[layer], keys[layer] = np.unravel_index(int(rows.argmax()), rows.shape)
    return heads, keys


def token_entropy(trace: Trace) -> Float[np.ndarray, "layers seq"]:
    """Compute the entropy of every token's row of attention in nats, mean over the heads of each layer.

    It is 0 for a row with a single key, and log(seq) for a uniform row.
    """
    seq, heads = len(trace.tokens), trace.num_attention_heads
    entropy = np.zeros((trace.num_hidden_layers, seq), dtype=np.float64)
    for layer in range(trace.num_hidden_layers):
        for batch in head_batches(heads, seq):
            for rows in row_tiles(seq):
                probs = attention_block(trace, layer, batch, rows)
                logs = np.log(np.where(probs > 0, probs, 1))
                entropy[layer, rows] -= np.einsum("hqk,hqk->q", probs, logs, dtype=np.float64)
    return (entropy / heads).astype(np.float32)


def ribbons(shares: Float[np.ndarray, " seq"]) -> Ribbons:
    """Select the fewest keys that cover most of a row, strongest first, and the share of all others.

    Args:
        shares: a row that sums to 1.
    """
    order = np.argsort(-shares, kind="stable")
    behind = np.cumsum(shares[order], dtype=np.float64)
    count = min(MOST_RIBBONS, int(np.searchsorted(behind, COVERED)) + 1, len(order))
    keys = order[:count]
    key_shares = tuple(float(share) for share in shares[keys])
    return Ribbons(tuple(int(key) for key in keys), key_shares, max(0.0, 1.0 - float(np.sum(key_shares))))


def embedding_opening(parts: EmbeddingSum, token: int) -> EmbeddingOpening:
    """Return the vectors that form one token's embedding, in the order of the sum."""
    named = {name: vectors[token] for name, vectors in parts.parts.items()}
    if len(named) > 1:
        named["sum"] = parts.total[token]
    if parts.normalized is not None:
        named[f"after {parts.norm_name}"] = parts.normalized[token]
    if parts.projected:
        named["projected"] = parts.output[token]
    return EmbeddingOpening(token, named, " ".join(filter(None, (parts.inexact, parts.note))))


def layer_opening(
    trace: Trace, layer: int, token: int, run: LayerRun | None, norms: Float[np.ndarray, "heads seq"] | None
) -> LayerOpening:
    """Return the details of one layer for one token.

    Args:
        trace: the run.
        layer: zero-based.
        token: its position.
        run: inputs and outputs of the layer's projections; None if they are not known.
        norms: output of value_norms for the layer; None if they are not known.

    Raises:
        UnsupportedModelError: the attention of this model cannot be recorded.
        ValueError: there is no such layer.
    """
    probs = attention_probs(trace, layer)
    step = -(-probs.shape[-1] // THUMBNAIL)
    starts = np.arange(0, probs.shape[-1], step)
    small = np.maximum.reduceat(np.maximum.reduceat(probs, starts, axis=1), starts, axis=2) if step > 1 else probs
    rows = np.ascontiguousarray(probs[:, token])
    if run is None or norms is None:
        return LayerOpening(layer, token, small, rows, None, None)
    lengths = rows * norms
    total = lengths.sum(axis=1, keepdims=True)
    weighted = np.divide(lengths, total, out=np.zeros_like(lengths), where=total > 0)
    return LayerOpening(layer, token, small, rows, weighted, None if run.output is None else run.output[token])
