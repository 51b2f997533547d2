"""Compute attention rollout."""

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.probabilities import attention_block, head_batches, row_tiles
from bertviz_core.errors import TextError
from bertviz_core.lazy_imports import torch
from bertviz_core.trace.results import Trace

MAX_NBYTES = 512 * 1024**2
"""Memory limit for the maps of all layers; a map of 2,048 tokens has 16 MiB."""
ROLLOUT_RULE = (
    "Per layer the mean over the heads, half of it and half of the token itself for the residual connection, rows "
    "normalised to sum to 1; the layers multiplied up to this one (Abnar & Zuidema 2020, section 3). It leaves out "
    "values, feed-forward and normalisation."
)


def attention_rollout(trace: Trace, last: int | None = None) -> Float[np.ndarray, "layers seq seq"]:
    """Attention rollout: shares of the input tokens (columns) in every token (rows) after each layer; rows sum to 1.

    R_0 = A_0, R_l = A_l R_(l-1) with A_l = (mean over heads + identity) / 2, its rows normalised to sum to 1 (Abnar &
    Zuidema 2020, section 3). No unit.

    Args:
        trace: the run.
        last: the last layer to compute; None for all.

    Raises:
        UnsupportedModelError: the attention of this model is not known.
        TextError: the text is too long.
        ValueError: there is no such layer.
    """
    seq = len(trace.tokens)
    layers = trace.num_hidden_layers if last is None else last + 1
    if layers * seq * seq * 4 > MAX_NBYTES:
        max_tokens = int((MAX_NBYTES / 4 / trace.num_hidden_layers) ** 0.5)
        raise TextError(
            f"Rollout multiplies whole maps and the text has {seq:,} tokens; give a text of at most "
            f"{max_tokens:,} tokens, or look at one head."
        )
    rollout = np.empty((layers, seq, seq), dtype=np.float32)
    for layer in range(layers):
        mixed = _mixed(trace, layer)
        if layer:
            torch.matmul(
                torch.from_numpy(mixed), torch.from_numpy(rollout[layer - 1]), out=torch.from_numpy(rollout[layer])
            )
        else:
            rollout[0] = mixed
    return rollout


def _mixed(trace: Trace, layer: int) -> Float[np.ndarray, "seq seq"]:
    """Half the mean over the heads, half the identity, rows normalised to sum to 1."""
    seq, heads = len(trace.tokens), max(trace.num_attention_heads, 1)
    mixed = np.zeros((seq, seq), dtype=np.float32)
    for batch in head_batches(heads, seq):
        for rows in row_tiles(seq):
            mixed[rows] += attention_block(trace, layer, batch, rows).sum(axis=0)
    mixed /= heads
    mixed[np.diag_indices(seq)] += 1
    mixed /= mixed.sum(axis=1, keepdims=True)
    return mixed
