"""Checkpoints, their changes and training runs as data frames."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bertviz_core.checkpoints.load_report.results import HeadDifference, KeyRow, LoadReport
from bertviz_core.checkpoints.results import (
    Behaviour,
    ChangeHistograms,
    CheckpointComparison,
    CheckpointStatistics,
    Histogram,
    LayerSimilarity,
    NumberFormats,
    TextAgreement,
)
from bertviz_core.checkpoints.training.results import (
    FollowedLabels,
    FollowedStates,
    FollowedText,
    TrainingLog,
    TrainingMovement,
)
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.parameters.adapters.results import AdapterUpdate, AdapterUpdates
from bertviz_core.tables.typeset import readable

KEYS = ("name", "status", "component", "model_shape", "checkpoint_shape", "numel", "stored_names", "note")
STATISTICS = {
    "mean": "mean",
    "standard deviation": "std",
    "smallest": "minimum",
    "largest": "maximum",
    "zeros": "zeros",
    "NaN": "nan",
    "infinite": "infinite",
}
CHANGES = {
    "relative change": "relative_change",
    "norm of the difference": "difference_norm",
    "first norm": "first_norm",
    "second norm": "second_norm",
    "largest difference": "largest_difference",
    "numbers changed": "changed",
}
UPDATES = {
    "rank": "rank",
    "scale": "scale",
    "norm": "norm",
    "norm of the matrix": "base_norm",
    "relative norm": "relative_norm",
    "stable rank": "stable_rank",
}
ERRORS = {
    "relative error": "relative_error",
    "largest error": "largest_error",
    "bytes before": "nbytes",
    "bytes after": "rounded_nbytes",
    "bytes saved": "saved_nbytes",
}
PARTS = {"tensors": "tensors", "tensors rounded": "rounded", "numbers": "numel", **ERRORS}
"""Columns -> fields of what a row is about."""
MAX_VALUES = 4
"""Singular values of an update that a line lists."""


def _columns(rows: Iterable[object], names: Mapping[str, str]) -> dict[str, list[Any]]:
    rows = tuple(rows)
    return {column: [getattr(row, field) for row in rows] for column, field in names.items()}


def keys_frame(rows: Sequence[KeyRow]) -> "pd.DataFrame":
    """One row per name in the model or file, with its status; missing shapes are None."""
    return pd.DataFrame(_columns(rows, dict(zip(KEYS, KEYS, strict=True))))


def report_frame(report: LoadReport) -> "pd.DataFrame":
    """The names of a load report, with shapes as texts."""
    return readable(keys_frame(report.rows))


def head_frame(head_difference: HeadDifference) -> "pd.DataFrame":
    """One row per module or parameter of the class with the head, and what it is beside the base model."""
    nodes = head_difference.nodes
    return pd.DataFrame(
        {
            "name": [node.name or head_difference.architecture for node in nodes],
            "class": [node.kind for node in nodes],
            "shape": ["" if node.shape is None else str(node.shape) for node in nodes],
            "parameters": [node.numel for node in nodes],
            "beside the base model": [node.mark for node in nodes],
            "tied to": [node.tied_to or "" for node in nodes],
        }
    )


def statistics_frame(statistics: CheckpointStatistics) -> "pd.DataFrame":
    """One row per tensor."""
    tensors = statistics.tensors
    about = {
        "tensor": [each.name for each in tensors],
        "shape": [str(each.shape) for each in tensors],
        "format": [each.dtype for each in tensors],
        "component": [each.location.component for each in tensors],
    }
    return pd.DataFrame({**about, **_columns(tensors, STATISTICS)})


def histogram_frame(histogram: Histogram) -> "pd.DataFrame":
    """One row per bin of one tensor's values."""
    return pd.DataFrame({"from": histogram.edges[:-1], "to": histogram.edges[1:], "count": histogram.counts})


def changes_frame(comparison: CheckpointComparison) -> "pd.DataFrame":
    """One row per tensor of both checkpoints."""
    tensors = comparison.tensors
    about = {"tensor": [each.name for each in tensors], "shape": [str(each.shape) for each in tensors]}
    return pd.DataFrame({**about, **_columns(tensors, CHANGES)})


