"""Pictures of one run as pages and the command line name them: hidden states, input, pooler, attention, heads."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from bertviz_core.results.attention import AttentionMap
from bertviz_core.results.hidden_states import EmbeddingSum, PoolerCheck, TokenPaths
from bertviz_core.results.trace import Trace
from figures.attention import attention_heatmap
from figures.head_maps import norm_maps
from figures.hidden_states import layer_map, similarity_scrubber, values_heatmap
from figures.picture import Picture
from figures.token_lines import embedding_norms, path_lines, pooler_bars
from figures.tokens_axis import labels

LENGTH, BEFORE, INPUT = "length", "against the layer before", "against its own input"
"""What one number per token and layer can be."""


def values_picture(trace: Trace, layer: int, first: int, window: int) -> Picture:
    """Hidden states of one entry, a window of dimensions wide."""
    values = trace.hidden_states[layer][:, first : first + window]
    last = first + values.shape[1] - 1
    title = f"Hidden states of layer {layer}, dimensions {first} to {last} - {trace.model}"
    alt = f"{title}: tokens by dimensions, symmetric scale"
    return Picture(title, alt, lambda look: values_heatmap(values, labels(trace.tokens), first, title, look))


def change_picture(values: Float[np.ndarray, "rows seq"], trace: Trace, measure: str) -> Picture:
    """One number per token and layer.

    Args:
        values: the numbers; where there are fewer rows than hidden states, those of the last ones.
        trace: the run.
        measure: LENGTH, BEFORE or INPUT.
    """
    words = "Length of each token's vector" if measure == LENGTH else f"Cosine {measure}"
    title = f"{words}, layer by layer - {trace.model}"
    unit, first = ("norm" if measure == LENGTH else "cosine"), len(trace.hidden_states) - len(values)
    names = labels(trace.tokens)
    return Picture(title, f"{title}: tokens by layers", lambda look: layer_map(values, names, first, title, unit, look))


def similarity_picture(
    cosines: Float[np.ndarray, "states seq seq"], trace: Trace, first: int, layer: int | None = None
) -> Picture:
    """Every token against every other, with a slider that begins at a layer, the last by default.

    Args:
        cosines: of a run of tokens.
        trace: the run.
        first: position of the first of them.
        layer: where the slider stands.
    """
    names = labels(trace.tokens)[first : first + cosines.shape[1]]
    at = len(cosines) - 1 if layer is None else layer
    title = f"Cosine of every token to every other - {trace.model}"
    alt = f"{title}, with a slider over the layers"
    return Picture(title, alt, lambda look: similarity_scrubber(cosines, names, at, title, look))


def paths_picture(paths: TokenPaths, trace: Trace, first: int) -> Picture:
    """The tokens' ways through the layers in the plane of largest variance; first is the first token's position."""
    names = labels(trace.tokens)[first : first + paths.points.shape[1]]
    title = f"Tokens' paths over the layers - {trace.model}"
    alt = f"{title}: a line per token, from the embedding to the last layer"
    return Picture(title, alt, lambda look: path_lines(paths, names, title, look))


def paths_words(trace: Trace) -> str:
    """What the shades of the marks are."""
    return f"The marks stand out more with every layer, 0 to {trace.num_hidden_layers}."


def embedding_lengths(parts: EmbeddingSum, shown: slice) -> dict[str, Float[np.ndarray, " seq"]]:
    """Name -> lengths of the vectors that are added, of their sum, and of what the layer norm makes of it."""
    vectors = {
        "word": parts.word,
        "position": parts.position,
        "token type": parts.token_type,
        "other": parts.other,
        "sum": parts.total,
        "after layer norm": parts.normalized,
    }
    return {name: np.linalg.norm(each[shown], axis=-1) for name, each in vectors.items() if each is not None}


def input_picture(lengths: Mapping[str, Float[np.ndarray, " seq"]], trace: Trace, first: int) -> Picture:
    """Lengths of the vectors that make the tokens' input; first is the first token's position."""
    count = len(next(iter(lengths.values())))
    names = labels(trace.tokens)[first : first + count]
    title = f"What each token's input is made of - {trace.model}"
    alt = f"{title}: lengths of the vectors that are added"
    return Picture(title, alt, lambda look: embedding_norms(lengths, names, title, look))


def pooler_picture(check: PoolerCheck, model: str) -> Picture:
    """The first token's last vector, and what the pooler makes of it."""
    title = f"First token and pooler output - {model}"
    return Picture(title, f"{title}, dimension by dimension", lambda look: pooler_bars(check, title, look))


def attention_title(found: AttentionMap, model: str) -> str:
    """What a map is, for a slide."""
    if found.reading.weights == "rollout":
        return f"Attention rollout up to layer {found.layer} - {model}"
    words = "Attention" if found.reading.weights == "attention" else "Value-weighted attention"
    return f"{words} of layer {found.layer}, head {found.head} - {model}"


def attention_picture(found: AttentionMap, trace: Trace) -> Picture:
    """One map of attention, queries by keys."""
    title = attention_title(found, trace.model)
    special = np.flatnonzero(trace.tokens.special).tolist()
    return Picture(title, f"{title}: queries by keys", lambda look: attention_heatmap(found, special, title, look))


def norms_picture(norms: Float[np.ndarray, "layers heads blocks"], model: str) -> Picture:
    """Norms of the blocks of all heads of all layers."""
    title = f"Norms of the heads' blocks, {len(norms)} layers - {model}"
    return Picture(title, f"{title}: four maps of layers by heads", lambda look: norm_maps(norms, title, look))
