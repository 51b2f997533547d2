"""Compute measures of every head on a text, which can be averaged over many texts."""

import numpy as np
from jaxtyping import Bool, Float

from bertviz_core.attention.atlas import mean_measures, measure_sums, token_distances
from bertviz_core.attention.probabilities import attention_block, head_batches, require_attention, row_tiles
from bertviz_core.attention.results import HeadMeasure
from bertviz_core.trace.results import Trace

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
    its special share is the sum of the first two shares.

    Raises:
        UnsupportedModelError: this model's attention is not known.
    """
    require_attention(trace)
    seq, special = len(trace.tokens), trace.tokens.special
    heads = trace.num_attention_heads
    profile = np.empty((len(PROFILE_MEASURES), trace.num_hidden_layers, heads), dtype=np.float32)
    for layer in range(trace.num_hidden_layers):
        for batch in head_batches(heads, seq):
            sums = np.zeros((batch.stop - batch.start, len(PROFILE_MEASURES)))
            for tile in row_tiles(seq):
                block = attention_block(trace, layer, batch, tile)
                distances = token_distances(np.arange(tile.start, tile.stop), np.arange(seq))
                sums += np.stack([_profile_sums(rows, distances, tile.start, special) for rows in block])
            profile[:, layer, batch] = np.stack([mean_measures(each, seq, seq) for each in sums], axis=1)
    return profile


def _profile_sums(
    rows: Float[np.ndarray, "rows seq"],
    distances: Float[np.ndarray, "rows seq"],
    start: int,
    special: Bool[np.ndarray, " seq"],
) -> Float[np.ndarray, " measures"]:
    """Sums over consecutive queries, starting at `start`."""
    entropy, distance, on_special, diagonal = measure_sums(rows, distances, special)
    first = float(rows[:, 0].sum(dtype=np.float64)) if special[:1].any() else 0.0
    before, after = (float(np.trace(rows, start + step, dtype=np.float64)) for step in (-1, 1))
    return np.array([entropy, distance, first, on_special - first, before, after, diagonal])