def change_frame(value_histograms: ChangeHistograms) -> "pd.DataFrame":
    """One row per bin of one tensor's values in both checkpoints, and of their differences."""
    edges, steps = value_histograms.first.edges, value_histograms.difference.edges
    return pd.DataFrame(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "first": value_histograms.first.counts,
            "second": value_histograms.second.counts,
            "difference from": steps[:-1],
            "difference to": steps[1:],
            "differences": value_histograms.difference.counts,
        }
    )


def cosines_frame(state_behaviour: Behaviour) -> "pd.DataFrame":
    """One row per hidden state, a column for each token."""
    tokens = [f"{place} {token}" for place, token in enumerate(state_behaviour.tokens.tokens)]
    frame = pd.DataFrame(state_behaviour.cosines, columns=tokens)
    frame.insert(0, "hidden state", _states(len(frame)))
    return frame


def divergences_frame(attention_behaviour: Behaviour) -> "pd.DataFrame":
    """One row per layer, a column for each head."""
    frame = pd.DataFrame(attention_behaviour.divergences).add_prefix("head ")
    frame.insert(0, "layer", range(len(frame)))
    return frame


def similarity_frame(layer_similarity: LayerSimilarity, layer_measure: str) -> "pd.DataFrame":
    """One row per hidden state of the first model, a column for each of the second."""
    values = layer_similarity.cka if layer_measure == "CKA" else layer_similarity.shared_neighbours
    frame = pd.DataFrame(values, columns=[f"second: {state}" for state in _states(values.shape[1])])
    frame.insert(0, "first", _states(len(frame)))
    return frame


def text_cosines_frame(layer_similarity: LayerSimilarity) -> "pd.DataFrame":
    """One row per hidden state: the mean cosine of two texts in both models."""
    columns = {"first": layer_similarity.first_cosine, "second": layer_similarity.second_cosine}
    frame = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    frame.insert(0, "hidden state", _states(len(frame)))
    return frame


def _states(count: int) -> list[str]:
    return [state_name(place) for place in range(count)]


def adapter_frame(adapter_updates: AdapterUpdates) -> "pd.DataFrame":
    """One row per update: matrix, shape, rank, scale, norms, stable rank, and all singular values as a text."""
    rows = adapter_updates.updates
    about = {"matrix": [each.name for each in rows], "shape": [str(each.shape) for each in rows]}
    values = [values_text(each, len(each.singular_values)) for each in rows]
    return pd.DataFrame({**about, **_columns(rows, UPDATES), "singular values": values})


def values_text(update: AdapterUpdate, most: int = MAX_VALUES) -> str:
    """The largest singular values of an update."""
    values = [f"{value:.4g}" for value in update.singular_values[:most].tolist()]
    return ", ".join([*values, *(["..."] if len(update.singular_values) > most else [])])


def formats_frame(number_formats: NumberFormats) -> "pd.DataFrame":
    """One row per format: error and bytes of all weights, and what the texts keep; NA without texts."""
    rows = []
    for each in number_formats.formats:
        agreement = each.agreement
        row: dict[str, object] = {"format": each.name}
        row |= {column: getattr(each.whole, field) for column, field in ERRORS.items()}
        if agreement is not None:
            row |= {"mean cosine": mean_cosine(agreement), "smallest cosine": least_cosine(agreement)}
            row |= {"neighbours kept": np.nan if agreement.shared is None else float(agreement.shared.mean())}
            if agreement.changed is not None:
                row |= {"answers changed": len(agreement.changed)}
        rows.append(row)
    return pd.DataFrame(rows)


def parts_frame(number_formats: NumberFormats) -> "pd.DataFrame":
    """One row per format, component, layer and block: errors, and bytes before and after with the scales."""
    parts = [(each.name, part) for each in number_formats.formats for part in each.parts]
    names = {"component": "component", "layer": "layer", "block": "block", **PARTS}
    columns = _columns((part for _, part in parts), names)
    return pd.DataFrame({"format": [name for name, _ in parts], **columns}).astype({"layer": "Int64"})


def mean_cosine(agreement: TextAgreement) -> float:
    """Mean cosine of the texts' vectors before and after rounding; NaN without texts."""
    return float(agreement.cosines.mean()) if len(agreement.cosines) else math.nan


