"""Compute how far the weights moved in a training run, in pieces: at most three of them are in memory."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from bertviz_core.checkpoints.results import TensorLocation
from bertviz_core.checkpoints.tensor_map import locations
from bertviz_core.checkpoints.tensor_statistics import dot, standard_deviations
from bertviz_core.checkpoints.training.folder import RunCheckpoint, TrainingRun
from bertviz_core.checkpoints.training.results import (
    ALL_PARTS,
    GROWTH,
    MOVED_PARTS,
    Broken,
    BrokenTensor,
    CheckpointSums,
    TrainingMovement,
)
from bertviz_core.checkpoints.values import Checkpoint, TensorSlice, is_readable, numbers, raw_pieces, same_bytes
from bertviz_core.errors import CheckpointError
from bertviz_core.parameters.components import ATTENTION_PARTS
from bertviz_core.text import quoted

LEAST_CHECKPOINTS = 2
MAX_NUMBERS = 4_000_000
"""Maximum of checkpoints times tensors."""


def require_two(run: TrainingRun) -> None:
    """Check that weights can have moved."""
    if len(run.states) < LEAST_CHECKPOINTS:
        raise CheckpointError(
            f"{quoted(run.name)} has a single checkpoint ({quoted(run.checkpoints[0].name)}); the movement of weights "
            "is computed between at least two, so look again when the next one is saved."
        )
    count = len(run.states) * len(run.checkpoints[0].checkpoint.header.tensors)
    if count > MAX_NUMBERS:
        raise CheckpointError(
            f"The checkpoints of {quoted(run.name)} have {count:,} tensors; at most {MAX_NUMBERS:,} are compared."
        )


def moved_tensors(start: Checkpoint) -> tuple[tuple[TensorLocation, ...], tuple[str, ...]]:
    """Parameters whose values can be decoded, in the order of the data flow, and the names of the others."""
    by_name = {tensor.name: tensor for tensor in start.header.tensors}
    parameters = [each for each in locations(start) if not each.is_buffer]
    readable = tuple(each for each in parameters if is_readable(by_name[each.name].dtype))
    return readable, tuple(each.name for each in parameters if not is_readable(by_name[each.name].dtype))


def checkpoint_sums(
    start: RunCheckpoint,
    before: RunCheckpoint,
    now: RunCheckpoint,
    progress: Callable[[], None] | None = None,
    known: CheckpointSums | None = None,
) -> CheckpointSums:
    """Sum the squared differences of one checkpoint to the first and to the previous one, tensor by tensor.

    Args:
        before: the previous one; `start` for the second, and for the first itself.
        known: sums of `start`, with which a tensor in the same file as there, as the base's are, is not read again.
    """
    tensors, _ = moved_tensors(start.checkpoint)
    slices = [each.slices() for each in (start, before, now)]
    sums = np.zeros((3, len(tensors)))
    counts = np.zeros((2, len(tensors)), dtype=np.int64)
    for index, tensor in enumerate(tensors):
        places = [each[tensor.name] for each in slices]
        if not is_readable(places[2].tensor.dtype):
            name = quoted(now.checkpoint.name)
            raise CheckpointError(f"{quoted(tensor.name)} of {name} has another format, which is not read.")
        if known is not None and places[0] == places[1] == places[2]:
            sums[2, index] = known.squares[index]
            counts[:, index] = known.nan[index], known.infinite[index]
            continue
        sums[:, index], counts[:, index] = _tensor_sums(places, progress)
    return CheckpointSums(sums[0], sums[1], sums[2], counts[0], counts[1])


def _tensor_sums(
    places: Sequence[TensorSlice], progress: Callable[[], None] | None
) -> tuple[Float[np.ndarray, " 3"], tuple[int, int]]:
    """Sums of squares: to the first checkpoint, to the previous one, of the values; numbers of NaN and infinity."""
    sums, nan, infinite = np.zeros(3), 0, 0
    same_formats = [place.tensor.dtype == places[2].tensor.dtype for place in places]
    is_second = places[1] == places[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for raw in zip(*map(raw_pieces, places), strict=True):
            now = numbers(raw[2], places[2])
            own = dot(now, now)
            if not np.isfinite(own):
                nan += int(np.isnan(now).sum())
                infinite += int(np.isinf(now).sum())
            moved = [0.0, 0.0]
            for which in (0, 1):
                if which == 1 and is_second:
                    moved[1] = moved[0]
                elif not (same_formats[which] and same_bytes(raw[which], raw[2])):
                    difference = now - numbers(raw[which], places[which])
                    moved[which] = dot(difference, difference)
            sums += (*moved, own)
            if progress:
                progress()
    return sums, (nan, infinite)


def training_movement(run: TrainingRun, sums: Sequence[CheckpointSums]) -> TrainingMovement:
    """Compute the movement of layers and components from the sums of each checkpoint.

    Args:
        sums: sums of the first of the run's states, in their order; all of them, or fewer for a partial result.
    """
    states = run.states[: len(sums)]
    first = states[0].checkpoint
    shown = slice(len(run.states) - len(run.checkpoints), None)  # the base is where the movement starts
    checkpoints = states[shown]
    tensors, unread = moved_tensors(first)
    places = _places(tensors)
    from_first, from_previous, squares = (
        np.stack([getattr(each, name) for each in sums]) for name in ("from_first", "from_previous", "squares")
    )
    before = np.concatenate([squares[:1], squares[:-1]])
    start = np.broadcast_to(squares[0], squares.shape)
    names = tuple(dict.fromkeys(places))
    frozen = tuple(each.name for each, moved in zip(tensors, from_previous.T, strict=True) if not moved.any())
    merged = run.checkpoints[0].merged
    new = {name for name, _ in merged.at_start.adapter.saved} if merged is not None else set()
    added = [each.name in new for each in tensors]
    from_first[1:, added] = from_previous[1:2, added] = np.nan  # what the base lacks has not moved from it
    pairs = (from_first, start), (from_previous, before)
    whole = [
        _ratio(np.nansum(moved, axis=1), np.where(np.isnan(moved), 0.0, then).sum(axis=1)) for moved, then in pairs
    ]
    groups = [indices_by_place(tensors, places, part) for part in MOVED_PARTS]
    by_place = [np.stack([_grouped(moved, then, group, names) for group in groups], axis=-1) for moved, then in pairs]
    return TrainingMovement(
        run=run.name,
        checkpoints=tuple(each.name for each in checkpoints),
        steps=np.array([each.step for each in checkpoints], dtype=np.int64),
        places=names,
        parts=MOVED_PARTS,
        from_first=by_place[0][shown],
        from_previous=by_place[1][shown],
        whole_from_first=whole[0][shown],
        whole_from_previous=whole[1][shown],
        tensors=tensors,
        shapes=_shapes(first, tensors),
        tensor_places=places,
        tensor_from_first=_ratio(from_first, start)[shown],
        tensor_from_previous=_ratio(from_previous, before)[shown],
        frozen=frozen,
        broken=tuple(_broken(first, checkpoints, tensors, places, sums)),
        unread=unread,
        notices=run.notices,
        base=states[0].name if checkpoints != states else "",
    )


def _shapes(first: Checkpoint, tensors: Sequence[TensorLocation]) -> tuple[tuple[int, ...], ...]:
    by_name = {tensor.name: tensor.shape for tensor in first.header.tensors}
    return tuple(by_name[each.name] for each in tensors)


def _ratio(moved: Float[np.ndarray, "*shape"], then: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Norms of the differences over the norms: 0 where nothing moved, infinity where all values were zero before."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Float[np.ndarray, "*shape"] = np.where(moved == 0, 0.0, np.sqrt(moved) / np.sqrt(then))
    return ratios


def _places(tensors: Sequence[TensorLocation]) -> tuple[str, ...]:
    """Layer or component of each tensor; the stack is named where there are two."""
    stacks = {each.component for each in tensors if each.layer is not None}
    return tuple(
        each.component
        if each.layer is None
        else (f"{each.component} layer {each.layer}" if len(stacks) > 1 else f"layer {each.layer}")
        for each in tensors
    )


def indices_by_place(tensors: Sequence[TensorLocation], places: Sequence[str], part: str) -> dict[str, list[int]]:
    """Group the tensors of a part by place, in one pass.

    Args:
        part: one of MOVED_PARTS; all but the first are parts of layers.

    Returns:
        Place -> indices of its tensors that belong to the part; places without any are left out.
    """
    components = ATTENTION_PARTS if part == "attention" else (part.replace("-", "_").replace(" ", "_"),)
    groups: dict[str, list[int]] = {}
    for index, (each, place) in enumerate(zip(tensors, places, strict=True)):
        if part == ALL_PARTS or (each.layer is not None and each.part in components):
            groups.setdefault(place, []).append(index)
    return groups


def _grouped(
    moved: Float[np.ndarray, "checkpoints tensors"],
    then: Float[np.ndarray, "checkpoints tensors"],
    group: Mapping[str, Sequence[int]],
    names: Sequence[str],
) -> Float[np.ndarray, "checkpoints places"]:
    """Movement of all values of each place; NaN for a place without a tensor of the group."""
    found = np.full((len(moved), len(names)), np.nan)
    for column, name in enumerate(names):
        inside = group.get(name)
        if inside:
            found[:, column] = _ratio(moved[:, inside].sum(axis=1), then[:, inside].sum(axis=1))
    return found


def _broken(
    first: Checkpoint,
    checkpoints: Sequence[RunCheckpoint],
    tensors: Sequence[TensorLocation],
    places: Sequence[str],
    sums: Sequence[CheckpointSums],
) -> list[BrokenTensor]:
    """Tensors with NaN or infinity and those that blew up, each at its first checkpoint."""
    counts = np.array([max(1, int(np.prod(shape))) for shape in _shapes(first, tensors)])
    spread = max(standard_deviations(first.config))
    usual = np.maximum(np.sqrt(sums[0].squares / counts), spread)
    usual[~np.isfinite(usual)] = spread
    found: dict[tuple[int, Broken], BrokenTensor] = {}
    for each, own in zip(checkpoints, sums[len(sums) - len(checkpoints) :], strict=True):
        with np.errstate(invalid="ignore"):
            grown = np.isfinite(own.squares) & (np.sqrt(own.squares / counts) > GROWTH * usual)
        kinds: tuple[tuple[Broken, np.ndarray], ...] = (
            ("NaN", own.nan),
            ("infinity", own.infinite),
            ("blew up", np.where(grown, counts, 0)),
        )
        for what, numel in kinds:
            for index in np.flatnonzero(numel).tolist():
                row = BrokenTensor(each.name, each.step, tensors[index].name, places[index], what, int(numel[index]))
                found.setdefault((index, what), row)
    return list(found.values())
