"""Find the checkpoints of a training run: the subfolders that hold one, and a final model beside them."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bertviz_core.checkpoints.training.log import STATE_FILE, read_state, saved_step
from bertviz_core.checkpoints.training.results import FINAL
from bertviz_core.checkpoints.values import Checkpoint
from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import CONFIG_FILE, TRAINER_FOLDER, present
from bertviz_core.models.safetensors.folder import INDEX_FILE, SINGLE_FILE, read_header
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

STEP = re.compile(r"(?<!\d)\d{1,15}$")
"""A step at the end of a folder's name."""
WEIGHTS = (SINGLE_FILE, INDEX_FILE, "pytorch_model.bin", "pytorch_model.bin.index.json")
MAX_CHECKPOINTS, MAX_ENTRIES = 1_000, 100_000
LEAST_STEPS = 3
"""Number of checkpoints below which missing ones are not reported."""
ADVICE = (
    "give the folder that a trainer writes to: it has folders such as checkpoint-500, each with config.json and "
    "model.safetensors"
)


class UnknownStepError(CheckpointError):
    """A checkpoint can be read, but neither its name nor its trainer_state.json has a step."""


class RunCheckpoint(NamedTuple):
    """A whole checkpoint of a run."""

    name: str
    """Name of its folder, or FINAL."""
    step: int
    """Steps of the optimizer before it was saved."""
    checkpoint: Checkpoint
    """Its files; the revision changes with their names, sizes and modification times."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRun:
    """The checkpoints of a folder at one moment."""

    name: str
    """Name of the folder."""
    folder: Path
    """The folder."""
    checkpoints: tuple[RunCheckpoint, ...]
    """Whole checkpoints of one model, by step; the final model last."""
    notices: tuple[str, ...]
    """Checkpoints that are left out, missing or in another number format, one sentence each."""

    @property
    def state_places(self) -> tuple[tuple[str, Path], ...]:
        """Names and folders that may have a trainer_state.json, the newest first; "" for the run's own folder."""
        named = [(each.name, each.checkpoint.folder) for each in reversed(self.checkpoints) if each.name != FINAL]
        return (*named, ("", self.folder))


def training_run(name: str, folder: Path, settings: Settings) -> TrainingRun:
    """Find the checkpoints of a run; headers are checked, no value is read.

    A checkpoint that cannot be read, for example since the trainer is still writing it, is left out with a sentence.
    The step of checkpoint-N is N. That of a folder of another name is the global_step in its trainer_state.json,
    otherwise the number at the end of its name, which may also count epochs.

    Args:
        name: name of the run.
        folder: its folder.
        settings: limits for the configs.

    Raises:
        CheckpointError: there is no checkpoint that can be read, or they are of different models.
    """
    found: list[RunCheckpoint] = []
    refused: list[CheckpointError] = []
    notices: list[str] = []
    for place in _candidates(folder):
        try:
            each = _read(name, folder, place, settings)
        except CheckpointError as error:
            refused.append(error)
            until = "" if isinstance(error, UnknownStepError) else " until it can be read"
            notices.append(f"{quoted(place or FINAL)} is left out{until}: {error}")
            continue
        found.append(each)
    if not found and refused:
        what = "with a step" if isinstance(refused[0], UnknownStepError) else "that can be read"
        raise CheckpointError(f"{quoted(name)} has no checkpoint {what}: {refused[0]}") from refused[0]
    if not found:
        raise CheckpointError(f"{quoted(name)} has no checkpoints; {ADVICE}.")
    checkpoints, same = _in_order(found)
    _require_one_model(name, checkpoints)
    return TrainingRun(
        name, folder, checkpoints, (*notices, *same, *_missing_steps(checkpoints), *_formats(checkpoints))
    )


def holds_run(folder: Path) -> bool:
    """Whether a folder has subfolders named as those that a trainer writes; none is opened."""
    try:
        with os.scandir(folder) as entries:
            listed = (entry for _, entry in zip(range(MAX_ENTRIES), entries, strict=False))
            return any(TRAINER_FOLDER.fullmatch(entry.name) and _is_folder(entry) for entry in listed)
    except OSError:
        return False


def run_names(settings: Settings) -> tuple[str, ...]:
    """Names of the folders in the models folder that hold a training run, without links.

    Where the settings list the models that may be opened, a run has to be in that list.
    """
    try:
        with os.scandir(settings.models_dir) as entries:
            listed = [entry for _, entry in zip(range(MAX_ENTRIES), entries, strict=False)]
    except OSError:
        return ()
    allowed = [each for each in listed if not settings.allowed_models or each.name in settings.allowed_models]
    names = [each.name for each in allowed if each.name.isprintable() and _is_folder(each)]
    return tuple(sorted((name for name in names if holds_run(settings.models_dir / name)), key=str.lower))


def run_folder(name: str, settings: Settings) -> Path:
    """The folder of a training run in the models folder.

    Raises:
        CheckpointError: there is none of this name.
    """
    offered = run_names(settings)
    if name not in offered:
        there = ", ".join(quoted(each, 40) for each in offered[:5]) or "none"
        raise CheckpointError(
            f"There is no training run {quoted(name, 40)} in {quoted(settings.models_dir.name)}; there is {there}."
        )
    return settings.models_dir / name


