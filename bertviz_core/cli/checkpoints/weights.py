"""The `load-report`, `adapter` and `number-formats` commands, about the files of one checkpoint."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, opened_table
from bertviz_core.cli.options import JsonOption, ModelArgument, app
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.errors import TextError
from bertviz_core.models.skeleton import TASKS
from bertviz_core.questions.models.adapter import adapter_updates
from bertviz_core.questions.models.checkpoints import load_report_of
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.checkpoints import adapter_json, adapter_lines
from bertviz_core.questions.tables.parameters import report_json, report_lines
from bertviz_core.questions.tables.two_models.number_formats import number_formats_json, number_formats_lines
from bertviz_core.questions.texts.number_formats import ALL, formats_options, number_formats

TaskToLoad = Annotated[str, typer.Option("--task", help=f"Class that would be loaded: {', '.join(TASKS)}.")]
LabelsOption = Annotated[
    int | None, typer.Option("--labels", metavar="N", help="Labels of a classification head; the config's by default.")
]


@app.command("load-report")
def load_report_command(
    model: ModelArgument, task: TaskToLoad = "base", labels: LabelsOption = None, as_json: JsonOption = False
) -> None:
    """Tell which weights of a task's class the checkpoint has; only its header is read."""
    report = load_report_of(opened_model(model), task, labels).result
    print_notices(report.notices)
    if as_json:
        print_json(report_json(report), report.notices)
    else:
        print_lines(report_lines(report))


@app.command()
def adapter(model: ModelArgument, as_json: JsonOption = False) -> None:
    """List what a LoRA adapter adds to each matrix of its base: rank, norm, singular values."""
    answer = adapter_updates(opened_model(model), Options())
    updates = answer.result
    print_notices(answer.notices)
    if as_json:
        print_json(adapter_json(updates), answer.notices)
    else:
        print_lines(adapter_lines(updates))


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
    texts: tuple[str, ...] = ()
    if file is not None:
        table = opened_table(file, column)
        print_notices(table.notices)
        texts = table.sentences
    options = formats_options(texts, formats.split(",") if formats else None, examples)
    answer = number_formats(opened_model(model), options)
    result = answer.result
    print_notices(answer.notices)
    print_notices([f"Not read: {name}, whose format has no plain numbers." for name in result.unread])
    if as_json:
        print_json(number_formats_json(result), answer.notices)
    else:
        print_lines(number_formats_lines(result))
