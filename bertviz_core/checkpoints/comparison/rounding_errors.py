"""Errors and bytes of a checkpoint whose weights are rounded, by component, layer and block."""

import math

from bertviz_core.checkpoints.results import CheckpointComparison, TensorChange, TensorLocation
from bertviz_core.checkpoints.rounding.formats import (
    FORMATS,
    SCALED,
    Rounding,
    format_of,
    group_layout,
    rounded_nbytes,
)
from bertviz_core.checkpoints.rounding.results import RoundedFormat, RoundedPart, together
from bertviz_core.checkpoints.values import Checkpoint
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.parameters.components import ATTENTION_PARTS

BLOCKS = {**dict.fromkeys(ATTENTION_PARTS, "attention"), "feed_forward": "feed-forward", "layer_norm": "layer norm"}
"""Role of a tensor in its layer -> name of the block."""


def rounded_format(checkpoint: Checkpoint, rounding: Rounding, compared: CheckpointComparison) -> RoundedFormat:
    """Sum the errors and the bytes of a rounded copy, as the ledger counts its parameters.

    Buffers such as position ids are no weights, and a tied parameter that is stored again is one: both are left out.

    Args:
        checkpoint: the checkpoint.
        rounding: the format of its copy.
        compared: comparison of the checkpoint with that copy.
    """
    stored = {tensor.name: tensor for tensor in checkpoint.header.tensors}
    rows: dict[tuple[str, int | None, str], list[RoundedPart]] = {}
    weights = [change for change in compared.tensors if not (change.location.is_buffer or change.location.repeats)]
    for change in weights:
        place = _place(change.location)
        rows.setdefault(place, []).append(_part(change, stored[change.name], rounding, place))
    uneven = tuple(each.name for each in weights if _is_uneven(stored[each.name], rounding))
    bits = (FORMATS.get(rounding) or SCALED[rounding]).bits
    parts = tuple(together(parts, *place) for place, parts in rows.items())
    return RoundedFormat(rounding, bits, parts, uneven)


def _place(location: TensorLocation) -> tuple[str, int | None, str]:
    inside = location.layer is not None
    return location.component, location.layer, BLOCKS.get(location.part, "other") if inside else ""


def _part(
    change: TensorChange, tensor: StoredTensor, rounding: Rounding, place: tuple[str, int | None, str]
) -> RoundedPart:
    target = format_of(rounding, tensor.dtype, len(tensor.shape))
    return RoundedPart(
        *place,
        tensors=1,
        rounded=int(bool(target)),
        numel=math.prod(tensor.shape),
        difference_norm=change.difference_norm,
        norm=change.first_norm,
        largest_error=change.largest_difference,
        nbytes=tensor.nbytes,
        rounded_nbytes=rounded_nbytes(tensor.shape, target) if target else tensor.nbytes,
    )


def _is_uneven(tensor: StoredTensor, rounding: Rounding) -> bool:
    """Whether groups of a set size do not divide the rows of a tensor evenly."""
    if format_of(rounding, tensor.dtype, len(tensor.shape)) not in SCALED or SCALED[rounding].group is None:
        return False
    _, columns, size = group_layout(tensor.shape, rounding)
    return columns % size != 0
