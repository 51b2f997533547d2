"""Maps and the atlas of attention that another program has computed."""

import math
from collections.abc import Iterable, Sequence, Sized
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.atlas import (
    MAX_THUMBNAIL_SIDE,
    max_pool,
    mean_measures,
    measure_sums,
    pool_starts,
    token_distances,
)
from bertviz_core.attention.results import AttentionAtlas, AttentionMap, Axis, HeadMeasures, MapOptions
from bertviz_core.errors import TextError

MOST_CELLS = 2**29
"""Maximum number of weights of all layers together: 2 GiB in float32."""
LEAST_ROW = 512
"""A list counts as so many weights at least, so that many short ones are not counted for long."""
EVEN = 1e-2
"""Largest distance of the sum of a row from 1, above which it is mentioned; half precision stays below."""
NO_WEIGHTS = {
    "b": "True and False", "c": "complex numbers", "O": "objects", "S": "bytes", "U": "texts", "M": "dates",
    "m": "durations",
}  # fmt: skip
"""Kinds of NumPy's types whose values are no weights, although they can be converted."""


def stacked(attention: Any) -> Float[np.ndarray, "layers heads queries keys"]:
    """Weights of all layers and heads in one array, in float32.

    Args:
        attention: a sequence with the tensor or array of every layer, [batch, heads, queries, keys] with one text in
            the batch or [heads, queries, keys], as `output_attentions=True` returns it; or one array of all layers,
            of one layer [heads, queries, keys], or one map [queries, keys].
    """
    parts = list(attention) if isinstance(attention, list | tuple) else [attention]
    _check_cells(parts)
    if isinstance(attention, list | tuple):
        layers = [_array(each) for each in parts]
    else:
        layers = list(values) if (values := _array(attention)).ndim >= 4 else [values]
    if not layers or not all(each.size for each in layers):
        raise TextError(
            "attention is empty; models return weights only with output_attentions=True and eager attention."
        )
    layers = [_heads(each) for each in layers]
    shapes = sorted({each.shape for each in layers})
    if len(shapes) > 1:
        raise TextError(f"The layers of attention have different shapes, {shapes[0]} and {shapes[1]}.")
    maps = np.stack(layers)
    if not ((maps >= 0) & (maps < np.inf)).all():  # false for NaN, too
        raise TextError("attention has values that are negative or not finite; give weights after the softmax.")
    return maps


def _check_cells(parts: Sequence[Any]) -> None:
    """Count the weights before any is copied: a view of one number may have the shape of thousands of tokens."""
    left, waiting = MOST_CELLS, list(parts)
    while waiting and left >= 0:
        values = waiting.pop()
        shape = getattr(values, "shape", None)
        left -= math.prod(each for each in shape if isinstance(each, int)) if isinstance(shape, tuple) else 1
        if isinstance(values, list | tuple):
            left -= max(len(values), LEAST_ROW)
            waiting += values if values and not isinstance(values[0], int | float) else ()
    if left < 0:
        raise TextError(f"attention has more than {MOST_CELLS:,} weights; give fewer layers.")


def _array(values: Any) -> np.ndarray:
    """A tensor or array of any device and type as a NumPy array."""
    name = type(values).__name__
    try:
        if hasattr(values, "detach"):
            values = values.detach().cpu()
            values = (values.float() if values.dtype.is_floating_point else values).numpy()
        numbers = np.asarray([] if values is None else values)
        if numbers.dtype.kind not in NO_WEIGHTS:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
                return numbers.astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError for a tensor that is sparse or on "meta"
        raise TextError(f"attention has a {name} where an array of numbers is needed.") from error
    raise TextError(f"attention has {NO_WEIGHTS[numbers.dtype.kind]}, and weights are real numbers.")


def _heads(layer: np.ndarray) -> Float[np.ndarray, "heads queries keys"]:
    """A layer without its batch dimension."""
    if layer.ndim == 4 and len(layer) > 1:
        raise TextError(f"attention is of a batch of {len(layer)} texts; give that of one, attention[:, i : i + 1].")
    layer = layer[0] if layer.ndim == 4 else layer[None] if layer.ndim == 2 else layer
    if layer.ndim != 3:
        raise TextError(f"A layer of attention has {layer.ndim} dimensions; [heads, queries, keys] are needed.")
    return layer


def labelled(name: str, tokens: Any, count: int) -> Axis:
    """An axis of tokens, one label for each."""
    listed = isinstance(tokens, Iterable) and isinstance(tokens, Sized) and not isinstance(tokens, str)
    if not listed or not all(isinstance(token, str) for token in tokens):
        raise TextError(f"{name} has no list of texts; give the text of every token.")
    if len(tokens) != count:
        raise TextError(f"{name} has {len(tokens):,} tokens, and the attention is over {count:,}; give one for each.")
    return Axis(tuple(tokens), tuple((at,) for at in range(count)))


def head_map(
    weights: Float[np.ndarray, "queries keys"], layer: int, head: int, queries: Axis, keys: Axis
) -> AttentionMap:
    """The map of a head, nothing of it hidden."""
    return AttentionMap(layer, head, MapOptions(), queries, keys, weights, np.zeros(len(queries), dtype=np.float32))


def atlas_of(maps: Float[np.ndarray, "layers heads queries keys"], queries: Axis, keys: Axis) -> AttentionAtlas:
    """A thumbnail and the measures of every head, as `attention_atlas` makes them of a run; no token is special."""
    side = MAX_THUMBNAIL_SIDE
    pooled = [[max_pool(max_pool(cells, side, axis=0), side, axis=1) for cells in layer] for layer in maps]
    starts = (pool_starts(len(queries), side), pool_starts(len(keys), side))
    return AttentionAtlas(MapOptions(), queries, keys, np.array(pooled), *starts, head_measures(maps))


def head_measures(maps: Float[np.ndarray, "layers heads queries keys"]) -> HeadMeasures:
    """The measures of every head; where queries and keys are different texts, distances are between positions."""
    layers, heads, queries, keys = maps.shape
    distances, special = token_distances(np.arange(queries), np.arange(keys)), np.zeros(keys, dtype=bool)
    sums = [measure_sums(cells, distances, special) for layer in maps for cells in layer]
    means = np.array([mean_measures(each, queries, keys) for each in sums]).reshape(layers, heads, -1)
    return HeadMeasures(*np.moveaxis(means, -1, 0))


def uneven(maps: Float[np.ndarray, "layers heads queries keys"]) -> str:
    """A sentence if rows do not add up to 1, else an empty text."""
    sums = maps.sum(axis=-1, dtype=np.float64)
    if np.abs(sums - 1).max() <= EVEN:
        return ""
    return f"The rows of this attention add up to {sums.min():.4g} to {sums.max():.4g}, not to 1."
