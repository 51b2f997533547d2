"""The `compare` command: two checkpoints, their runs on a text, their answers to the texts of a file."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bertviz_core.cli.opened import opened_model, opened_table
from bertviz_core.cli.options import MODEL_HELP, JsonOption, ModelArgument, app, typed_text
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.reading import gold_column
from bertviz_core.predictions.probing.table import COLUMN
from bertviz_core.questions.models.checkpoints import OTHER, behaviours, checkpoint_comparison
from bertviz_core.questions.models.rounded_copy import second_model
from bertviz_core.questions.opened import Opened, OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.compared_answers import answers_by_slice, compared_answers, compared_options
from bertviz_core.questions.predictions.task_heads import JOINED, JOINS
from bertviz_core.questions.predictions.two_models import VIEW, VIEWS, compared_predictions, shared_tasks
from bertviz_core.questions.question import Answer, Question
from bertviz_core.questions.tables.checkpoints import compare_json, compare_lines
from bertviz_core.questions.tables.compared_answers import (
    answer_comparison_json,
    answer_comparison_lines,
    slices_json,
    slices_lines,
)
from bertviz_core.questions.tables.two_models.predictions import prediction_comparison_json, prediction_comparison_lines
from bertviz_core.questions.tables.two_models.runs import (
    attention_comparison_json,
    attention_comparison_lines,
    changed_heads_json,
    changed_heads_lines,
    compared_states_json,
    compared_states_lines,
)
from bertviz_core.questions.texts.heads import HEAD, LAYER
from bertviz_core.questions.texts.two_runs import (
    OTHER_HEAD,
    OTHER_LAYER,
    changed_heads,
    compared_attention,
    cosines_of_states,
)

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
RUNS: Mapping[str, tuple[Question[Opened, Any], Callable[[Any], dict[str, Any]], Callable[[Any], Sequence[str]]]] = {
    "attention": (compared_attention, attention_comparison_json, attention_comparison_lines),
    "heads": (changed_heads, changed_heads_json, changed_heads_lines),
    "states": (cosines_of_states, compared_states_json, compared_states_lines),
}
"""View of two runs -> its question, and how an answer is printed."""
VIEW_HELP = (
    f"With --text and --task: {', '.join(VIEWS)}, of masked-LM heads but for entities, of heads that tag. With --text "
    "alone: attention (of one head), heads (how far each is apart) or states (the cosine of each token's)."
)
ViewOption = Annotated[str, typer.Option("--view", help=VIEW_HELP)]
JoinOption = Annotated[str, typer.Option("--join", help=f"How tags become entities: {', '.join(JOINS)}.")]
LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help="Layer of --view attention, from 0.")]
HeadNumberOption = Annotated[str, typer.Option("--head", metavar="H", help="Head of --view attention, from 0.")]
OtherLayerOption = Annotated[
    str, typer.Option("--other-layer", metavar="L", help="Layer of OTHER; by default at the same relative depth.")
]
OtherHeadOption = Annotated[
    str, typer.Option("--other-head", metavar="H", help="Head of OTHER; by default at the same relative place.")
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
    sliced = None if divided is None else answers_by_slice(opened, divided).result
    every = (comparison, behaviour, answers, predicted, ran)
    ran_on_text = None if behaviour is None else behaviour.result
    notices = list(dict.fromkeys(notice for each in every if each is not None for notice in each.notices))
    print_notices(notices)
    if as_json:
        about = {} if answers is None else answer_comparison_json(answers.result)
        about |= {} if sliced is None else slices_json(sliced)
        about |= {} if predicted is None else {"predictions": prediction_comparison_json(predicted.result)}
        about |= {} if ran is None else {view: RUNS[view][1](ran.result)}
        print_json({**compare_json(comparison.result, ran_on_text), **about}, notices)
    else:
        lines = [] if answers is None else ["", *answer_comparison_lines(answers.result)]
        lines += [] if sliced is None else ["", *slices_lines(sliced)]
        lines += [] if predicted is None else ["", *prediction_comparison_lines(predicted.result)]
        lines += [] if ran is None else ["", *RUNS[view][2](ran.result)]
        print_lines([*compare_lines(comparison.result, ran_on_text), *lines])


def _compared_runs(opened: Opened, options: Options, view: str, pair: str, place: Mapping[str, str]) -> Answer[Any]:
    """The runs of both models on one text, as a view of them needs them."""
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
    print_notices(table.notices)
    labels, pairs = (gold_column(table, name) if name else None for name in (gold, pair))
    listed = compared_options(other, table.sentences, labels, pairs, task)
    if not slices:
        return listed, None
    by, values, of_column = slices, None, f"{COLUMN}:"
    if slices.startswith(of_column):
        by, values = COLUMN, gold_column(table, slices.removeprefix(of_column))
    return listed, compared_options(other, table.sentences, labels, pairs, task, by, values)
