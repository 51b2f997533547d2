"""Two checkpoints, tensor by tensor, and what rounding changes."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bertviz_core.checkpoints.results import (
    ChangeHistograms,
    CheckpointComparison,
    Histogram,
    ResizedTensor,
    RoundedFormat,
    RoundedPart,
    TensorChange,
    TensorLocation,
    together,
)
from bertviz_core.checkpoints.rounding import FORMATS, SCALED, Rounding, format_of, group_layout, rounded_nbytes
from bertviz_core.checkpoints.tensor_map import locations
from bertviz_core.checkpoints.tensor_statistics import BINS, Tell, dot, even_edges, histogram_counts
from bertviz_core.checkpoints.values import (
    Checkpoint,
    TensorSlice,
    decoder,
    is_readable,
    number_pieces,
    raw_pieces,
    same_bytes,
    tensor_slices,
)
from bertviz_core.models.catalog import type_facts
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.parameters.components import ATTENTION_PARTS
from bertviz_core.parameters.naming import module_tensors

MAX_PREFIX_PARTS = 3
MOST_THREADS = 4
"""Tensors that are compared at once, on as many processors; NumPy computes without Python's lock."""
Matched = tuple[tuple[str, str], list[tuple[str, str]]]
"""Prefix stripped from each side's names, and pairs of stored names."""


def compare_checkpoints(first: Checkpoint, second: Checkpoint, progress: Tell | None = None) -> CheckpointComparison:
    """Compare two checkpoints tensor by tensor; a file compared with itself gives exact zeros.

    Tensors are matched by their names in the module (LayerNorm.gamma is LayerNorm.weight), after stripping a common
    prefix on either side, so that a classifier (bert.encoder...) compares with its base (encoder...).
    """
    prefixes, pairs = matched_names(first, second)
    order = {location.name: location for location in locations(first)}
    partners = dict(pairs)
    slices, other_slices = tensor_slices(first), tensor_slices(second)
    shared = [
        (location, slices[name], other_slices[partners[name]]) for name, location in order.items() if name in partners
    ]
    same = [row for row in shared if row[1].tensor.shape == row[2].tensor.shape]
    readable = [row for row in same if is_readable(row[1].tensor.dtype) and is_readable(row[2].tensor.dtype)]
    compared = {location.name for location, _, _ in readable}
    total, done, changes = sum(one.tensor.nbytes for _, one, _ in readable), 0, []
    with ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(_changed, *row) for row in readable]
        try:
            for future, (location, one, _) in zip(futures, readable, strict=True):
                changes.append(future.result())
                done += one.tensor.nbytes
                if progress:
                    progress(done, total, location.name)
        finally:
            pool.shutdown(cancel_futures=True)  # what has not begun is left out
    matched = set(partners.values())
    parameters = [change for change in changes if not change.location.is_buffer]
    return CheckpointComparison(
        first=first.name,
        second=second.name,
        prefixes=prefixes,
        added=tuple(one.tensor for name, one in other_slices.items() if name not in matched),
        removed=tuple(one.tensor for name, one in slices.items() if name not in partners),
        resized=tuple(
            ResizedTensor(location.name, one.tensor.shape, two.tensor.shape)
            for location, one, two in shared
            if one.tensor.shape != two.tensor.shape
        ),
        tensors=tuple(changes),
        unread=tuple(location.name for location, _, _ in same if location.name not in compared),
        relative_change=_ratio(
            math.hypot(*(change.difference_norm for change in parameters)),
            math.hypot(*(change.first_norm for change in parameters)),
        ),
    )


def matched_names(first: Checkpoint, second: Checkpoint) -> Matched:
    """Match stored names that denote the same tensor; prefixes are chosen to maximise the number of matches.

    Of several choices with equally many matches, the shortest prefixes win.
    """
    names, others = _module_names(first), _module_names(second)
    best: tuple[int, int] | None = None
    best_names: tuple[str, str, dict[str, str], dict[str, str]] = ("", "", names, others)
    for prefix in _prefixes(names):
        bare = _without(names, prefix)
        for other in _prefixes(others):
            bare_others = _without(others, other)
            score = (len(bare.keys() & bare_others.keys()), -len(prefix) - len(other))
            if best is None or score > best:
                best, best_names = score, (prefix, other, bare, bare_others)
    prefix, other, bare, bare_others = best_names
    return (prefix, other), [(stored, bare_others[name]) for name, stored in bare.items() if name in bare_others]


