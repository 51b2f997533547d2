"""Compute the attention map of one head, with words merged and tokens hidden (merging.py), not renormalised."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.merging import select_entries
from bertviz_core.attention.probabilities import attention_block
from bertviz_core.attention.results import OF_LAYERS, AttentionMap, MapOptions
from bertviz_core.attention.rollout import attention_rollout
from bertviz_core.trace.results import Trace

RowSource = Callable[[slice], np.ndarray]
"""Returns the rows (heads, rows, seq) of a slice of queries, over all tokens."""
NORMS_RULE = (
    "A cell is the weight times the length of what the head hands over from the key's token, ||alpha f(x)|| with "
    "f(x) = (x W_v + b_v) W_o of that head (Kobayashi et al. 2020, section 3); in the scale of the model's vectors."
)


def attention_map(
    trace: Trace,
    layer: int,
    head: int | None,
    options: MapOptions | None = None,
    value_norms: Float[np.ndarray, "heads seq"] | None = None,
    layer_map: Float[np.ndarray, "seq seq"] | None = None,
) -> AttentionMap:
    """The attention of a head, with the share of every row that lies on hidden keys.

    The shown and hidden shares of a row add up to the sum of the row over all tokens: 1 for all weights but
    "value-weighted". Merging words keeps that sum (merging.WORDS_RULE); nothing is renormalised.

    Args:
        trace: the run.
        layer: zero-based; for rollout the last layer included.
        head: zero-based; None for rollout and value zeroing, which combine all heads.
        options: how tokens are merged, hidden and selected; the default shows all tokens.
        value_norms: ||f(x_j)|| of every head of this layer and every key, for weights "value-weighted" (NORMS_RULE).
        layer_map: the map of this layer for weights "rollout" (computed by default) or "value-zeroing".

    Raises:
        UnsupportedModelError: the attention of this model is not known.
        TextError: no tokens are left to show, or the text is too long for rollout.
        ValueError: there is no such layer or head, or norms or a map of value zeroing are missing.
    """
    options = options or MapOptions()
    selection = select_entries(trace.tokens, options)
    if (head is None) != (options.weights in OF_LAYERS):
        raise ValueError(f"head {head} of {options.weights}")
    heads = None if head is None else slice(head, head + 1)
    if options.weights == "rollout" and layer_map is None:
        layer_map = attention_rollout(trace, layer)[layer]
    source = row_source(trace, layer, heads, layer_map)
    norms = key_norms(trace, heads, options, value_norms)
    tiles = [
        selection.apply(source(tokens)[0], entries, None if norms is None else norms[0])
        for tokens, entries in selection.tiles()
    ]
    weights, hidden = tiles[0] if len(tiles) == 1 else map(np.concatenate, zip(*tiles, strict=True))
    return AttentionMap(
        layer, head, options, selection.shown(selection.queries), selection.shown(selection.keys), weights, hidden
    )


def row_source(
    trace: Trace, layer: int, heads: slice | None, layer_map: Float[np.ndarray, "seq seq"] | None = None
) -> RowSource:
    """A source of the rows of consecutive heads, or of layer_map if heads is None.

    Raises:
        ValueError: layer_map is missing, or belongs to another text.
    """
    if heads is None:
        if layer_map is None or layer_map.shape != (len(trace.tokens),) * 2:
            raise ValueError("all heads together without the map of the layer")
        return lambda rows: layer_map[None, rows]
    return lambda rows: attention_block(trace, layer, heads, rows)


def key_norms(
    trace: Trace, heads: slice | None, options: MapOptions, value_norms: Float[np.ndarray, "heads seq"] | None
) -> Float[np.ndarray, "some seq"] | None:
    """Factors of the columns of consecutive heads; None unless weights are "value-weighted".

    Raises:
        ValueError: norms are missing, or belong to another text.
    """
    if heads is None or options.weights != "value-weighted":
        return None
    if value_norms is None or value_norms.shape != (trace.num_attention_heads, len(trace.tokens)):
        raise ValueError("value-weighted attention without one norm for every head and token")
    return np.asarray(value_norms[heads], dtype=np.float32)