def least_cosine(agreement: TextAgreement) -> float:
    """Smallest of these cosines; NaN without texts."""
    return float(agreement.cosines.min()) if len(agreement.cosines) else math.nan


def log_frame(training_log: TrainingLog) -> "pd.DataFrame":
    """One row per entry of the log: step, epoch, and a column for each logged number; NaN where it was not logged."""
    entries = training_log.entries
    epochs = [math.nan if each.epoch is None else each.epoch for each in entries]
    logged = {name: [each.values.get(name, math.nan) for each in entries] for name in training_log.metrics}
    return pd.DataFrame({"step": [each.step for each in entries], "epoch": epochs, **logged})


def movement_frame(training_movement: TrainingMovement) -> "pd.DataFrame":
    """One row per checkpoint, place and part: movement from the first checkpoint, and from the previous one."""
    movement = training_movement
    both = movement.from_first, movement.from_previous
    rows = [
        (checkpoint, int(movement.steps[at]), place, part, *(float(each[at, row, of]) for each in both))
        for at, checkpoint in enumerate(movement.checkpoints)
        for row, place in enumerate(movement.places)
        for of, part in enumerate(movement.parts)
        if of == 0 or "layer" in place
    ]
    columns = ["checkpoint", "step", "place", "part", first_column(movement), "from the previous checkpoint"]
    return pd.DataFrame(rows, columns=columns)


def first_column(movement: TrainingMovement) -> str:
    """Title of the movement from the start of the run."""
    return "from the base" if movement.base else "from the first checkpoint"


def text_frame(followed_text: FollowedText) -> "pd.DataFrame":
    """One row per checkpoint: name, step, answer, its probability, those of all classes, surprise, cosine."""
    columns: dict[str, Any] = {"checkpoint": followed_text.checkpoints, "step": followed_text.steps}
    if any(followed_text.answers):
        columns |= {"answer": followed_text.answers, "probability": followed_text.scores}
    elif np.isfinite(followed_text.scores).any():
        columns["number"] = followed_text.scores
    if followed_text.probabilities is not None:
        rows = zip(followed_text.labels, followed_text.probabilities.T, strict=True)
        columns |= {f"probability of {label}": values for label, values in rows}
    if followed_text.null_differences is not None:
        columns["null difference"] = followed_text.null_differences
    if followed_text.surprise is not None:
        columns["surprise"] = followed_text.surprise
    if followed_text.cosine is not None:
        columns["cosine"] = followed_text.cosine
    return pd.DataFrame(columns)


def labels_frame(followed_labels: FollowedLabels) -> "pd.DataFrame":
    """One row per checkpoint: name, step, scores of answers and probabilities, and how many answers changed."""
    columns = {
        "checkpoint": followed_labels.checkpoints,
        "step": followed_labels.steps,
        "accuracy": followed_labels.accuracy,
    }
    sure = {"ECE": followed_labels.ece, "Brier score": followed_labels.brier, "log loss": followed_labels.log_loss}
    known = {name: values for name, values in sure.items() if values is not None}
    columns |= {"macro-F1": followed_labels.macro_f1, **known}
    return pd.DataFrame({**columns, "changed": pd.array((None, *followed_labels.changed[1:]), dtype="Int64")})


def cka_frame(followed_states: FollowedStates) -> "pd.DataFrame":
    """One row per checkpoint: name, step, and the CKA of every hidden state with that of the first checkpoint."""
    frame = pd.DataFrame({"checkpoint": followed_states.checkpoints, "step": followed_states.steps})
    states = {state_name(place): values for place, values in enumerate(followed_states.cka.T)}
    return pd.concat([frame, pd.DataFrame(states)], axis=1)


def entropy_frame(followed_states: FollowedStates) -> "pd.DataFrame":
    """One row per checkpoint, layer and head: name, step, layer, head and mean entropy in nats; empty if unknown."""
    rows = [] if followed_states.entropy is None else [
        (name, int(followed_states.steps[at]), layer, head, float(value))
        for at, name in enumerate(followed_states.checkpoints)
        for (layer, head), value in np.ndenumerate(followed_states.entropy[at])
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["checkpoint", "step", "layer", "head", "entropy"])
