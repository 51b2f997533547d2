"""Find the checkpoints of a training run: the subfolders that hold one, and a final model beside them."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bertviz_core.checkpoints.training.consistency import (
    base_notices,
    missing_steps,
    number_formats,
    require_one_model,
)
from bertviz_core.checkpoints.training.log import STATE_FILE, saved_step
from bertviz_core.checkpoints.training.results import FINAL
from bertviz_core.checkpoints.training.run_checkpoint import RunCheckpoint, read_checkpoint, start_of
from bertviz_core.checkpoints.values import Checkpoint
from bertviz_core.errors import CheckpointError, MissingFilesError
from bertviz_core.isolation.regular_files import ADAPTER_CONFIG, CONFIG_FILE, TRAINER_FOLDER, present
from bertviz_core.models.catalog.example_run import EXAMPLE_FOLDER, EXAMPLE_RUN, example_folder
from bertviz_core.models.safetensors.folder import ADAPTER_WEIGHTS, INDEX_FILE, SINGLE_FILE
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
"""Endings of files that may hold texts with labels."""
STEP = re.compile(r"(?<!\d)\d{1,15}$")
"""A step at the end of a folder's name."""
WEIGHTS = (SINGLE_FILE, INDEX_FILE, "pytorch_model.bin", "pytorch_model.bin.index.json")
MAX_CHECKPOINTS, MAX_ENTRIES = 1_000, 100_000
ADVICE = (
    "give the folder that a trainer writes to: it has folders such as checkpoint-500, each with config.json and "
    "model.safetensors, or with an adapter"
)


class UnknownStepError(CheckpointError):
    """A checkpoint can be read, but neither its name nor its trainer_state.json has a step."""


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
    """Checkpoints that are left out, missing or in another format, and the base of adapters, one sentence each."""

    @property
    def is_example(self) -> bool:
        """Whether it is the example run of this package, which is opened by its name."""
        return self.folder == EXAMPLE_FOLDER

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables in its folder, which may hold the texts of the training."""
        return tuple(sorted(each.name for each in self.folder.iterdir() if each.suffix.lower() in TABLES))

    @property
    def start(self) -> RunCheckpoint | None:
        """What the movement of adapters starts from, their base; None for whole models."""
        first = next((each for each in self.checkpoints if each.merged is not None), None)
        return None if first is None else start_of(first)

    @property
    def states(self) -> tuple[RunCheckpoint, ...]:
        """What the movement is computed between: the base of adapters, and the checkpoints."""
        start = self.start
        return self.checkpoints if start is None else (start, *self.checkpoints)

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
        CheckpointError: there is no checkpoint that can be read, or they are of different models or bases.
        ModelNotFoundError: there are adapters, but not their base.
        MissingFilesError: the weights of the base are not on this machine.
    """
    found: list[RunCheckpoint] = []
    bases: dict[str, Checkpoint] = {}
    refused: list[CheckpointError] = []
    notices: list[str] = []
    for place in _candidates(folder):
        try:
            each = _read(name, folder, place, settings, bases)
        except MissingFilesError:
            raise  # the base's, without which there is no checkpoint
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
    require_one_model(name, checkpoints)
    about = (*missing_steps(checkpoints), *number_formats(checkpoints), *base_notices(checkpoints))
    return TrainingRun(name, folder, checkpoints, (*notices, *same, *about))


def holds_run(folder: Path) -> bool:
    """Whether a folder has subfolders named as those that a trainer writes; none is opened."""
    try:
        with os.scandir(folder) as entries:
            listed = (entry for _, entry in zip(range(MAX_ENTRIES), entries, strict=False))
            return any(TRAINER_FOLDER.fullmatch(entry.name) and _is_folder(entry) for entry in listed)
    except OSError:
        return False


def run_names(settings: Settings) -> tuple[str, ...]:
    """Names of the folders in the models folder that hold a training run, without links, and then the example run.

    Where the settings list the models that may be opened, a run has to be in that list.
    """
    try:
        with os.scandir(settings.models_dir) as entries:
            listed = [entry for _, entry in zip(range(MAX_ENTRIES), entries, strict=False)]
    except OSError:
        listed = []
    folders = [each.name for each in listed if each.name.isprintable() and _is_folder(each)]
    names = sorted((name for name in folders if holds_run(settings.models_dir / name)), key=str.lower)
    if example_folder(EXAMPLE_RUN, settings) is not None:
        names.append(EXAMPLE_RUN)
    return tuple(name for name in names if not settings.allowed_models or name in settings.allowed_models)


def run_folder(name: str, settings: Settings) -> Path:
    """The folder of a training run in the models folder, or of the example run.

    Raises:
        CheckpointError: there is none of this name.
    """
    offered = run_names(settings)
    if name not in offered:
        there = ", ".join(quoted(each, 40) for each in offered[:5]) or "none"
        raise CheckpointError(
            f"There is no training run {quoted(name, 40)} in {quoted(settings.models_dir.name)}; there is {there}."
        )
    return example_folder(name, settings) or settings.models_dir / name


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
    is_whole = present(folder, CONFIG_FILE) and any(present(folder, name) for name in WEIGHTS)
    return is_whole or (present(folder, ADAPTER_CONFIG) and present(folder, ADAPTER_WEIGHTS))


def _read(run: str, folder: Path, place: str, settings: Settings, bases: dict[str, Checkpoint]) -> RunCheckpoint:
    """Open one checkpoint.

    Raises:
        CheckpointError: it is not whole, in a format that is not read, or deleted meanwhile.
    """
    inside = folder / place
    name = f"{run}/{place}" if place else run
    try:
        checkpoint, merged = read_checkpoint(name, inside, settings, bases)
    except OSError as error:
        raise CheckpointError("one of its files was deleted or is being written; look again.") from error
    return RunCheckpoint(place or FINAL, _step(place, inside), checkpoint, merged)


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
