"""Check that the checkpoints of a training run belong together, and what lies between them."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from bertviz_core.checkpoints.training.log import read_state
from bertviz_core.checkpoints.training.results import FINAL
from bertviz_core.checkpoints.training.run_checkpoint import RunCheckpoint
from bertviz_core.errors import CheckpointError
from bertviz_core.text import quoted

LEAST_STEPS, MOST_STEPS = 3, 1_000
"""Number of checkpoints below which missing ones are not reported, and of steps above which none is looked for."""


def require_one_model(run: str, checkpoints: Sequence[RunCheckpoint]) -> None:
    """Check that all checkpoints are of one model, and all adapters of one base.

    Args:
        run: name of the run.
        checkpoints: its checkpoints.

    Raises:
        CheckpointError: two differ in model type, in names or shapes of tensors, or in their base.
    """
    _require_one_base(run, checkpoints)
    first = checkpoints[0]
    shapes = {tensor.name: tensor.shape for tensor in first.checkpoint.header.tensors}
    for each in checkpoints[1:]:
        others = {tensor.name: tensor.shape for tensor in each.checkpoint.header.tensors}
        types = first.checkpoint.model_type, each.checkpoint.model_type
        if types[0] != types[1]:
            what = f"model type {types[0]} and {types[1]}"
        elif shapes != others:
            name = next(iter(dict(shapes.items() ^ others.items())))
            what = f"{quoted(name)} is {_shape(shapes.get(name))} and {_shape(others.get(name))}"
        else:
            continue
        both = f"{quoted(first.name)} and {quoted(each.name)}"
        raise CheckpointError(
            f"{quoted(run)} holds checkpoints of different models, {both} ({what}); give the folder of one run."
        )


def _require_one_base(run: str, checkpoints: Sequence[RunCheckpoint]) -> None:
    adapters = [(each.name, each.merged.base) for each in checkpoints if each.merged is not None]
    for name, base in adapters[1:]:
        first, start = adapters[0]
        if base.name != start.name:
            raise CheckpointError(
                f"{quoted(run)} holds adapters of different bases, {quoted(first)} of {quoted(start.name)} and "
                f"{quoted(name)} of {quoted(base.name)}; give the folder of one run."
            )


def base_notices(checkpoints: Sequence[RunCheckpoint]) -> list[str]:
    """What the movement of adapters is measured of and from, in a sentence or two; none for whole models."""
    first = next((each for each in checkpoints if each.merged is not None), None)
    if first is None or first.merged is None:
        return []
    base = quoted(first.merged.base.name)
    notices = [
        f"The checkpoints are LoRA adapters: their movement is that of the weights merged into the base {base}, and "
        "starts from the base."
    ]
    new = [name for name, _ in first.merged.at_start.adapter.saved]
    if new:
        more = f" and {len(new) - 1:,} more" if len(new) > 1 else ""
        start = f"start{'s' if len(new) == 1 else ''}"
        notices.append(f"{quoted(new[0])}{more} {start} at {quoted(first.name)}, since the base has none.")
    fits = [notice for each in checkpoints if each.merged is not None for notice in each.merged.adapter.notices]
    return [*notices, *dict.fromkeys(fits)]


def _shape(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else str(shape)


def number_formats(checkpoints: Sequence[RunCheckpoint]) -> list[str]:
    """A sentence where a tensor is stored in different number formats, since this shows as movement."""
    stored: dict[str, set[str]] = {}
    for each in checkpoints:
        for tensor in each.checkpoint.header.tensors:
            stored.setdefault(tensor.name, set()).add(tensor.dtype)
    differing = {name for name, formats in stored.items() if len(formats) > 1}
    if not differing:
        return []
    by_format: dict[str, list[str]] = {}
    for each in checkpoints:
        own = {tensor.dtype for tensor in each.checkpoint.header.tensors if tensor.name in differing}
        by_format.setdefault(" and ".join(sorted(own)), []).append(each.name)
    named = [
        f"{quoted(names[0])}{f' and {len(names) - 1:,} more' if len(names) > 1 else ''} in {formats}"
        for formats, names in by_format.items()
    ]
    return [
        f"The checkpoints are stored in different number formats ({', '.join(named)}): between two formats "
        "numbers also differ by rounding, which is shown as movement, so a tensor that was never trained may look "
        "as if it moved."
    ]


def missing_steps(checkpoints: Sequence[RunCheckpoint]) -> list[str]:
    """A sentence for steps between two checkpoints at which one was saved, judged by the distance of the others."""
    numbered = [each for each in checkpoints if each.name != FINAL and each.step > 0]
    steps = [each.step for each in numbered]
    if len(steps) < LEAST_STEPS:
        return []
    distance = _distance(numbered, steps)
    if not distance:
        return []
    expected = range(steps[0], steps[-1], distance)
    if len(expected) > MOST_STEPS:
        return []
    missing = sorted(set(expected) - set(steps))
    if not missing:
        return []
    named = ", ".join(f"{step:,}" for step in missing[:5]) + (", ..." if len(missing) > 5 else "")
    every = f"others are saved every {distance:,} steps"
    spans = "so the movement from the previous checkpoint spans more"
    what = f"The checkpoint of step {named} is" if len(missing) == 1 else f"Checkpoints of the steps {named} are"
    return [f"{what} missing ({every}), {spans}."]


def _distance(numbered: Sequence[RunCheckpoint], steps: Sequence[int]) -> int:
    """Steps between two checkpoints, where it occurs between two of them; 0 if there is none that the steps fit.

    This is the save_steps of the trainer, otherwise the most frequent distance. The save_steps alone proves nothing,
    since transformers writes its default also where checkpoints are saved by epochs. The first distance is from step
    0. The last is not counted: a trainer also saves at the end, whatever the distance.
    """
    try:
        saved = read_state(numbered[-1].checkpoint.folder).save_steps or 0
    except CheckpointError:
        saved = 0
    apart = [later - earlier for earlier, later in pairwise((0, *steps[:-1]))]
    usual, times = Counter(apart).most_common(1)[0]
    likely = (saved if saved in apart else 0, usual if 2 * times > len(apart) else 0)
    return next((each for each in likely if each and all(step % each == 0 for step in steps[:-1])), 0)
