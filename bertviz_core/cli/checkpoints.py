"""Commands for checkpoints: parameters, load report, comparison."""

import sys
from typing import Annotated

import typer

from bertviz_core.cli.options import MODEL_HELP, JsonOption, ModelArgument, TaskOption, app, opened_model, typed_text
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.models.skeleton import TASKS
from bertviz_core.questions.models.checkpoints import OTHER, behaviours, checkpoint_comparison, load_report_of
from bertviz_core.questions.models.parameters import parameters as ask
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.checkpoints import compare_json, compare_lines
from bertviz_core.questions.tables.parameters import ledger_json, ledger_text, report_json, report_lines


@app.command()
def parameters(model: ModelArgument, task: TaskOption = None, as_json: JsonOption = False) -> None:
    """List every named parameter and how the counts add up."""
    ledger = ask(opened_model(model), Options(task=task)).result
    print_notices((ledger.note,) if ledger.note else ())
    if as_json:
        print_json(ledger_json(ledger))
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
    if as_json:
        print_json(report_json(report))
    else:
        print_lines(report_lines(report))


TEXT_HELP = "Run both models on this text too: cosines of hidden states, divergence of attention."


@app.command()
def compare(
    first: ModelArgument,
    second: Annotated[str, typer.Argument(metavar="OTHER", help=MODEL_HELP)],
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help=TEXT_HELP, callback=typed_text)] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two checkpoints: tensors added, removed, resized, and the relative change of each."""
    opened, options = opened_model(first), Options(() if text is None else (text,), values={OTHER.key: second})
    comparison = checkpoint_comparison(opened, Options(values=options.values)).result
    behaviour = None if text is None else behaviours(opened, options).result
    print_notices([f"Not read: {name}, whose format has no plain numbers." for name in comparison.unread])
    print_notices(behaviour.notices if behaviour else ())
    if as_json:
        print_json(compare_json(comparison, behaviour))
    else:
        print_lines(compare_lines(comparison, behaviour))
