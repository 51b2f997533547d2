"""Hand-made attention: rows that sum to 1, a different pattern for every head, tokens that look like markup."""

import numpy as np

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, Axis, HeadMeasures, MapOptions

EVIL = "<img src=x onerror=alert(1)>"
WORDS = ("[CLS]", EVIL, "</script>", "un", "##believ", "##able", "**bold**", "\u202egnp", "the", "the", "cat", "sat")


def labels(seq):
    """[CLS], repeated words, [SEP]."""
    return ("[CLS]", *(WORDS[1 + index % (len(WORDS) - 1)] for index in range(seq - 2)), "[SEP]")


def atlas_of(seq, layers, heads, side=64, reading=None):
    """Weights (layers, heads, seq, seq) and their atlas, max-pooled to equal blocks if longer than `side`."""
    place = np.arange(seq)
    distance = place[None] - place[:, None]
    weights = np.empty((layers, heads, seq, seq), dtype=np.float32)
    for layer in range(layers):
        for head in range(heads):
            away = np.abs(distance - (head - heads // 2)) * (0.25 + layer / layers)
            scores = -away + 2.5 * np.cos(place * (head + 1))[None] * (layer % 3) / 2
            scores[:, 0] += head % 3
            raised = np.exp(scores - scores.max(-1, keepdims=True))
            weights[layer, head] = raised / raised.sum(-1, keepdims=True)
    starts = np.arange(0, seq, -(-seq // side))
    pooled = np.maximum.reduceat(np.maximum.reduceat(weights, starts, axis=2), starts, axis=3)
    axis = Axis(labels(seq), tuple((position,) for position in range(seq)))
    atlas = AttentionAtlas(
        options=reading or MapOptions(),
        queries=axis,
        keys=axis,
        thumbnails=pooled,
        row_starts=starts,
        column_starts=starts,
        measures=measures_of(weights),
    )
    return weights, atlas


def measures_of(weights):
    """The measures of every head by their definitions."""
    seq = weights.shape[-1]
    place = np.arange(seq)
    away = np.abs(place[None] - place[:, None])
    return HeadMeasures(
        entropy=(-weights * np.log(weights + 1e-30)).sum(-1).mean(-1).astype(np.float32),
        distance=(weights * away).sum(-1).mean(-1).astype(np.float32),
        special_share=(weights[..., 0] + weights[..., -1]).mean(-1).astype(np.float32),
        diagonal_share=np.einsum("lhii->lhi", weights).mean(-1).astype(np.float32),
    )


def map_of(weights, atlas, layer, head):
    """The full map of one head."""
    return AttentionMap(
        layer=layer,
        head=head,
        options=atlas.options,
        queries=atlas.queries,
        keys=atlas.keys,
        weights=weights[layer, head],
        hidden_share=np.zeros(len(atlas.queries), dtype=np.float32),
    )
