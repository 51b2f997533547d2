"""Run the checkpoints of a training run one after another: a single model is in memory at a time."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Int

from bertviz_core.checkpoints.training.folder import RunCheckpoint
from bertviz_core.errors import BertvizError, Progress, TextError
from bertviz_core.models.safetensors.adapters.merging import short_lived_merges
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.models.training import TrainingSubject
from bertviz_core.questions.opened import ModelCopy, OpenedModel
from bertviz_core.questions.question import AnswerCost, after
from bertviz_core.text import counted, escape_controls, quoted

T = TypeVar("T")
GIB = 1024**3
SLOW_NBYTES = 4 * GIB
"""Bytes of all checkpoints above which the reader has to confirm the work."""


@dataclass(frozen=True, slots=True, eq=False)
class Followed(Generic[T]):
    """What the checkpoints of a run computed so far."""

    checkpoints: tuple[str, ...]
    """Names of the checkpoints that were run."""
    models: tuple[str, ...]
    """Names of them as models."""
    steps: Int[np.ndarray, " checkpoints"]
    """Step of each."""
    values: tuple[T, ...]
    """Result of each."""
    notices: tuple[str, ...]
    """Checkpoints that are left out, one sentence each."""
    waiting: int
    """Number of checkpoints that have not been run yet."""

    def notices_with(self, own: Iterable[Sequence[str]]) -> tuple[str, ...]:
        """The notices of the run and of its checkpoints; those that differ in the checkpoint's name alone are one."""
        by_words: dict[str, list[str]] = {}
        for name, notices in zip(self.models, own, strict=True):
            for notice in dict.fromkeys(notices):
                by_words.setdefault(notice.replace(escape_controls(name), ""), []).append(notice)
        about = []
        for first, *others in by_words.values():
            more = f" So it is with {counted(len(others), 'further checkpoint')}." if {*others} - {first} else ""
            about.append(f"{first}{more}")
        return tuple(dict.fromkeys((*self.notices, *about)))


class _RunFolder(ModelCopy):
    """The folder of a checkpoint."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def folder(self) -> Path:
        """Path of the folder."""
        return self._folder


def checkpoint_model(opened: TrainingSubject, each: RunCheckpoint) -> OpenedModel:
    """A checkpoint of a run as a model, which is loaded on first use."""
    return OpenedModel(each.checkpoint.name, opened.settings, copy=_RunFolder(each.checkpoint.folder))


def follow(
    opened: TrainingSubject,
    key: Hashable,
    compute: Callable[[OpenedModel, Progress], T],
    job: Progress,
    count: int,
    show: Callable[[Followed[T]], None] | None = None,
) -> Followed[T]:
    """Compute something for every checkpoint of a run; results are cached by the files of the checkpoint.

    A checkpoint that cannot be run is left out with a sentence. An error that is due to the texts ends the work at the
    first checkpoint.

    Args:
        opened: the run.
        key: identifies what is computed, besides the checkpoint.
        compute: computes the result of a checkpoint; called with its model and the progress.
        job: receives progress in texts of all checkpoints; may raise to cancel.
        count: number of texts that each checkpoint reads.
        show: receives what is done after each checkpoint but the last.

    Raises:
        TextError: the texts are invalid.
        BertvizError: no checkpoint can be run; the error of the first.
    """
    run = opened.run
    done: list[tuple[RunCheckpoint, T]] = []
    errors: list[BertvizError] = []
    notices = list(run.notices)
    total = count * len(run.checkpoints)
    for place, each in enumerate(run.checkpoints):
        progress = after(job, place * count, total)

        def value(each: RunCheckpoint = each, progress: Progress = progress) -> T:
            with quietly(), short_lived_merges():
                return compute(checkpoint_model(opened, each), progress)

        try:
            done.append((each, opened.get_or_compute_by_key((__name__, key, *checkpoint_key(each)), value)))
        except (BertvizError, OSError) as error:
            if isinstance(error, TextError) and not done:
                raise
            if isinstance(error, BertvizError):
                errors.append(error)
            reason = error if isinstance(error, BertvizError) else "one of its files cannot be read; look again."
            notices.append(f"{quoted(each.name)} is left out: {reason}")
        job((place + 1) * count, total)
        if show is not None and done and place + 1 < len(run.checkpoints):
            show(_followed(done, notices, len(run.checkpoints) - place - 1))
    if not done and errors:
        raise errors[0]
    return _followed(done, notices, 0)


def checkpoint_key(each: RunCheckpoint) -> tuple[str, str]:
    """Cache key of a checkpoint: its folder and the state of its files."""
    return str(each.checkpoint.folder), each.checkpoint.revision


def follow_cost(opened: TrainingSubject, count: int, nbytes: int = 0) -> AnswerCost:
    """Cost of running every checkpoint on a number of texts.

    Args:
        opened: the run.
        count: number of texts.
        nbytes: bytes of the texts.
    """
    checkpoints = opened.run.checkpoints
    read = sum(each.checkpoint.nbytes for each in checkpoints)
    slow = f"{counted(len(checkpoints), 'checkpoint')} with {read / GIB:.1f} GiB are loaded, one after another."
    return AnswerCost(count * len(checkpoints), slow=slow if read > SLOW_NBYTES else "", nbytes=nbytes)


def model_of(opened: TrainingSubject) -> tuple[tuple[str, str], ...]:
    """Name and revision of the last checkpoint."""
    last = opened.run.checkpoints[-1].checkpoint
    return ((last.name, last.revision),)


def _followed(done: list[tuple[RunCheckpoint, T]], notices: list[str], waiting: int) -> Followed[T]:
    steps = np.array([each.step for each, _ in done], dtype=np.int64)
    names, values = tuple(each.name for each, _ in done), tuple(value for _, value in done)
    models = tuple(each.checkpoint.name for each, _ in done)
    return Followed(names, models, steps, values, tuple(notices), waiting)
