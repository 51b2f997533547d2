"""Break down an attention score and the output of a head into their factors, in float64."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.maps import attention_rows, layer_sink, softmax
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.heads.projections import capture_layer_io
from bertviz_core.heads.results import CellBreakdown, HeadOutput, HeadProjections, LayerRun, Positions, ScoreBreakdown
from bertviz_core.heads.weights import head_projections, merge_columns
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.results import Trace

ROUNDING_TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 6e-2}
"""Number format -> tolerated relative difference of two computations of a vector."""
MASKED_BELOW = -1e30
"""Additive masks below this value count as minus infinity."""
Rows = Float[np.ndarray, "heads seq"]


class Vectors(NamedTuple):
    """Queries, keys and values of a layer, and how they relate to the projections."""

    query: Float[np.ndarray, "heads seq head_dim"]
    key: Float[np.ndarray, "key_heads seq head_dim"]
    value: Float[np.ndarray, "key_heads seq value_dim"]
    positions: Positions
    factor: float
    """Factor of the projected query."""
    difference: float | None
    """Largest difference from the recorded vectors, of values or lengths; None if nothing was recorded."""


class ScoreRows(NamedTuple):
    """Scores of one query with all keys, for every head."""

    scaled: Rows
    added: Rows
    scaling: float
    name: str
    """Name of the added term; "" for nothing."""
    is_remainder: bool
    """Whether the added term was inferred from the model's weights."""


class LayerHeads(NamedTuple):
    """Data shared by all cells of a layer and text."""

    projections: HeadProjections
    run: LayerRun
    vectors: Vectors


class _Cell(NamedTuple):
    head: int
    key_head: int
    query_position: int
    key_position: int


