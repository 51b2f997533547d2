"""The `parameters` and `load-report` commands: they read a config and a header, and run no model."""

import sys
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import JsonOption, ModelArgument, app
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.models.skeleton import TASKS
from bertviz_core.questions.models.checkpoints import load_report_of
from bertviz_core.questions.models.parameters import parameters as ledger_of
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.parameters import ledger_json, ledger_text, report_json, report_lines

TaskOption = Annotated[str | None, typer.Option("--task", help=f"Count the class of this task: {', '.join(TASKS)}.")]


@app.command()
def parameters(model: ModelArgument, task: TaskOption = None, as_json: JsonOption = False) -> None:
    """List every named parameter and how the counts add up."""
    answer = ledger_of(opened_model(model), Options(task=task))
    ledger, notices = answer.result, answer.notices
    print_notices(notices)
    if as_json:
        print_json(ledger_json(ledger), notices)
    else:
        sys.stdout.write(ledger_text(ledger))


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
