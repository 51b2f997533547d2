"""The folder of a training run and its checkpoints."""

import math
import os
import re
from collections import Counter
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace as replace_entry

from bertviz_core.checkpoints.training.log import STATE_FILE, read_state, saved_step
from bertviz_core.checkpoints.training.results import FINAL
from bertviz_core.checkpoints.values import Checkpoint, TensorSlice, open_checkpoint, tensor_slices
from bertviz_core.errors import CheckpointError, MissingFilesError
from bertviz_core.isolation.regular_files import ADAPTER_CONFIG, CONFIG_FILE, TRAINER_FOLDER, present
from bertviz_core.models.catalog import EXAMPLE_FOLDER, EXAMPLE_RUN, example_folder
from bertviz_core.models.local_files import base_class
from bertviz_core.models.safetensors.adapters.contents import fitted, read_adapter
from bertviz_core.models.safetensors.adapters.merging import merged_matrices
from bertviz_core.models.safetensors.adapters.results import FittedAdapter
from bertviz_core.models.safetensors.folder import ADAPTER_WEIGHTS, INDEX_FILE, SINGLE_FILE, read_header
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.models.sources import folder_source
from bertviz_core.parameters.adapters.rows import merged_header
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

MERGED_DTYPE, MERGED_NBYTES = "float32", 4
"""Number format of a matrix with its update, as peft's merge_and_unload computes it, and bytes of a number."""


@dataclass(frozen=True, slots=True, eq=False)
class MergedWeights:
    """The weights of an adapter merged into its base; nothing is written, and updated matrices are computed."""

    base: Checkpoint
    adapter: FittedAdapter
    """The adapter, matched to the base."""

    @property
    def header(self) -> CheckpointHeader:
        """The tensors of the merged model."""
        whole = merged_header(self.base.header, self.adapter)
        updated = {stored.name for stored, _ in self.adapter.updates}
        tensors = tuple(_as_merged(each) if each.name in updated else each for each in whole.tensors)
        return replace(whole, tensors=tensors)

    @property
    def at_start(self) -> "MergedWeights":
        """The base by itself, with those saved tensors of the adapter that it lacks or has in another shape."""
        shapes = {tensor.name: tensor.shape for tensor in self.base.header.tensors}
        new = tuple((name, each) for name, each in self.adapter.saved if shapes.get(name) != each.stored.shape)
        return MergedWeights(self.base, replace(self.adapter, updates=(), saved=new))

    def slices(self) -> dict[str, TensorSlice]:
        """Name -> location of the values, or what computes them, for every tensor of the merged model."""
        found = tensor_slices(self.base)
        for matrix in merged_matrices(self.adapter, self.base.folder):
            place = found[matrix.stored.name]
            tensor = replace_entry(matrix.update.table or matrix.stored, name=matrix.stored.name)
            found[matrix.stored.name] = place._replace(tensor=_as_merged(tensor), merged=matrix)
        folder = self.adapter.adapter.folder
        listed = CheckpointHeader(tuple(each.stored for _, each in self.adapter.saved), (), 0)
        own = tensor_slices(replace(self.base, folder=folder, header=listed))
        for name, each in self.adapter.saved:
            found[name] = own[each.stored.name]._replace(tensor=replace_entry(each.stored, name=name))
        return found


class RunCheckpoint(NamedTuple):
    """A whole checkpoint of a run."""

    name: str
    """Name of its folder, or FINAL."""
    step: int
    """Steps of the optimizer before it was saved."""
    checkpoint: Checkpoint
    """Its files; the revision changes with their names, sizes and modification times. The header of an adapter is that
    of the merged model."""
    merged: MergedWeights | None = None
    """Its weights, if it is an adapter."""

    def slices(self) -> dict[str, TensorSlice]:
        """Name -> location of the values, for every tensor; those of an adapter are the merged ones."""
        return tensor_slices(self.checkpoint) if self.merged is None else self.merged.slices()


def read_checkpoint(
    name: str, folder: Path, settings: Settings, bases: MutableMapping[str, Checkpoint]
) -> tuple[Checkpoint, MergedWeights | None]:
    """Open a checkpoint of a run: a model, or an adapter with its base; headers are checked, no value is read.

    Args:
        bases: the bases that were opened before, by name; one that is opened is added.
    """
    source = folder_source(name, folder, settings)
    if source.adapter is None:
        return Checkpoint(name, source.revision, source.config, folder, read_header(folder)), None
    part = source.adapter
    base = bases.get(part.base.name)
    if base is None:
        base = bases[part.base.name] = open_checkpoint(part.base, settings)
    adapter = fitted(read_adapter(name, folder), base.name, base.header, base_class(part))
    merged = MergedWeights(base, adapter)
    return Checkpoint(name, source.revision, source.config, folder, merged.header), merged


def start_of(first: RunCheckpoint) -> RunCheckpoint | None:
    """What a run of adapters starts from: the base, with the new head of an adapter; None for a whole model.

    peft begins with B = 0, so the base is the state before the first step.
    """
    if first.merged is None:
        return None
    merged = first.merged.at_start
    revision = f"{first.merged.base.revision} {first.checkpoint.revision}"
    checkpoint = replace(first.checkpoint, name=merged.base.name, revision=revision, header=merged.header)
    return RunCheckpoint(merged.base.name, 0, checkpoint, merged)


def _as_merged(tensor: StoredTensor) -> StoredTensor:
    return replace_entry(tensor, dtype=MERGED_DTYPE, nbytes=MERGED_NBYTES * math.prod(tensor.shape))


LEAST_STEPS, MOST_STEPS = 3, 1_000
"""Number of checkpoints below which missing ones are not reported, and of steps above which none is looked for."""


def require_one_model(run: str, checkpoints: Sequence[RunCheckpoint]) -> None:
    """Check that all checkpoints are of one model, and all adapters of one base."""
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
        notices.append(
            f"{quoted(new[0])}{more} {start} at {quoted(first.name)}, since the base has none: no movement from it."
        )
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
    folder: Path
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
    """The folder of a training run in the models folder, or of the example run."""
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
    """Names of the subfolders that are no links, at most MAX_CHECKPOINTS."""
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
    inside = folder / place
    name = f"{run}/{place}" if place else run
    try:
        checkpoint, merged = read_checkpoint(name, inside, settings, bases)
    except OSError as error:
        raise CheckpointError("one of its files was deleted or is being written; look again.") from error
    return RunCheckpoint(place or FINAL, _step(place, inside), checkpoint, merged)


def _step(place: str, inside: Path) -> int:
    """Step of the checkpoint in a subfolder, or of the final model for ""; -1 if that of the final model is unknown."""
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
