"""Open a training run: the trainer's log, how far the weights moved, and what every checkpoint computes."""

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from bertviz_core.api.drawing import FigureSource, Option
from bertviz_core.api.own_model import Texts, answered_texts, checked
from bertviz_core.api.results.base import Result
from bertviz_core.api.results.two_models import FollowedLabelsResult, FollowedStatesResult, FollowedTextResult
from bertviz_core.checkpoints.training.results import BrokenTensor, TrainingLog, TrainingMovement
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.models.training import OpenedTraining, training_log, training_movement
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.followed import followed_labels, followed_states, followed_text
from bertviz_core.questions.predictions.two_models import labelled_columns
from bertviz_core.questions.question import Question
from bertviz_core.questions.tables.training import TRAINING_LOG, TRAINING_MOVEMENT, broken_frame, tensors_frame
from bertviz_core.settings import Settings

T = TypeVar("T")
U = TypeVar("U")
NO_OPTIONS = Options()


class TrainingLogResult(Result[TrainingLog]):
    """The numbers that a trainer logged, by step.

    Table: one row per entry: step, epoch, and a column for each number, such as loss; NaN where it was not logged.
    """

    figures = ("training-log",)
    _faces = TRAINING_LOG


class TrainingMovementResult(Result[TrainingMovement]):
    """How far every layer and tensor moved by each checkpoint, and the tensors that never moved or broke.

    A movement is ||now - then|| / ||then|| with Frobenius norms, of all values of a layer or tensor; buffers are left
    out.

    Table: one row per checkpoint, place and part: movement from the first checkpoint, and from the previous one.
    """

    figures = ("training-movement",)
    _faces = TRAINING_MOVEMENT

    @property
    def frozen(self) -> tuple[str, ...]:
        """Names of the tensors that have the same values in all checkpoints."""
        return self.data.frozen

    @property
    def broken(self) -> tuple[BrokenTensor, ...]:
        """Broken tensors: with NaN or infinity, or that blew up, each with the first step where this is so.

        A tensor blew up where the root mean square of its values is more than 10 times that at the first checkpoint; a
        first value below the spread of new weights counts as that spread.
        """
        return self.data.broken

    def tensors(self) -> pd.DataFrame:
        """One row per tensor: name, place, shape, whether it is frozen, and its movement at the last checkpoint."""
        return tensors_frame(self.data)

    def broken_tensors(self) -> pd.DataFrame:
        """One row per entry of `broken`; a tensor with both NaN and infinity has two."""
        return broken_frame(self.data)


class Training:
    """A folder of checkpoints as one training run; it is looked at anew by every method, so that it may grow."""

    def __init__(self, opened: OpenedTraining) -> None:
        self._opened = opened

    def __repr__(self) -> str:
        return f"<training run {self.name!r}: {', '.join(self.checkpoints)}>"

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self._opened.name

    @property
    def checkpoints(self) -> dict[str, int]:
        """Name -> step of the checkpoints that can be read at present, by step; a final model beside them is last."""
        return {each.name: each.step for each in self._opened.run.checkpoints}

    @property
    def notices(self) -> tuple[str, ...]:
        """Checkpoints that are left out, missing or in another number format, one sentence each."""
        return self._opened.run.notices

    @checked
    def log(self) -> TrainingLogResult:
        """Return what the trainer logged (loss, learning rate, every number of an evaluation), by step.

        The log is empty, and its notices say why, where no trainer_state.json can be read.

        Raises:
            BertvizError: there is no checkpoint that can be read any more.
        """
        return self._ask(training_log, TrainingLogResult)

    @checked
    def movement(self) -> TrainingMovementResult:
        """Compute how far every layer moved by each checkpoint; weights are read in pieces, tensor by tensor.

        What was computed is kept, so that the next call reads new checkpoints alone.

        Raises:
            BertvizError: there is a single checkpoint, or a file is damaged.
        """
        return self._ask(training_movement, TrainingMovementResult)

    @checked
    def follow(self, text: str, pair: str | None = None, task: str | None = None) -> FollowedTextResult:
        """Run every checkpoint on a text or a pair: the answer of its head, surprise, and the cosine of a pair.

        One model is in memory at a time. A checkpoint that cannot be run is left out with a notice. What was computed
        is kept, so that the next call runs new checkpoints alone.

        Args:
            text: the text.
            pair: a second text; the head reads both as one input, and their cosine is that of both by themselves.
            task: task of the head; that of the checkpoints by default.

        Raises:
            BertvizError: no checkpoint can be run, or the text is invalid.
        """
        return self._ask(followed_text, FollowedTextResult, Options((text,), pair, task))

    @checked
    def scores(
        self, texts: Sequence[str], gold: Sequence[str], pair: str | Texts | None = None, task: str | None = None
    ) -> FollowedLabelsResult:
        """Run every checkpoint on texts with gold labels: accuracy, macro-F1, and how many answers changed.

        Args:
            texts: texts, at least one.
            gold: the right label of each text, "" for none.
            pair: a second text for all, or one for each.
            task: task of the head; that of the checkpoints by default.

        Raises:
            BertvizError: no checkpoint can be run, the numbers of texts and labels differ, or no label is a class of
                the head.
        """
        options = labelled_columns(*answered_texts(texts, gold, pair), task)
        return self._ask(followed_labels, FollowedLabelsResult, options)

    @checked
    def layers(self, texts: Sequence[str] | None = None) -> FollowedStatesResult:
        """Run every checkpoint on a list of texts: CKA of each layer with the first, attention entropy of each head.

        Args:
            texts: the texts, at least 4; the example set of the dashboard by default.

        Raises:
            BertvizError: no checkpoint can be run, or there are too few or too many texts.
        """
        options = Options(() if texts is None else tuple(answered_texts(texts, None, None)[0]))
        return self._ask(followed_states, FollowedStatesResult, options)

    @checked
    def compute(self, name: str, *texts: str, pair: str | None = None, **options: Option) -> Any:
        """Compute the data of a figure of the run: a frozen object with documented fields.

        Args:
            name: name of a figure of the run, such as "training-movement".
            *texts: texts that every checkpoint reads.
            pair: a second text.
            **options: options of the `figure` command.

        Raises:
            BertvizError: there is no such name or option, or the inputs are invalid.
        """
        return FigureSource(self._opened, Options(texts, pair)).compute(name, options)

    def _ask(
        self, question: Question[Any, T], result: Callable[[T, FigureSource], U], options: Options = NO_OPTIONS
    ) -> U:
        with quietly():
            answer = question(self._opened, options)
        return result(answer.result, FigureSource(self._opened, options, answer.notices))


@checked
def opened_training(folder: "str | PathLike[str]") -> Training:
    """Open the training run in a folder.

    Raises:
        BertvizError: there is no checkpoint that can be read, or they are of different models.
    """
    return Training(OpenedTraining(Path(fspath(folder)), Settings.from_environment(any_folder=True)))
