"""Questions about a training run: the trainer's log, and how far the weights moved from checkpoint to checkpoint."""

from abc import abstractmethod
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import TypeVar

from bertviz_core.checkpoints.training.folder import (
    RunCheckpoint,
    TrainingRun,
    files_stamp,
    run_folder,
    run_names,
    training_run,
)
from bertviz_core.checkpoints.training.log import log_of
from bertviz_core.checkpoints.training.movement import checkpoint_sums, require_two
from bertviz_core.checkpoints.training.movement import training_movement as movement_of
from bertviz_core.checkpoints.training.results import MOVED_PARTS, CheckpointSums, TrainingLog, TrainingMovement
from bertviz_core.errors import CheckpointError
from bertviz_core.figures.checkpoints.training import MOVED_FROM
from bertviz_core.questions.models.checkpoints import SCALE, SCALES
from bertviz_core.questions.opened import ANSWERS_NBYTES, OpenedSubject, Store
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.question import Answer, AnswerCost, Job, long_question, question, shows_answers
from bertviz_core.resources import ByteCache
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

T = TypeVar("T")
FROM = choice("moved_from", MOVED_FROM, "what the movement is measured from", "Movement from")
PART = choice("moved_part", MOVED_PARTS, "the part of each layer whose movement is drawn", "Part of each layer")


class TrainingSubject(OpenedSubject):
    """A training run as the subject of questions; its name is that of the folder."""

    @property
    @abstractmethod
    def run(self) -> TrainingRun:
        """Its checkpoints at present."""

    @abstractmethod
    def get_or_compute_by_key(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value that does not depend on the state of the whole folder, or compute it."""


class OpenedTraining(TrainingSubject):
    """A training run in a folder, for the command line and notebooks."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """Open the training run in a folder, in the models folder where none is at the path, or the example run."""
        folder, name, models = folder.expanduser(), str(folder), settings.models_dir.resolve()
        if not settings.any_folder:
            folder = run_folder(str(folder.relative_to(models)) if folder.is_relative_to(models) else name, settings)
        elif not folder.is_dir() and name in run_names(settings):
            folder = run_folder(name, settings)
        self._folder, self._settings = folder.absolute(), settings
        if not folder.is_dir():
            raise CheckpointError(f"No folder {quoted(str(folder))} found; give the folder that a trainer writes to.")
        self._store: Store = ByteCache(ANSWERS_NBYTES)
        _ = self.run  # fail early

    def __reduce__(self) -> tuple[type["OpenedTraining"], tuple[Path, Settings]]:
        """Pickle by folder and settings."""
        return OpenedTraining, (self._folder, self._settings)

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self._folder.name

    @property
    def settings(self) -> Settings:
        """Settings and limits."""
        return self._settings

    @property
    def run(self) -> TrainingRun:
        """Its checkpoints; the folder is looked at anew each time."""
        return training_run(self.name, self._folder, self._settings)

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value of the present files, or compute it."""
        return self._store.get_or_compute((files_stamp(self._folder), key), make)

    def get_or_compute_by_key(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value, or compute it."""
        return self._store.get_or_compute(key, make)


@question(figures=("training-log",))
def training_log(opened: TrainingSubject, options: Options) -> Answer[TrainingLog]:
    """The numbers that the trainer logged, from its newest trainer_state.json."""
    run = opened.run
    names, steps = [each.name for each in run.checkpoints], [each.step for each in run.checkpoints]
    log = log_of(run.name, names, steps, run.state_places)
    return Answer(log, last_model(run), (), log.notices, {"training_log": log})


def _cost(opened: TrainingSubject, options: Options) -> AnswerCost:
    return AnswerCost(len(opened.run.states))


@long_question(_cost, figures=("training-movement",), params=(FROM, PART, SCALE), noun="checkpoints")
def training_movement(
    opened: TrainingSubject, options: Options, job: Job[TrainingMovement]
) -> Answer[TrainingMovement]:
    """The movement of every layer at every checkpoint, and tensors that never moved or broke.

    The sums of a checkpoint are cached by its own files, so that a cancelled computation resumes where it ended, and a
    new checkpoint of a growing folder is the only one that is read.
    """
    run = opened.run
    require_two(run)
    sums: list[CheckpointSums] = []
    shown = shows_answers(job)
    states = run.states
    for place, each in enumerate(states):
        three = states[0], states[max(place - 1, 0)], each
        known = sums[0] if sums else None
        sums.append(_sums(opened, three, known, partial(job, place, len(states))))
        if shown and 1 < len(sums) < len(states):
            job.show(_answer(run, sums, options))
        job(len(sums), len(states))
    return _answer(run, sums, options)


def _sums(
    opened: TrainingSubject,
    three: tuple[RunCheckpoint, RunCheckpoint, RunCheckpoint],
    known: CheckpointSums | None,
    progress: Callable[[], None],
) -> CheckpointSums:
    key = (__name__, "sums", *((str(each.checkpoint.folder), each.checkpoint.revision) for each in three))
    return opened.get_or_compute_by_key(key, lambda: checkpoint_sums(*three, progress, known))


def _answer(run: TrainingRun, sums: list[CheckpointSums], options: Options) -> Answer[TrainingMovement]:
    movement = movement_of(run, sums)
    drawn = {"moved_from": options.choice(FROM), "moved_part": options.choice(PART)}
    logarithmic = options.choice(SCALE) == SCALES[0]
    figures = {"training_movement": movement, "movement_logarithmic": logarithmic, **drawn}
    return Answer(movement, last_model(run), (), movement.notices, figures)


def last_model(run: TrainingRun) -> tuple[tuple[str, str], ...]:
    """Name and revision of the last checkpoint."""
    last = run.checkpoints[-1].checkpoint
    return ((last.name, last.revision),)