def files_stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, size and modification time of the files of a run and its subfolders; changes whenever one of them does."""
    facts = []
    for place in ("", *_subfolders(folder)):
        try:
            with os.scandir(folder / place) as entries:
                for _, entry in zip(range(MAX_ENTRIES), entries, strict=False):
                    status = entry.stat(follow_symlinks=False)
                    facts.append((f"{place}/{entry.name}", status.st_size, status.st_mtime_ns))
        except OSError:
            continue  # deleted since it was listed
    return tuple(sorted(facts))


def _subfolders(folder: Path) -> list[str]:
    """Names of the subfolders that are no links, at most MAX_CHECKPOINTS.

    Raises:
        CheckpointError: the folder cannot be read, or has more.
    """
    try:
        with os.scandir(folder) as entries:
            listed = [entry for _, entry in zip(range(MAX_ENTRIES), entries, strict=False)]
            names = sorted(entry.name for entry in listed if entry.name.isprintable() and _is_folder(entry))
    except OSError as error:
        raise CheckpointError(f"The folder {quoted(folder.name)} cannot be read ({error.strerror}).") from error
    if len(names) > MAX_CHECKPOINTS:
        raise CheckpointError(
            f"{quoted(folder.name)} has {len(names):,} subfolders; at most {MAX_CHECKPOINTS:,} checkpoints are read. "
            "Move some of them elsewhere."
        )
    return names


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _candidates(folder: Path) -> list[str]:
    """Names of the subfolders that may be checkpoints, and "" for a model in the folder itself."""
    inside = [name for name in _subfolders(folder) if TRAINER_FOLDER.fullmatch(name) or _has_model(folder / name)]
    return [*inside, ""] if _has_model(folder) else inside


def _has_model(folder: Path) -> bool:
    return present(folder, CONFIG_FILE) and any(present(folder, name) for name in WEIGHTS)


def _read(run: str, folder: Path, place: str, settings: Settings) -> RunCheckpoint:
    """Open one checkpoint.

    Raises:
        CheckpointError: it is not whole, in a format that is not read, or deleted meanwhile.
    """
    inside = folder / place
    name = f"{run}/{place}" if place else run
    try:
        source = folder_source(name, inside, settings)
        checkpoint = Checkpoint(name, source.revision, source.config, inside, read_header(inside))
    except OSError as error:
        raise CheckpointError("one of its files was deleted or is being written; look again.") from error
    return RunCheckpoint(place or FINAL, _step(place, inside), checkpoint)


def _step(place: str, inside: Path) -> int:
    """Step of the checkpoint in a subfolder, or of the final model for ""; -1 if that of the final model is unknown.

    Raises:
        UnknownStepError: neither the name of a subfolder nor its state has a step.
        CheckpointError: its name has none, and its state cannot be read.
    """
    number = STEP.search(place)
    in_name = int(number.group()) if number is not None else None if place else -1
    if in_name is not None and TRAINER_FOLDER.fullmatch(place):
        return in_name
    try:
        saved = saved_step(inside)
    except CheckpointError:
        if in_name is None:
            raise
        return in_name
    step = in_name if saved is None else saved
    if step is None:
        raise UnknownStepError(f"its name has no step, and there is no global_step in a {STATE_FILE}.")
    return step


def _in_order(found: Sequence[RunCheckpoint]) -> tuple[tuple[RunCheckpoint, ...], list[str]]:
    """The checkpoints by step, one for each; the final model last, with the last step if its own is unknown."""
    by_step: dict[int, RunCheckpoint] = {}
    notices = []
    for each in sorted((each for each in found if each.name != FINAL), key=lambda each: each.step):
        first = by_step.setdefault(each.step, each)
        if first is not each:
            both = f"{quoted(first.name)} and {quoted(each.name)}"
            notices.append(f"Of {both}, both of step {each.step:,}, the second is left out.")
    last = max(by_step, default=0)
    final = [each._replace(step=max(each.step, last)) for each in found if each.name == FINAL]
    return (*by_step.values(), *final), notices


def _require_one_model(run: str, checkpoints: Sequence[RunCheckpoint]) -> None:
    """Raise CheckpointError if the checkpoints differ in model type, or in names or shapes of tensors."""
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


def _shape(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else str(shape)


def _formats(checkpoints: Sequence[RunCheckpoint]) -> list[str]:
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


def _missing_steps(checkpoints: Sequence[RunCheckpoint]) -> list[str]:
    """A sentence for steps between two checkpoints at which one was saved, judged by the distance of the others."""
    numbered = [each for each in checkpoints if each.name != FINAL and each.step > 0]
    steps = [each.step for each in numbered]
    if len(steps) < LEAST_STEPS:
        return []
    distance = _distance(numbered, steps)
    if not distance:
        return []
    expected = range(steps[0], steps[-1], distance)
    if len(expected) > MAX_CHECKPOINTS:
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
