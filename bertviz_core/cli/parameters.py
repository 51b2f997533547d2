"""The `parameters` command: it reads a config and a header, and needs no library of arrays or models."""

from typing import Annotated

import typer

from bertviz_core.checkpoints.load_report.report import compared_ledger
from bertviz_core.cli.options import JsonOption, ModelArgument, app, command_settings, show
from bertviz_core.models.skeleton import TASKS
from bertviz_core.models.sources import resolve
from bertviz_core.questions.tables.parameters import LEDGER
from bertviz_core.text import with_notices

TaskOption = Annotated[
    str | None, typer.Option("--task", help=f"Count the class of this task: {', '.join(TASKS)}."), TASKS
]


@app.command()
def parameters(model: ModelArgument, task: TaskOption = None, as_json: JsonOption = False) -> None:
    """List every named parameter and how the counts add up."""
    settings = command_settings()
    source = resolve(model, settings)
    ledger = compared_ledger(source, settings, task)
    show(LEDGER, ledger, with_notices(source.notices, ledger.notices), as_json)