def break_down_cell(
    loaded: LoadedModel,
    trace: Trace,
    layer: int,
    head: int,
    query_position: int,
    key_position: int,
    heads: LayerHeads | None = None,
) -> CellBreakdown:
    """Break down one attention weight and the output of its head for this query.

    The softmax of the scores is the model's attention row, and the outputs of all heads plus the bias add up to the
    output of the attention layer. If a family adds terms to the product of query and key in its own code, they are
    inferred from its weights and reported as a remainder.

    Args:
        heads: the result of layer_heads for this trace and layer, if available.
    """
    seq = len(trace.tokens)
    if not (0 <= query_position < seq and 0 <= key_position < seq):
        raise ValueError(f"tokens {query_position} and {key_position} of {seq}")
    model_weights = attention_rows(trace, layer, head, slice(query_position, query_position + 1))[0]
    projections, run, vectors = heads or layer_heads(loaded, trace, layer)
    rows = score_rows(loaded, trace, layer, vectors, query_position)
    sink = layer_sink(trace, layer)
    weights = softmax(rows.scaled + rows.added, None if sink is None else sink[:, None])
    cell = _Cell(head, head // (projections.num_heads // len(projections.key)), query_position, key_position)
    return CellBreakdown(
        model=trace.model,
        layer=layer,
        head=head,
        key_head=cell.key_head,
        query_position=query_position,
        key_position=key_position,
        score=_score(projections, run, vectors, rows, cell, weights[head], model_weights, sink),
        output=_head_output(trace, projections, run, vectors, cell, weights),
    )


def layer_heads(loaded: LoadedModel, trace: Trace, layer: int, run: LayerRun | None = None) -> LayerHeads:
    """The projections of a layer, their inputs for the text of a trace, and the queries, keys and values.

    Args:
        run: the result of capture_layer_io for this text and layer, if available.
    """
    projections = head_projections(loaded, layer)
    run = run or capture_layer_io(loaded, trace.tokens, layer)
    return LayerHeads(projections, run, layer_vectors(trace, layer, projections, run))


def layer_vectors(trace: Trace, layer: int, projections: HeadProjections, run: LayerRun) -> Vectors:
    """Queries, keys and values from inputs and weights; the recorded ones if positions changed them."""
    query = projected(run.query_input, projections.query, projections.query_bias)
    key = projected(run.key_input, projections.key, projections.key_bias)
    value = projected(run.value_input, projections.value, projections.value_bias)
    if trace.query is None or trace.key is None:
        return Vectors(query, key, value, "as projected", 1.0, None)
    tolerance = ROUNDING_TOLERANCE.get(trace.dtype, 1e-4)
    query_positions, query_factor, query_error = _relation(query, trace.query[layer], tolerance)
    key_positions, key_factor, key_error = _relation(key, trace.key[layer], tolerance)
    if query_positions == key_positions == "as projected" and key_factor == 1:
        return Vectors(query_factor * query, key, value, "as projected", query_factor, max(query_error, key_error))
    positions = query_positions if query_positions == key_positions else "changed"
    difference = max(query_error, key_error)
    return Vectors(
        trace.query[layer].astype(np.float64),
        trace.key[layer].astype(np.float64),
        value,
        positions,
        query_factor,
        difference,
    )


def score_rows(loaded: LoadedModel, trace: Trace, layer: int, vectors: Vectors, position: int) -> ScoreRows:
    """Scaled products of one query with all keys, and the terms added before the softmax, for every head."""
    if trace.attentions is None:
        return _recorded_rows(trace, layer, vectors, position)
    scaling = content_scaling(loaded, vectors.query.shape[-1])
    return _remainder_rows(trace, layer, vectors, position, scaling)


def content_scaling(loaded: LoadedModel, head_dim: int) -> float:
    """Factor of the product of query and key if it was not recorded.

    1 / sqrt(head_dim) (Vaswani et al. 2017, section 3.2.1); DeBERTa divides by sqrt(head_dim x kinds of products),
    including the content product (He et al. 2021, section 3.1).
    """
    of_positions = set(getattr(loaded.model.config, "pos_att_type", None) or ()) & {"c2p", "p2c"}
    return float((head_dim * (1 + len(of_positions))) ** -0.5)


def projected(
    inputs: Float[np.ndarray, "seq hidden"],
    blocks: Float[np.ndarray, "heads dim hidden"],
    bias: Float[np.ndarray, "heads dim"] | None,
) -> Float[np.ndarray, "heads seq dim"]:
    """Projected vectors of all tokens for every head."""
    vectors: np.ndarray = inputs.astype(np.float64) @ blocks.astype(np.float64).transpose(0, 2, 1)
    return vectors if bias is None else vectors + bias[:, None]


def _score(
    projections: HeadProjections,
    run: LayerRun,
    vectors: Vectors,
    rows: ScoreRows,
    cell: _Cell,
    weights: Float[np.ndarray, " seq"],
    model_weights: Float[np.ndarray, " seq"],
    sink: Float[np.ndarray, " heads"] | None,
) -> ScoreBreakdown:
    head, key_head, i, j = cell
    query, key = vectors.query[head, i], vectors.key[key_head, j]
    added = rows.added[head]
    inputs = run.query_input[i : i + 1], run.key_input[j : j + 1]
    bias_included = (
        projected(inputs[0], projections.query, projections.query_bias),
        projected(inputs[1], projections.key, projections.key_bias),
    )
    return ScoreBreakdown(
        query_input=run.query_input[i],
        key_input=run.key_input[j],
        query_projected=_single(bias_included[0][head, 0]),
        key_projected=_single(bias_included[1][key_head, 0]),
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
        model_weights=model_weights,
        max_difference=float(np.abs(weights - model_weights).max()),
        sink=None if sink is None else float(sink[head]),
    )


def _head_output(
    trace: Trace, projections: HeadProjections, run: LayerRun, vectors: Vectors, cell: _Cell, weights: Rows
) -> HeadOutput:
    """The mixed values of all heads for one query and their outputs, compared with the recorded ones."""
    position = cell.query_position
    values = np.repeat(vectors.value, len(weights) // len(vectors.value), axis=0)
    mixes = np.einsum("hs,hsd->hd", weights, values)
    outputs = np.einsum("hod,hd->ho", projections.output.astype(np.float64), mixes)
    rest = np.zeros(outputs.shape[1])
    mix_difference = output_difference = None
    if run.mixed is not None and run.output is not None:
        model_mixes, side_by_side = run.mixed[position].astype(np.float64), mixes.reshape(-1)
        difference = model_mixes[: mixes.size] - side_by_side
        mix_difference = float(np.abs(difference).max())
        # More than rounding: terms that the family adds to the mixed values.
        if mix_difference > ROUNDING_TOLERANCE.get(trace.dtype, 1e-4) * max(1.0, float(np.abs(model_mixes).max())):
            _refuse_other_mixes(trace, mix_difference)
            rest = merge_columns(projections.output) @ difference
        rest = rest + projections.output_rest @ model_mixes[mixes.size :]
        bias = 0 if projections.output_bias is None else projections.output_bias
        output_difference = float(np.abs(outputs.sum(axis=0) + rest + bias - run.output[position]).max())
    return HeadOutput(
        values=_single(vectors.value[cell.key_head]),
        mix=_single(mixes[cell.head]),
        head_output=_single(outputs[cell.head]),
        head_norms=_single(np.linalg.norm(outputs, axis=1)),
        mix_difference=mix_difference,
        output_difference=output_difference,
        rest_norm=float(np.linalg.norm(rest)),
    )


def _refuse_other_mixes(trace: Trace, difference: float) -> None:
    """Refuse a family that passes something unknown to W_o."""
    row = family(trace.model_type)
    if not row.beside_heads:
        raise UnsupportedModelError(
            f"The heads of {row.title} cannot be broken down here: what its attention hands to the output projection "
            f"is not the heads' mixes of value vectors (largest difference {difference:.2g}); choose another model."
        )


def _relation(
    projected: Float[np.ndarray, "heads seq dim"], recorded: Float[np.ndarray, "heads seq dim"], tolerance: float
) -> tuple[Positions, float, float]:
    """How the recorded vectors relate to the projected ones, by which factor, and their difference.

    A rotation preserves the length of every vector (Su et al. 2021, section 3.4.2).
    """
    factor = float(np.linalg.norm(recorded) / (np.linalg.norm(projected) or 1.0))
    if abs(factor - 1) < tolerance:
        factor = 1.0
    peak = float(np.abs(recorded).max()) or 1.0
    difference = float(np.abs(factor * projected - recorded).max())
    if difference <= tolerance * peak:
        return "as projected", factor, difference
    lengths, used_lengths = factor * np.linalg.norm(projected, axis=-1), np.linalg.norm(recorded, axis=-1)
    difference = float(np.abs(lengths - used_lengths).max())
    return "rotated" if difference <= tolerance * float(used_lengths.max()) else "changed", factor, difference


def _recorded_rows(trace: Trace, layer: int, vectors: Vectors, position: int) -> ScoreRows:
    """Products of one query with all keys, and the recorded mask or bias."""
    scaling = float((trace.scaling or ())[layer])
    scaled = _content(vectors, position) * scaling
    mask = (trace.masks or ())[layer]
    if mask is None:
        return ScoreRows(scaled, np.zeros_like(scaled), scaling, "", False)
    row = mask[:, position]
    added = np.where(row, 0.0, -np.inf) if mask.dtype == np.bool_ else row.astype(np.float64)
    added = np.broadcast_to(np.where(added < MASKED_BELOW, -np.inf, added), scaled.shape)
    finite = added[np.isfinite(added)]
    name = "relative position" if finite.any() else "mask" if finite.size < added.size else ""
    return ScoreRows(scaled, added, scaling, name, False)


def _remainder_rows(trace: Trace, layer: int, vectors: Vectors, position: int, scaling: float) -> ScoreRows:
    """Products of one query with all keys, and the remainder that leads to the model's own weights.

    A softmax is invariant to a constant, so the remainder is chosen with mean 0.
    """
    if trace.attentions is None:
        raise ValueError("a trace without attention maps")
    scaled = _content(vectors, position) * scaling
    with np.errstate(divide="ignore"):
        logs = np.log(trace.attentions[layer][:, position].astype(np.float64))
    visible = np.isfinite(logs)
    added = np.where(visible, logs, 0) - scaled
    means = (added * visible).sum(axis=1, keepdims=True) / np.maximum(visible.sum(axis=1, keepdims=True), 1)
    added = np.where(visible, added - means, -np.inf)
    if float(np.abs(added[visible]).max(initial=0)) > 10 * ROUNDING_TOLERANCE.get(trace.dtype, 1e-4):
        return ScoreRows(scaled, added, scaling, family(trace.model_type).score_terms, True)
    return ScoreRows(scaled, np.where(visible, 0.0, -np.inf), scaling, "" if visible.all() else "mask", False)


def _content(vectors: Vectors, position: int) -> Rows:
    shared = len(vectors.query) // len(vectors.key)
    keys = np.repeat(vectors.key, shared, axis=0)
    product: np.ndarray = np.einsum("hd,hsd->hs", vectors.query[:, position], keys)
    return product


def _single(values: np.ndarray) -> np.ndarray:
    single: np.ndarray = values.astype(np.float32)
    return single