def change_histograms(first: TensorSlice, second: TensorSlice, bins: int = BINS) -> ChangeHistograms:
    """Compute histograms of one tensor in both checkpoints and of their difference, over the same bins."""
    if first.tensor.shape != second.tensor.shape:
        raise ValueError(f"{first.tensor.shape} against {second.tensor.shape}")
    ends = [[math.inf, -math.inf], [math.inf, -math.inf]]
    for one, two in zip(number_pieces(first), number_pieces(second), strict=True):
        with np.errstate(invalid="ignore"):
            for end, values in zip((ends[0], ends[0], ends[1]), (one, two, two - one), strict=True):
                finite = values[np.isfinite(values)]
                if finite.size:
                    end[:] = min(end[0], float(finite.min())), max(end[1], float(finite.max()))
    values_range, difference_range = ([0.0 if math.isinf(end) else end for end in pair] for pair in ends)
    edges, steps = (
        even_edges(values_range[0], values_range[1], bins),
        even_edges(difference_range[0], difference_range[1], bins),
    )
    counts = np.zeros((3, bins), dtype=np.int64)
    for one, two in zip(number_pieces(first), number_pieces(second), strict=True):
        with np.errstate(invalid="ignore"):
            for row, (values, limits) in enumerate(((one, edges), (two, edges), (two - one, steps))):
                counts[row] += histogram_counts(values, limits)
    numel = math.prod(first.tensor.shape)
    histograms = (
        Histogram(limits, row, numel - int(row.sum()))
        for limits, row in zip((edges, edges, steps), counts, strict=True)
    )
    return ChangeHistograms(first.tensor.name, *histograms)


def _changed(location: TensorLocation, first: TensorSlice, second: TensorSlice) -> TensorChange:
    """Compute the change of one tensor; sums of squares in float64, exactly 0 for equal bytes."""
    squares, largest, changed = np.zeros(3), 0.0, 0
    same_format = (first.tensor.dtype, first.rounding) == (second.tensor.dtype, second.rounding)
    decode, decode_other, at = decoder(first), decoder(second), 0
    with np.errstate(over="ignore", invalid="ignore"):
        for raw, other in zip(raw_pieces(first), raw_pieces(second), strict=True):
            one = decode(raw, at)
            begin, at = at, at + len(one)
            if same_format and same_bytes(raw, other):
                squares[1:] += dot(one, one)
                continue
            difference = two = decode_other(other, begin)
            squares[1:] += dot(one, one), dot(two, two)
            changed += int(np.count_nonzero(one != two))  # faster than counting the differences
            difference -= one
            squares[0] += dot(difference, difference)
            ends = difference.max(), -difference.min()
            largest = float(np.maximum(largest, np.maximum(*ends)))  # propagates NaN
        norms = np.sqrt(squares).tolist()
    return TensorChange(
        location=location,
        second_name=second.tensor.name,
        shape=first.tensor.shape,
        dtype=first.dtype,
        second_dtype=second.dtype,
        relative_change=_ratio(norms[0], norms[1]),
        difference_norm=norms[0],
        first_norm=norms[1],
        second_norm=norms[2],
        largest_difference=largest + 0.0,  # no negative zero
        changed=changed,
    )


def _ratio(difference: float, norm: float) -> float:
    if difference == 0:
        return 0.0
    return math.inf if norm == 0 else difference / norm


def _module_names(checkpoint: Checkpoint) -> dict[str, str]:
    """Return name in the module -> stored name; a stored tensor that the module splits keeps its own name."""
    facts = type_facts(checkpoint.model_type)
    tensors = checkpoint.header.tensors
    named = (
        module_tensors(tensors, facts.of_class(facts.base_class), base_only=False)
        if facts
        else [(tensor.name, (), tensor) for tensor in tensors]
    )
    times = Counter(tensor.name for _, _, tensor in named)
    return {tensor.name if times[tensor.name] > 1 else name: tensor.name for name, _, tensor in named}


def _prefixes(names: Iterable[str]) -> Sequence[str]:
    """Return the prefixes, of whole modules, that at least half of the names have; "" for none."""
    heads: Counter[str] = Counter()
    total = 0
    for name in names:
        total += 1
        parts = name.split(".")[:-1]
        heads.update(".".join(parts[:count]) + "." for count in range(1, min(len(parts), MAX_PREFIX_PARTS) + 1))
    return ["", *(head for head, count in heads.items() if 2 * count >= total)]


def _without(names: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Strip the prefix from names; a name that would then clash keeps it."""
    if not prefix:
        return dict(names)
    return {
        bare if (bare := name.removeprefix(prefix)) == name or bare not in names else name: stored
        for name, stored in names.items()
    }


BLOCKS = {**dict.fromkeys(ATTENTION_PARTS, "attention"), "feed_forward": "feed-forward", "layer_norm": "layer norm"}
"""Role of a tensor in its layer -> name of the block."""


def rounded_format(checkpoint: Checkpoint, rounding: Rounding, compared: CheckpointComparison) -> RoundedFormat:
    """Sum the errors and the bytes of a rounded copy, as the ledger counts its parameters.

    Buffers such as position ids are no weights, and a tied parameter that is stored again is one: both are left out.

    Args:
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
