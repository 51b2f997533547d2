"""Attention probabilities of any layer and head of a Trace, computed when they are asked for."""

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.results.trace import Trace


def attention_probs(trace: Trace, layer: int, head: int | None = None) -> Float[np.ndarray, "*heads seq seq"]:
    """softmax(query key^T * scaling + mask) of one head (seq, seq), or of all heads of a layer (heads, seq, seq).

    Every row sums to 1: row i is how the new vector of token i is mixed from the values of all tokens (Vaswani et al.
    2017, section 3.2.1). A key behind the mask gets exactly 0.

    Raises:
        UnsupportedModelError: this model's attention is not known; says why.
        ValueError: there is no such layer or head.
    """
    if trace.attention_way == "none":
        raise UnsupportedModelError(f"There is no attention of {trace.model!r} to be shown. {trace.attention_note}")
    if not 0 <= layer < trace.num_hidden_layers:
        raise ValueError(f"layer {layer} of {trace.num_hidden_layers}")
    if head is not None and not 0 <= head < trace.num_attention_heads:
        raise ValueError(f"head {head} of {trace.num_attention_heads}")
    if trace.attentions is not None:
        return trace.attentions[layer] if head is None else trace.attentions[layer][head]
    probs = _softmax(_scores(trace, layer, slice(None) if head is None else slice(head, head + 1)))
    return probs if head is None else probs[0]


def _scores(trace: Trace, layer: int, heads: slice) -> Float[np.ndarray, "heads seq seq"]:
    """Scaled and masked products of queries and keys; a key that may not be looked at gets -inf."""
    if trace.query is None or trace.key is None or trace.masks is None or trace.scaling is None:
        raise ValueError("a recorded trace without query, key, masks and scaling")
    query, key, mask = trace.query[layer], trace.key[layer], trace.masks[layer]
    shared = len(query) // len(key)
    keys = key if shared == 1 else np.repeat(key, shared, axis=0)
    scores: np.ndarray = query[heads] @ keys[heads].transpose(0, 2, 1)
    scores *= np.float32(trace.scaling[layer])
    if mask is not None:
        part = mask[heads] if len(mask) > 1 else mask
        if part.dtype == np.bool_:
            np.copyto(scores, np.float32(-np.inf), where=~part)
        else:
            scores += part
    return scores


def _softmax(scores: Float[np.ndarray, "heads seq seq"]) -> Float[np.ndarray, "heads seq seq"]:
    """Softmax over the keys, in place; a row in which no key may be looked at becomes 0."""
    peak = scores.max(axis=-1, keepdims=True)
    peak[np.isneginf(peak)] = 0
    scores -= peak
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    scores /= total
    return scores
