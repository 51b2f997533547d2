"""One cell of attention worked out by hand: from two vectors to a weight, and from the weights to what a head hands on.

Vaswani et al. (2017), section 3.2.1: softmax(Q K^T / sqrt(d)) V. All of it in float64, so that what differs from the
model is the model's own rounding.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.attention import attention_rows
from bertviz_core.head_rows import ROUNDING, Rows, ScoreRows, Vectors, layer_vectors, projected, score_rows, softmax
from bertviz_core.heads import head_projections, merge_columns
from bertviz_core.layer_run import layer_run
from bertviz_core.loading import LoadedModel
from bertviz_core.results.head_cell import CellArithmetic, MixArithmetic, ScoreArithmetic
from bertviz_core.results.heads import HeadProjections, LayerRun
from bertviz_core.results.trace import Trace


class LayerHeads(NamedTuple):
    """What all cells of one layer and text share."""

    projections: HeadProjections
    run: LayerRun


class _Cell(NamedTuple):
    head: int
    key_head: int
    query_position: int
    key_position: int


def layer_heads(loaded: LoadedModel, trace: Trace, layer: int) -> LayerHeads:
    """The projections of a layer and what they were given for the trace's text, for any number of cells.

    Raises:
        UnsupportedModelError: the family has no such projections, or keeps them in a way that is not known.
        ValueError: there is no such layer.
    """
    return LayerHeads(head_projections(loaded, layer), layer_run(loaded, trace.tokens, layer))


def cell_arithmetic(
    loaded: LoadedModel,
    trace: Trace,
    layer: int,
    head: int,
    query_position: int,
    key_position: int,
    heads: LayerHeads | None = None,
) -> CellArithmetic:
    """Every number on the way to one attention weight, and behind it to what the head hands on for this query.

    Law: softmax of the scores is the row of the model's attention, and the sum of what all heads hand on, plus the
    bias, is the output of the layer's attention. A family that computes attention in code of its own may add terms to
    the product of query and key; they are worked out backwards from its weights and named as a remainder.

    Args:
        loaded: the model of the trace.
        trace: a run of it.
        layer: zero-based.
        head: zero-based.
        query_position: position of the token that looks.
        key_position: position of the token looked at.
        heads: what layer_heads gave for this trace and layer, if it is known already.

    Raises:
        UnsupportedModelError: this model's attention or its projections are not known; says why.
        ValueError: there is no such layer, head or token.
    """
    seq = len(trace.tokens)
    if not (0 <= query_position < seq and 0 <= key_position < seq):
        raise ValueError(f"tokens {query_position} and {key_position} of {seq}")
    own = attention_rows(trace, layer, head, slice(query_position, query_position + 1))[0]
    parts, run = heads or layer_heads(loaded, trace, layer)
    vectors = layer_vectors(trace, layer, parts, run)
    rows = score_rows(loaded, trace, layer, vectors, query_position)
    weights = softmax(rows.scaled + rows.added)
    cell = _Cell(head, head // (parts.num_heads // len(parts.key)), query_position, key_position)
    return CellArithmetic(
        model=trace.model,
        layer=layer,
        head=head,
        key_head=cell.key_head,
        query_position=query_position,
        key_position=key_position,
        score=_score(parts, run, vectors, rows, cell, weights[head], own),
        mix=_mix(trace, parts, run, vectors, cell, weights),
    )


def _score(
    parts: HeadProjections,
    run: LayerRun,
    vectors: Vectors,
    rows: ScoreRows,
    cell: _Cell,
    weights: Float[np.ndarray, " seq"],
    own: Float[np.ndarray, " seq"],
) -> ScoreArithmetic:
    head, key_head, i, j = cell
    query, key = vectors.query[head, i], vectors.key[key_head, j]
    added = rows.added[head]
    inputs = run.query_input[i : i + 1], run.key_input[j : j + 1]
    made = projected(inputs[0], parts.query, parts.query_bias), projected(inputs[1], parts.key, parts.key_bias)
    return ScoreArithmetic(
        query_input=run.query_input[i],
        key_input=run.key_input[j],
        query_projected=_single(made[0][head, 0]),
        key_projected=_single(made[1][key_head, 0]),
        positions=vectors.positions,
        query_factor=vectors.factor,
        projection_difference=vectors.difference,
        query=_single(query),
        key=_single(key),
        products=_single(query * key),
        total=float(query @ key),
        scaling=rows.scaling,
        scaled=float(rows.scaled[head, j]),
        added=float(added[j]),
        added_name=rows.name,
        is_remainder=rows.is_remainder,
        added_peak=float(np.abs(added[np.isfinite(added)]).max(initial=0)),
        score=float(rows.scaled[head, j] + added[j]),
        scores=_single(rows.scaled[head] + added),
        weights=_single(weights),
        model_weights=own,
        max_difference=float(np.abs(weights - own).max()),
    )


def _mix(
    trace: Trace, parts: HeadProjections, run: LayerRun, vectors: Vectors, cell: _Cell, weights: Rows
) -> MixArithmetic:
    """The mix of all heads for one query, through W_o, beside what the model itself gave to W_o and got from it."""
    position = cell.query_position
    values = np.repeat(vectors.value, len(weights) // len(vectors.value), axis=0)
    mixes = np.einsum("hs,hsd->hd", weights, values)
    outputs = np.einsum("hod,hd->ho", parts.output.astype(np.float64), mixes)
    rest = np.zeros(outputs.shape[1])
    mix_difference = output_difference = None
    if run.mixed is not None and run.output is not None:
        own, side_by_side = run.mixed[position].astype(np.float64), mixes.reshape(-1)
        beside = own[: mixes.size] - side_by_side
        mix_difference = float(np.abs(beside).max())
        # What the family puts beside or behind the mixes; rounding alone is none of it.
        if mix_difference > ROUNDING.get(trace.dtype, 1e-4) * max(1.0, float(np.abs(own).max())):
            rest = merge_columns(parts.output) @ beside
        rest = rest + parts.output_rest @ own[mixes.size :]
        bias = 0 if parts.output_bias is None else parts.output_bias
        output_difference = float(np.abs(outputs.sum(axis=0) + rest + bias - run.output[position]).max())
    return MixArithmetic(
        values=_single(vectors.value[cell.key_head]),
        mix=_single(mixes[cell.head]),
        head_output=_single(outputs[cell.head]),
        head_norms=_single(np.linalg.norm(outputs, axis=1)),
        mix_difference=mix_difference,
        output_difference=output_difference,
        rest_norm=float(np.linalg.norm(rest)),
    )


def _single(values: np.ndarray) -> np.ndarray:
    found: np.ndarray = values.astype(np.float32)
    return found
