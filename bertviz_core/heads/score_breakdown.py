"""Queries, keys and scores of a layer in float64: from weights and inputs, or as they were recorded."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.head_remainders import ADDED, content_scaling
from bertviz_core.loading import LoadedModel
from bertviz_core.results.head_cell import Positions
from bertviz_core.results.heads import HeadProjections, LayerRun
from bertviz_core.results.trace import Trace

ROUNDING = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 6e-2}
"""Relative difference of two ways to compute one vector, by the run's number format; more is another computation."""
UNSEEN = -1e30
"""What is added to a score to blank it out, whatever number a family takes for minus infinity."""
Rows = Float[np.ndarray, "heads seq"]


class Vectors(NamedTuple):
    """Queries, keys and values of a layer as they are multiplied, and how they come from the projections."""

    query: Float[np.ndarray, "heads seq head_dim"]
    key: Float[np.ndarray, "key_heads seq head_dim"]
    value: Float[np.ndarray, "key_heads seq value_dim"]
    positions: Positions
    factor: float
    """What the projected query is multiplied with."""
    difference: float | None
    """Largest difference to what was recorded, of numbers or of lengths; None where nothing was."""


class ScoreRows(NamedTuple):
    """One query of every head against all keys."""

    scaled: Rows
    added: Rows
    scaling: float
    name: str
    """What is added; "" for nothing."""
    is_remainder: bool
    """Whether what is added was worked out backwards from the model's weights."""


def score_rows(loaded: LoadedModel, trace: Trace, layer: int, vectors: Vectors, position: int) -> ScoreRows:
    """Scaled products of one query of every head with all keys, and what is added to them before the softmax."""
    if trace.attentions is None:
        return _recorded_rows(trace, layer, vectors, position)
    scaling = content_scaling(loaded, vectors.query.shape[-1])
    return _remainder_rows(trace, layer, vectors, position, scaling)


def layer_vectors(trace: Trace, layer: int, parts: HeadProjections, run: LayerRun) -> Vectors:
    """Queries, keys and values from inputs and weights; those that were recorded where positions changed them."""
    query = projected(run.query_input, parts.query, parts.query_bias)
    key = projected(run.key_input, parts.key, parts.key_bias)
    value = projected(run.value_input, parts.value, parts.value_bias)
    if trace.query is None or trace.key is None:
        return Vectors(query, key, value, "as projected", 1.0, None)
    tolerance = ROUNDING.get(trace.dtype, 1e-4)
    query_way, query_factor, query_off = _relation(query, trace.query[layer], tolerance)
    key_way, key_factor, key_off = _relation(key, trace.key[layer], tolerance)
    if query_way == key_way == "as projected" and key_factor == 1:
        return Vectors(query_factor * query, key, value, "as projected", query_factor, max(query_off, key_off))
    way = query_way if query_way == key_way else "changed"
    off = max(query_off, key_off)
    return Vectors(
        trace.query[layer].astype(np.float64), trace.key[layer].astype(np.float64), value, way, query_factor, off
    )


def projected(
    inputs: Float[np.ndarray, "seq hidden"],
    blocks: Float[np.ndarray, "heads dim hidden"],
    bias: Float[np.ndarray, "heads dim"] | None,
) -> Float[np.ndarray, "heads seq dim"]:
    """Every head's vectors of all tokens: its block of rows times the inputs, plus its bias."""
    vectors: np.ndarray = inputs.astype(np.float64) @ blocks.astype(np.float64).transpose(0, 2, 1)
    return vectors if bias is None else vectors + bias[:, None]


def _relation(
    projected: Float[np.ndarray, "heads seq dim"], used: Float[np.ndarray, "heads seq dim"], tolerance: float
) -> tuple[Positions, float, float]:
    """How the vectors that are multiplied come from the projected ones, by which factor, and how far off they are.

    A rotation keeps the length of every vector (Su et al. 2021, section 3.4.2).
    """
    factor = float(np.linalg.norm(used) / (np.linalg.norm(projected) or 1.0))
    if abs(factor - 1) < tolerance:
        factor = 1.0
    peak = float(np.abs(used).max()) or 1.0
    off = float(np.abs(factor * projected - used).max())
    if off <= tolerance * peak:
        return "as projected", factor, off
    lengths, wanted = factor * np.linalg.norm(projected, axis=-1), np.linalg.norm(used, axis=-1)
    off = float(np.abs(lengths - wanted).max())
    return "rotated" if off <= tolerance * float(wanted.max()) else "changed", factor, off


def _recorded_rows(trace: Trace, layer: int, vectors: Vectors, position: int) -> ScoreRows:
    """Products of one query with all keys, and what the recorded mask or bias adds to them."""
    scaling = float((trace.scaling or ())[layer])
    scaled = _content(vectors, position) * scaling
    mask = (trace.masks or ())[layer]
    if mask is None:
        return ScoreRows(scaled, np.zeros_like(scaled), scaling, "", False)
    row = mask[:, position]
    added = np.where(row, 0.0, -np.inf) if mask.dtype == np.bool_ else row.astype(np.float64)
    added = np.broadcast_to(np.where(added < UNSEEN, -np.inf, added), scaled.shape)
    finite = added[np.isfinite(added)]
    name = "relative position" if finite.any() else "mask" if finite.size < added.size else ""
    return ScoreRows(scaled, added, scaling, name, False)


def _remainder_rows(trace: Trace, layer: int, vectors: Vectors, position: int, scaling: float) -> ScoreRows:
    """Products of one query with all keys, and what must be added to them to give the model's own weights.

    A softmax does not feel what is added to a whole row, so the remainder is known up to its mean, which is made 0.
    """
    if trace.attentions is None:
        raise ValueError("a trace without attention maps")
    scaled = _content(vectors, position) * scaling
    with np.errstate(divide="ignore"):
        logs = np.log(trace.attentions[layer][:, position].astype(np.float64))
    seen = np.isfinite(logs)
    added = np.where(seen, logs, 0) - scaled
    means = (added * seen).sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1)
    added = np.where(seen, added - means, -np.inf)
    if float(np.abs(added[seen]).max(initial=0)) > 10 * ROUNDING.get(trace.dtype, 1e-4):
        return ScoreRows(scaled, added, scaling, ADDED.get(trace.model_type, "further terms"), True)
    return ScoreRows(scaled, np.where(seen, 0.0, -np.inf), scaling, "" if seen.all() else "mask", False)


def _content(vectors: Vectors, position: int) -> Rows:
    shared = len(vectors.query) // len(vectors.key)
    keys = np.repeat(vectors.key, shared, axis=0)
    product: np.ndarray = np.einsum("hd,hsd->hs", vectors.query[:, position], keys)
    return product


def softmax(scores: Rows) -> Rows:
    """Softmax over the keys; a row in which no key may be looked at becomes 0."""
    peak = scores.max(axis=-1, keepdims=True)
    raised = np.exp(scores - np.where(np.isfinite(peak), peak, 0))
    total = raised.sum(axis=-1, keepdims=True)
    weights: np.ndarray = raised / np.where(total == 0, 1, total)
    return weights
