"""Commands about a checkpoint: its parameters, its weights, another one, a training run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from bertviz_core.checkpoints.training.results import BROKEN, TrainingMovement
from bertviz_core.cli.opened import opened_model, opened_table, progress_bar
from bertviz_core.cli.options import (
    MODEL_HELP,
    JsonOption,
    ModelArgument,
    app,
    command_settings,
    file_or_input,
    print_json,
    print_lines,
    print_notices,
    show,
    typed_text,
)
from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.models.skeleton import TASKS, quietly
from bertviz_core.predictions.probing.reading import gold_column
from bertviz_core.predictions.probing.table import COLUMN
from bertviz_core.questions.models.checkpoints import (
    OTHER,
    adapter_updates,
    behaviours,
    checkpoint_comparison,
    load_report_of,
    second_model,
)
from bertviz_core.questions.models.training import OpenedTraining, training_log, training_movement
from bertviz_core.questions.opened import Opened, OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.followed import followed_labels, followed_states, followed_text
from bertviz_core.questions.predictions.predict import JOINED, JOINS
from bertviz_core.questions.predictions.two_models import (
    VIEW,
    VIEWS,
    answers_by_slice,
    compared_answers,
    compared_options,
    compared_predictions,
    labelled_columns,
    shared_tasks,
)
from bertviz_core.questions.question import Answer, Question
from bertviz_core.questions.tables.checkpoints import ADAPTER, BEHAVIOUR, CHECKPOINTS, LOAD_REPORT, NUMBER_FORMATS
from bertviz_core.questions.tables.lines import Faces
from bertviz_core.questions.tables.predictions import COMPARED_ANSWERS, SLICES
from bertviz_core.questions.tables.training import FOLLOWED, TRAINING_LOG, TRAINING_MOVEMENT
from bertviz_core.questions.tables.two_models.predictions import COMPARED_PREDICTIONS
from bertviz_core.questions.tables.two_models.runs import CHANGED_HEADS, COMPARED_ATTENTION, COMPARED_STATES
from bertviz_core.questions.texts.hidden_states import HEAD, LAYER
from bertviz_core.questions.texts.number_formats import ALL, formats_options, number_formats
from bertviz_core.questions.texts.two_models import (
    OTHER_HEAD,
    OTHER_LAYER,
    changed_heads,
    compared_attention,
    cosines_of_states,
)
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.sentences.results import SentenceTable

TEXT_HELP = (
    "Run both models on this text too: cosines of hidden states, divergence of attention; with --task, what their "
    "heads predict for it; with --view, attention of a head, heads that changed, or states of other vocabularies."
)
FILE_HELP = "Texts whose answers are compared: lines, CSV, TSV, JSON lines or Parquet."
TextOption = Annotated[str | None, typer.Option("--text", metavar="TEXT", help=TEXT_HELP, callback=typed_text)]
FileOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help=FILE_HELP)]
ColumnOption = Annotated[str, typer.Option("--column", metavar="C", help="Column of the file with the texts.")]
GoldOption = Annotated[str, typer.Option("--gold", metavar="C", help="Column of the file with the right answers.")]
PairOption = Annotated[
    str, typer.Option("--pair", metavar="C", help="Column of the file with second texts; with --text the second text.")
]
SLICES_HELP = "Compare on parts of the texts too: length, word:WORD or column:NAME."
SlicesOption = Annotated[str, typer.Option("--slices", metavar="BY", help=SLICES_HELP)]
HeadOption = Annotated[
    str | None,
    typer.Option("--task", help="Task of the heads that answer; for a file the checkpoints' own by default."),
]
Part = tuple[Faces[Any], str, Answer[Any] | None]
"""How an answer is shown, its key in the JSON object ("" for none), and the answer."""
RUNS: Mapping[str, tuple[Question[Opened, Any], Faces[Any]]] = {
    "attention": (compared_attention, COMPARED_ATTENTION),
    "heads": (changed_heads, CHANGED_HEADS),
    "states": (cosines_of_states, COMPARED_STATES),
}
"""View of two runs -> its question, and how an answer is shown."""
VIEW_HELP = (
    f"With --text and --task: {', '.join(VIEWS)}, of masked-LM heads but for entities, of heads that tag. With --text "
    "alone: attention (of one head), heads (how far each is apart) or states (the cosine of each token's)."
)
ViewOption = Annotated[str, typer.Option("--view", help=VIEW_HELP), (*VIEWS, *RUNS)]
JoinOption = Annotated[str, typer.Option("--join", help=f"How tags become entities: {', '.join(JOINS)}."), JOINS]
LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help="Layer of --view attention, from 0."), LAYER]
HeadNumberOption = Annotated[str, typer.Option("--head", metavar="H", help="Head of --view attention, from 0."), HEAD]
OtherLayerOption = Annotated[
    str,
    typer.Option("--other-layer", metavar="L", help="Layer of OTHER; by default at the same relative depth."),
    OTHER_LAYER,
]
OtherHeadOption = Annotated[
    str,
    typer.Option("--other-head", metavar="H", help="Head of OTHER; by default at the same relative place."),
    OTHER_HEAD,
]


@app.command()
def compare(
    first: ModelArgument,
    second: Annotated[str, typer.Argument(metavar="OTHER", help=MODEL_HELP)],
    text: TextOption = None,
    file: FileOption = None,
    column: ColumnOption = "",
    gold: GoldOption = "",
    pair: PairOption = "",
    task: HeadOption = None,
    view: ViewOption = VIEWS[0],
    layer: LayerOption = "",
    head: HeadNumberOption = "",
    other_layer: OtherLayerOption = "",
    other_head: OtherHeadOption = "",
    join: JoinOption = JOINS[0],
    slices: SlicesOption = "",
    as_json: JsonOption = False,
) -> None:
    """Compare two checkpoints: their tensors, their runs on a text or what they predict for it, answers to a file."""
    opened, options = opened_model(first), Options(() if text is None else (text,), values={OTHER.key: second})
    is_predicted, is_run = text is not None and task is not None and file is None, view in RUNS
    if is_run and (text is None or task is not None or file is not None):
        raise TextError(f"--view {view} is about the runs on one text; give --text, and neither --task nor --file.")
    place = {LAYER.key: layer, HEAD.key: head, OTHER_LAYER.key: other_layer, OTHER_HEAD.key: other_head}
    if any(place.values()) and view != "attention":
        raise TextError("--layer, --head, --other-layer and --other-head choose heads of --view attention; add it.")
    listed = divided = None
    if not (is_predicted or is_run) or column or gold or slices:
        listed, divided = _compared_texts(second, file, column, gold, pair, task, slices)
    predicted = None
    if is_predicted:
        values = {**options.values, VIEW.key: view, JOINED.key: join}
        predicted = compared_predictions(opened, Options(options.texts, pair or None, task, values))
    ran = _compared_runs(opened, options, view, pair, place) if is_run else None
    comparison = checkpoint_comparison(opened, Options(values=options.values))
    if text is not None and task is None and file is None and not is_run:
        print_notices(_answering(opened, second))
    behaviour = None if text is None or is_predicted or is_run else behaviours(opened, options)
    answers = None if listed is None else compared_answers(opened, listed)
    sliced = None if divided is None else answers_by_slice(opened, divided)
    _show_parts(
        [
            (CHECKPOINTS, "", comparison),
            (BEHAVIOUR, "behaviour", behaviour),
            (COMPARED_ANSWERS, "", answers),
            (SLICES, "", sliced),
            (COMPARED_PREDICTIONS, "predictions", predicted),
            (RUNS[view][1] if is_run else COMPARED_ATTENTION, view, ran),
        ],
        as_json,
    )


def _show_parts(parts: Iterable[Part], as_json: bool, notices: Sequence[str] | None = None) -> None:
    """Print the answers that there are one after the other; in the JSON object one with a key stands under it."""
    shown = [(faces, key, part) for faces, key, part in parts if part is not None]
    if notices is None:
        notices = tuple(dict.fromkeys(notice for *_, part in shown for notice in part.notices))
    print_notices(notices)
    if as_json:
        whole: dict[str, Any] = {}
        for faces, key, part in shown:
            value = faces.to_json(part.result)
            whole |= {key: value} if key else value
        return print_json(whole, notices)
    every = [lines for faces, _, part in shown if (lines := faces.to_lines(part.result))]
    return print_lines([line for lines in every for line in ("", *lines)][1:])


def _compared_runs(opened: Opened, options: Options, view: str, pair: str, place: Mapping[str, str]) -> Answer[Any]:
    chosen = {key: value for key, value in place.items() if value}
    return RUNS[view][0](opened, Options(options.texts, pair or None, values={**options.values, **chosen}))


def _answering(opened: OpenedModel, second: str) -> list[str]:
    """A sentence about the tasks whose heads both models have, which would answer the text; empty for none."""
    tasks = shared_tasks(opened, second_model(opened, Options(values={OTHER.key: second})))
    if not tasks:
        return []
    ways = " or ".join(f"--task {task}" for task in tasks)
    return [f"What both heads predict for the text is compared with {ways}."]


def _compared_texts(
    other: str, file: Path | None, column: str, gold: str, pair: str, task: str | None, slices: str
) -> tuple[Options | None, Options | None]:
    """Options for the answers to the texts of a file, and for their slices; None without a file or slices."""
    if file is None:
        if column or gold or pair or task or slices:
            raise TextError(
                "--column, --gold, --pair, --task and --slices are about the texts of a file; give it with --file. "
                "--pair and --task are also about one text; give it with --text and --task."
            )
        return None, None
    table = opened_table(file, column)
    labels, pairs = (gold_column(table, name) if name else None for name in (gold, pair))
    listed = compared_options(other, table.sentences, labels, pairs, task)
    if not slices:
        return listed, None
    by, values, of_column = slices, None, f"{COLUMN}:"
    if slices.startswith(of_column):
        by, values = COLUMN, gold_column(table, slices.removeprefix(of_column))
    return listed, compared_options(other, table.sentences, labels, pairs, task, by, values)


T = TypeVar("T")
FOLDER_HELP = "Folder that a trainer writes to, with subfolders such as checkpoint-500."
TRAINING_TEXT_HELP = "Run every checkpoint on this text too: its answer, surprise."
PAIR_HELP = "A second text; the cosine of both texts is computed too."
TRAINING_FILE_HELP = "Texts that every checkpoint reads: lines, CSV, TSV, JSON lines or Parquet."
GOLD_HELP = "Column of the file with the right answers: accuracy and macro-F1 of every checkpoint."
LAYERS_HELP = (
    "CKA of every layer with the first checkpoint and attention entropy of every head, over the texts of the file, "
    "or over the example set."
)
TrainingTextOption = Annotated[
    str | None, typer.Option("--text", metavar="TEXT", help=TRAINING_TEXT_HELP, callback=typed_text)
]
TrainingPairOption = Annotated[str | None, typer.Option("--pair", metavar="TEXT", help=PAIR_HELP)]
TrainingFileOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help=TRAINING_FILE_HELP)]
SecondOption = Annotated[str, typer.Option("--pair-column", metavar="C", help="Column of the file with second texts.")]
TrainingGoldOption = Annotated[str, typer.Option("--gold", metavar="C", help=GOLD_HELP)]
LayersOption = Annotated[bool, typer.Option("--layers", help=LAYERS_HELP)]
TrainingHeadOption = Annotated[
    str | None, typer.Option("--task", help="Task of the head that answers; the checkpoints' own by default.")
]


@app.command()
def training(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help=FOLDER_HELP)],
    text: TrainingTextOption = None,
    pair: TrainingPairOption = None,
    file: TrainingFileOption = None,
    column: ColumnOption = "",
    pair_column: SecondOption = "",
    gold: TrainingGoldOption = "",
    layers: LayersOption = False,
    task: TrainingHeadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a trainer logged, how far each layer moved by each checkpoint, and what the checkpoints answer."""
    _check_options(text, pair, file, (column, pair_column, gold), layers)
    with quietly():
        opened = OpenedTraining(folder, command_settings())
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
    moved = replace(TRAINING_MOVEMENT, lines=lambda result: [*TRAINING_MOVEMENT.to_lines(result), "", BROKEN])
    parts: list[Part] = [(TRAINING_LOG, "", log), (moved, "", movement)]
    parts += [(*FOLLOWED[type(each.result)], each) for each in followed]
    _show_parts(parts, as_json, notices)


