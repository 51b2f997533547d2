"""Format the comparison of two checkpoints, and the updates of an adapter, as JSON and text."""

from math import isnan
from typing import Any

from bertviz_core.checkpoints.results import Behaviour, CheckpointComparison, TensorChange
from bertviz_core.checkpoints.tables import CHANGES, UPDATES, values_text
from bertviz_core.parameters.results import AdapterUpdates
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
    about = {"name": change.name, "second_name": change.second_name, "shape": change.shape}
    place = {"component": change.location.component, "layer": change.location.layer}
    return {**about, **place, **{field: getattr(change, field) for field in CHANGES.values()}}


def adapter_json(updates: AdapterUpdates) -> dict[str, Any]:
    """The JSON object of the `adapter` command."""
    names = ("name", "shape", *UPDATES.values(), "singular_values")
    rows = [{name: getattr(each, name) for name in names} for each in updates.updates]
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
