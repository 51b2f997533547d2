"""The `training` command: a folder of checkpoints as one training run."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from bertviz_core.checkpoints.training.results import BROKEN, TrainingMovement
from bertviz_core.cli.options import JsonOption, app, file_or_input, typed_text
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.models.skeleton import quietly
from bertviz_core.predictions.probing.reading import gold_column
from bertviz_core.questions.models.training import OpenedTraining, training_log, training_movement
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.compared_answers import labelled_columns
from bertviz_core.questions.predictions.followed_answers import followed_labels, followed_text
from bertviz_core.questions.predictions.followed_states import followed_states
from bertviz_core.questions.question import Answer, Question, Silent
from bertviz_core.questions.tables.training.followed import followed_json, followed_lines
from bertviz_core.questions.tables.training.log_and_movement import log_lines, movement_lines, training_json
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.settings import Settings

T = TypeVar("T")
FOLDER_HELP = "Folder that a trainer writes to, with subfolders such as checkpoint-500."
TEXT_HELP = "Run every checkpoint on this text too: its answer, surprise."
PAIR_HELP = "A second text; the cosine of both texts is computed too."
FILE_HELP = "Texts that every checkpoint reads: lines, CSV, TSV, JSON lines or Parquet."
GOLD_HELP = "Column of the file with the right answers: accuracy and macro-F1 of every checkpoint."
LAYERS_HELP = (
    "CKA of every layer with the first checkpoint and attention entropy of every head, over the texts of the file, "
    "or over the example set."
)
TextOption = Annotated[str | None, typer.Option("--text", metavar="TEXT", help=TEXT_HELP, callback=typed_text)]
PairOption = Annotated[str | None, typer.Option("--pair", metavar="TEXT", help=PAIR_HELP)]
FileOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help=FILE_HELP)]
ColumnOption = Annotated[str, typer.Option("--column", metavar="C", help="Column of the file with the texts.")]
SecondOption = Annotated[str, typer.Option("--pair-column", metavar="C", help="Column of the file with second texts.")]
GoldOption = Annotated[str, typer.Option("--gold", metavar="C", help=GOLD_HELP)]
LayersOption = Annotated[bool, typer.Option("--layers", help=LAYERS_HELP)]
HeadOption = Annotated[
    str | None, typer.Option("--task", help="Task of the head that answers; the checkpoints' own by default.")
]


class _Shown(Silent):
    """Reports the steps that are done."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self._report = report

    def __call__(self, done: int, total: int, /) -> None:
        """Report the steps done."""
        self._report(done)


@app.command()
def training(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help=FOLDER_HELP)],
    text: TextOption = None,
    pair: PairOption = None,
    file: FileOption = None,
    column: ColumnOption = "",
    pair_column: SecondOption = "",
    gold: GoldOption = "",
    layers: LayersOption = False,
    task: HeadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a trainer logged, how far each layer moved by each checkpoint, and what the checkpoints answer."""
    _check_options(text, pair, file, (column, pair_column, gold), layers)
    with quietly():
        opened = OpenedTraining(folder, Settings.from_environment(any_folder=True))
        table = None if file is None else read_sentences(*file_or_input(file), opened.settings, column or None)
        log = training_log(opened, Options())
        movement = _movement(opened)
        followed: list[Answer[Any]] = []
        if text is not None:
            followed.append(_answer(opened, followed_text, Options((text,), pair, task)))
        if table is not None and gold:
            followed.append(_answer(opened, followed_labels, _labelled(table, gold, pair_column, task)))
        if layers:
            texts = () if table is None else tuple(table.sentences)
            followed.append(_answer(opened, followed_states, Options(texts)))
    read = () if table is None else table.notices
    known = set() if movement is None else set(opened.run.notices)
    more = dict.fromkeys((*read, *(notice for each in followed for notice in each.notices)))
    notices = [*log.notices, *(notice for notice in more if notice not in known)]
    print_notices(notices)
    results = [each.result for each in followed]
    if as_json:
        print_json({**training_json(log.result, movement), **followed_json(results)}, notices)
    else:
        about = [] if movement is None else ["", *movement_lines(movement), "", BROKEN]
        print_lines([*log_lines(log.result), *about, *followed_lines(results)])


def _check_options(
    text: str | None, pair: str | None, file: Path | None, columns: tuple[str, str, str], layers: bool
) -> None:
    """Raise TextError for options that would have no effect."""
    if pair is not None and text is None:
        raise TextError("--pair is the second text of --text; give the first with --text.")
    if file is None and any(columns):
        raise TextError("--column, --pair-column and --gold are about the texts of a file; give it with --file.")
    if file is not None and not columns[2] and not layers:
        raise TextError("Of a file, give the column with the right answers with --gold, or --layers, or both.")
    if columns[1] and not columns[2]:
        raise TextError("--pair-column is about the answers to the texts of a file; give --gold, too.")


def _labelled(table: SentenceTable, gold: str, pair: str, task: str | None) -> Options:
    """Options for the scores on the texts of a table."""
    pairs = gold_column(table, pair) if pair else None
    return labelled_columns(table.sentences, gold_column(table, gold), pairs, task)


def _answer(opened: OpenedTraining, question: Question[Any, T], options: Options) -> Answer[T]:
    """The answer to a long question, with progress on a terminal."""
    steps = 1 if question.cost is None else question.cost(opened, options).steps
    with _progress(steps, question.noun.capitalize()) as job:
        return question(opened, options, job)


@contextmanager
def _progress(steps: int, label: str) -> Iterator[_Shown]:
    """A job that shows its progress as a bar on a terminal."""
    hidden = not sys.stderr.isatty()
    with typer.progressbar(length=steps, label=label, file=sys.stderr, hidden=hidden) as bar:
        yield _Shown(lambda done: bar.update(done - bar.pos))


def _movement(opened: OpenedTraining) -> TrainingMovement | None:
    """The movement of the weights, with progress on a terminal; None with a notice for a single checkpoint."""
    run = opened.run
    try:
        with _progress(len(run.states), "Checkpoints") as job:
            answer = training_movement(opened, Options(), job)
    except CheckpointError as error:
        if len(run.states) > 1:
            raise
        print_notices((*run.notices, str(error)))
        return None
    print_notices(answer.notices)
    return answer.result
