"""The `training` command: a folder of checkpoints as one training run."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.checkpoints.training.results import BLOWN_UP, TrainingMovement
from bertviz_core.cli.options import JsonOption, app
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.errors import CheckpointError
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.models.training import OpenedTraining, training_log, training_movement
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Silent
from bertviz_core.questions.tables.training import log_lines, movement_lines, training_json
from bertviz_core.settings import Settings

FOLDER_HELP = "Folder that a trainer writes to, with subfolders such as checkpoint-500."


class _Shown(Silent):
    """Reports the number of checkpoints that were read."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self._report = report

    def __call__(self, done: int, total: int, /) -> None:
        """Report the number of checkpoints done."""
        self._report(done)


@app.command()
def training(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help=FOLDER_HELP)], as_json: JsonOption = False
) -> None:
    """Say what a trainer logged, how far each layer moved by each checkpoint, and which tensors broke."""
    with quietly():
        opened = OpenedTraining(folder, Settings.from_environment(any_folder=True))
        answer = training_log(opened, Options())
        movement = _movement(opened)
    print_notices(answer.notices)
    if as_json:
        print_json(training_json(answer.result, movement))
    else:
        about = [] if movement is None else ["", *movement_lines(movement), "", BLOWN_UP]
        print_lines([*log_lines(answer.result), *about])


def _movement(opened: OpenedTraining) -> TrainingMovement | None:
    """The movement of the weights, with progress on a terminal; None with a notice for a single checkpoint."""
    run, hidden = opened.run, not sys.stderr.isatty()
    try:
        with typer.progressbar(length=len(run.checkpoints), label="Checkpoints", file=sys.stderr, hidden=hidden) as bar:
            answer = training_movement(opened, Options(), _Shown(lambda done: bar.update(done - bar.pos)))
    except CheckpointError as error:
        if len(run.checkpoints) > 1:
            raise
        print_notices((*run.notices, str(error)))
        return None
    print_notices(answer.notices)
    return answer.result