def _check_options(
    text: str | None, pair: str | None, file: Path | None, columns: tuple[str, str, str], layers: bool
) -> None:
    if pair is not None and text is None:
        raise TextError("--pair is the second text of --text; give the first with --text.")
    if file is None and any(columns):
        raise TextError("--column, --pair-column and --gold are about the texts of a file; give it with --file.")
    if file is not None and not columns[2] and not layers:
        raise TextError("Of a file, give the column with the right answers with --gold, or --layers, or both.")
    if columns[1] and not columns[2]:
        raise TextError("--pair-column is about the answers to the texts of a file; give --gold, too.")


def _labelled(table: SentenceTable, gold: str, pair: str, task: str | None) -> Options:
    pairs = gold_column(table, pair) if pair else None
    return labelled_columns(table.sentences, gold_column(table, gold), pairs, task)


def _answer(opened: OpenedTraining, question: Question[Any, T], options: Options) -> Answer[T]:
    """The answer to a long question, with progress on a terminal."""
    steps = 1 if question.cost is None else question.cost(opened, options).steps
    with progress_bar(steps, question.noun.capitalize()) as bar:
        return question(opened, options, bar)


def _movement(opened: OpenedTraining) -> Answer[TrainingMovement] | None:
    """The movement of the weights, with progress on a terminal; None with a notice for a single checkpoint."""
    run = opened.run
    try:
        with progress_bar(len(run.states), "Checkpoints") as bar:
            answer = training_movement(opened, Options(), bar)
    except CheckpointError as error:
        if len(run.states) > 1:
            raise
        print_notices((*run.notices, str(error)))
        return None
    print_notices(answer.notices)
    return answer


