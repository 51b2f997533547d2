"""Numbers of a journey: vectors as bins, entropy of every token, the ribbons of one, and what opens."""

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.attention.probabilities import attention_block, attention_probs, head_batches, row_tiles
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.heads.layer_inputs import capture_layer_io
from bertviz_core.heads.weights import value_norms
from bertviz_core.hidden_states.results import EmbeddingSum
from bertviz_core.journey.results import EmbeddingOpening, LayerOpening, Ribbons, Strips
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.results import Trace

MOST_RIBBONS, COVERED = 8, 0.9
"""Keys that get a ribbon of their own at most, and the share of a row that they need not exceed."""
THUMBNAIL = 48
"""Rows and columns of a head's thumbnail at most."""


def bin_edges(width: int, bins: int) -> Int[np.ndarray, " edges"]:
    """First dimension of every bin, and the end of the last: bins of nearly one size, none empty."""
    count = min(width, bins)
    return np.arange(count + 1) * width // count


def binned(
    vectors: Float[np.ndarray, "*rows width"], edges: Int[np.ndarray, " edges"]
) -> Float[np.ndarray, "*rows bins"]:
    """The value of largest magnitude in each bin, its sign kept."""
    highest = np.maximum.reduceat(vectors, edges[:-1], axis=-1)
    lowest = np.minimum.reduceat(vectors, edges[:-1], axis=-1)
    return np.where(-lowest > highest, lowest, highest)


def strips_of(trace: Trace, bins: int) -> Strips:
    """The vectors of every token at every entry of hidden_states, in at most so many bins."""
    edges = bin_edges(trace.hidden_states.shape[-1], bins)
    return Strips(edges, binned(trace.hidden_states, edges))


def token_entropy(trace: Trace) -> Float[np.ndarray, "layers seq"]:
    """Entropy of every token's row of attention in nats, mean over the heads of each layer.

    0 where all of a row lies on one key, log(seq) where it lies on all alike.
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


def ribbons(shares: Float[np.ndarray, " seq"], most: int = MOST_RIBBONS, covered: float = COVERED) -> Ribbons:
    """The strongest keys of a row, as few as cover a share of it, and the share of all others.

    Args:
        shares: a row that sums to 1.
        most: keys at most.
        covered: share of the row beyond which no further key is taken.
    """
    order = np.argsort(-shares, kind="stable")
    behind = np.cumsum(shares[order], dtype=np.float64)
    count = min(most, int(np.searchsorted(behind, covered)) + 1, len(order))
    keys = order[:count]
    taken = tuple(float(share) for share in shares[keys])
    return Ribbons(tuple(int(key) for key in keys), taken, max(0.0, 1.0 - float(np.sum(taken))))


def embedding_opening(parts: EmbeddingSum, token: int) -> EmbeddingOpening:
    """The vectors that make one token's embedding, in the order of the sum."""
    named = {name: vectors[token] for name, vectors in parts.parts.items()}
    if len(named) > 1:
        named["sum"] = parts.total[token]
    if parts.normalized is not None:
        named[f"after {parts.norm_name}"] = parts.normalized[token]
    if parts.projected:
        named["projected"] = parts.output[token]
    return EmbeddingOpening(token, named, " ".join(filter(None, (parts.inexact, parts.note))))


def layer_opening(loaded: LoadedModel, trace: Trace, layer: int, token: int) -> LayerOpening:
    """One layer, as one token passes it.

    Raises:
        UnsupportedModelError: this model's attention is not known; says why.
        ValueError: there is no such layer.
    """
    probs = attention_probs(trace, layer)
    step = -(-probs.shape[-1] // THUMBNAIL)
    starts = np.arange(0, probs.shape[-1], step)
    small = np.maximum.reduceat(np.maximum.reduceat(probs, starts, axis=1), starts, axis=2) if step > 1 else probs
    rows = np.ascontiguousarray(probs[:, token])
    try:
        output = capture_layer_io(loaded, trace.tokens, layer).output
        norms = value_norms(loaded, trace, layer)
    except UnsupportedModelError:
        return LayerOpening(layer, token, small, rows, None, None)
    lengths = rows * norms
    total = lengths.sum(axis=1, keepdims=True)
    weighted = np.divide(lengths, total, out=np.zeros_like(lengths), where=total > 0)
    return LayerOpening(layer, token, small, rows, weighted, None if output is None else output[token])
