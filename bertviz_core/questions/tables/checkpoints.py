"""Format the comparison of two checkpoints, and the updates of an adapter, as JSON and text."""

from math import isnan
from typing import Any

from bertviz_core.checkpoints.results import Behaviour, CheckpointComparison, TensorChange
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.parameters.adapters.results import AdapterUpdate, AdapterUpdates
from bertviz_core.questions.tables.lines import aligned, number_cell
from bertviz_core.text import escape_controls, shortened

MAX_ROWS = 30
MAX_NAME_CHARACTERS = 90


def compare_json(comparison: CheckpointComparison, behaviours: Behaviour | None) -> dict[str, Any]:
    """The JSON object of the `compare` command; changes that are not finite are null."""
    value: dict[str, Any] = {
        "first": comparison.first,
        "second": comparison.second,
        "prefixes": comparison.prefixes,
        "added": [tensor.name for tensor in comparison.added],
        "removed": [tensor.name for tensor in comparison.removed],
        "resized": [
            {"name": tensor.name, "first": tensor.first, "second": tensor.second} for tensor in comparison.resized
        ],
        "relative_change": comparison.relative_change,
        "tensors": [_row(tensor) for tensor in comparison.tensors],
        "unread": comparison.unread,
    }
    if behaviours is not None:
        value["behaviour"] = {
            "tokens": behaviours.tokens.tokens,
            "cosines": behaviours.cosines,
            "divergences": behaviours.divergences,
            "notices": behaviours.notices,
        }
    return value


def compare_lines(comparison: CheckpointComparison, behaviours: Behaviour | None) -> list[str]:
    """Tables of the comparison, sorted by change, descending; what has no change that can be measured comes first."""
    ordered = sorted(
        comparison.tensors, key=lambda tensor: (not isnan(tensor.relative_change), -tensor.relative_change)
    )
    rows = [
        (_name(tensor.name), str(tensor.shape), f"{tensor.relative_change:.3e}", f"{tensor.largest_difference:.3e}")
        for tensor in ordered[:MAX_ROWS]
    ]
    lines = [
        f"{comparison.first} -> {comparison.second}: {len(comparison.tensors):,} tensors in both, "
        f"{len(comparison.added):,} added, {len(comparison.removed):,} removed, {len(comparison.resized):,} resized",
        f"relative change of all parameters that both hold: {comparison.relative_change:.3e}",
        "",
        *(f"added    {_name(tensor.name)} {tensor.shape}" for tensor in comparison.added),
        *(f"removed  {_name(tensor.name)} {tensor.shape}" for tensor in comparison.removed),
        *(f"resized  {_name(tensor.name)} {tensor.first} -> {tensor.second}" for tensor in comparison.resized),
        "",
        *aligned([("tensor", "shape", "relative change", "largest difference"), *rows], "llrr"),
    ]
    if len(ordered) > MAX_ROWS:
        lines.append(f"... and {len(ordered) - MAX_ROWS:,} that changed less; --json prints all")
    return [*lines, *(_behaviour_lines(behaviours) if behaviours else ())]


def _behaviour_lines(behaviours: Behaviour) -> list[str]:
    lines = []
    if behaviours.cosines is not None:
        cosines = [
            (str(layer), number_cell(row.mean()), number_cell(row.min()))
            for layer, row in enumerate(behaviours.cosines)
        ]
        lines += [
            "",
            "Cosine of hidden states, over the tokens",
            *aligned([("layer", "mean", "least"), *cosines], "rrr"),
        ]
    if behaviours.divergences is not None:
        rows = [
            (str(layer), *(f"{value:.4f}" for value in row))
            for layer, row in enumerate(behaviours.divergences.tolist())
        ]
        heads = [str(head) for head in range(behaviours.divergences.shape[1])]
        lines += ["", "Jensen-Shannon divergence of attention in nats, layer by head"]
        lines += aligned([("layer", *heads), *rows], "r" * (len(heads) + 1))
    return lines


def _name(name: str) -> str:
    """An untrusted name, escaped for a terminal."""
    return shortened(escape_controls(name), MAX_NAME_CHARACTERS)


def _row(change: TensorChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "second_name": change.second_name,
        "shape": change.shape,
        "component": change.location.component,
        "layer": change.location.layer,
        "relative_change": change.relative_change,
        "difference_norm": change.difference_norm,
        "first_norm": change.first_norm,
        "second_norm": change.second_norm,
        "largest_difference": change.largest_difference,
        "changed": change.changed,
    }


MAX_VALUES = 4
"""Singular values of an update that a line lists."""


def adapter_json(updates: AdapterUpdates) -> dict[str, Any]:
    """The JSON object of the `adapter` command."""
    rows = [
        {
            "name": each.name,
            "shape": each.shape,
            "rank": each.rank,
            "scale": each.scale,
            "norm": each.norm,
            "base_norm": each.base_norm,
            "relative_norm": each.relative_norm,
            "stable_rank": each.stable_rank,
            "singular_values": each.singular_values,
        }
        for each in updates.updates
    ]
    return {"adapter": updates.adapter, "base": updates.base, "updates": rows, "saved": updates.saved}


def adapter_lines(updates: AdapterUpdates) -> list[str]:
    """A table of the updates of an adapter, in the order of its file."""
    rows = [
        (
            _name(each.name),
            str(each.shape),
            str(each.rank),
            f"{each.scale:.4g}",
            f"{each.relative_norm:.3e}",
            f"{each.stable_rank:.2f}",
            values_text(each),
        )
        for each in updates.updates
    ]
    head = ("matrix", "shape", "rank", "scale", "norm / base", "stable rank", "singular values")
    return [
        f"{updates.adapter} changes {len(updates.updates):,} matrices of {updates.base} and replaces "
        f"{len(updates.saved):,} tensors as a whole",
        "",
        *aligned([head, *rows], "llrrrrl"),
        *(f"replaced  {_name(name)}" for name in updates.saved),
    ]


def adapter_frame(updates: AdapterUpdates) -> "pd.DataFrame":
    """One row per update: matrix, shape, rank, scale, norms, stable rank, and all singular values as a text."""
    rows = updates.updates
    return pd.DataFrame(
        {
            "matrix": [each.name for each in rows],
            "shape": [str(each.shape) for each in rows],
            "rank": [each.rank for each in rows],
            "scale": [each.scale for each in rows],
            "norm": [each.norm for each in rows],
            "norm of the matrix": [each.base_norm for each in rows],
            "relative norm": [each.relative_norm for each in rows],
            "stable rank": [each.stable_rank for each in rows],
            "singular values": [values_text(each, len(each.singular_values)) for each in rows],
        }
    )


def values_text(update: AdapterUpdate, most: int = MAX_VALUES) -> str:
    """The largest singular values of an update."""
    values = [f"{value:.4g}" for value in update.singular_values[:most].tolist()]
    return ", ".join([*values, *(["..."] if len(update.singular_values) > most else [])])