TaskToLoad = Annotated[str, typer.Option("--task", help=f"Class that would be loaded: {', '.join(TASKS)}."), TASKS]
LabelsOption = Annotated[
    int | None, typer.Option("--labels", metavar="N", help="Labels of a classification head; the config's by default.")
]


@app.command("load-report")
def load_report_command(
    model: ModelArgument, task: TaskToLoad = "base", labels: LabelsOption = None, as_json: JsonOption = False
) -> None:
    """Tell which weights of a task's class the checkpoint has; only its header is read."""
    report = load_report_of(opened_model(model), task, labels).result
    show(LOAD_REPORT, report, report.notices, as_json)


@app.command()
def adapter(model: ModelArgument, as_json: JsonOption = False) -> None:
    """List what a LoRA adapter adds to each matrix of its base: rank, norm, singular values."""
    answer = adapter_updates(opened_model(model), Options())
    show(ADAPTER, answer.result, answer.notices, as_json)


FORMATS_HELP = f"Number formats, after commas: {', '.join(ALL)}; six of them by default."
FormatsOption = Annotated[str, typer.Option("--formats", metavar="F", help=FORMATS_HELP)]
RUN_HELP = (
    "Texts that are run before and after rounding: lines, CSV, TSV, JSON lines or Parquet; without them weights alone."
)
RunOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help=RUN_HELP)]
ExamplesOption = Annotated[bool, typer.Option("--examples", help="Run the example set, in place of a file.")]


@app.command("number-formats")
def number_formats_command(
    model: ModelArgument,
    formats: FormatsOption = "",
    file: RunOption = None,
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column of the file with the texts.")] = "",
    examples: ExamplesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Round the weights to fewer bits: error and bytes by part, and what vectors and answers of texts keep."""
    if column and file is None:
        raise TextError("--column names a column of a --file, and no --file is given.")
    if examples and file is not None:
        raise TextError("Give either --examples or a --file of texts.")
    texts = () if file is None else opened_table(file, column).sentences
    options = formats_options(texts, formats.split(",") if formats else None, examples)
    answer = number_formats(opened_model(model), options)
    show(NUMBER_FORMATS, answer.result, answer.notices, as_json)
    print_notices([f"Not read: {name}, whose format has no plain numbers." for name in answer.result.unread])
