"""Format the comparison of two checkpoints as JSON and text."""

from typing import Any

from bertviz_core.checkpoints.results import Behaviour, CheckpointComparison, TensorChange
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
    """Tables of the comparison, sorted by change, descending."""
    ordered = sorted(comparison.tensors, key=lambda tensor: -tensor.relative_change)
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
