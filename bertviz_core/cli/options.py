"""The command line's program, and the words that its commands share; each command registers itself with it."""

from typing import Annotated

import typer

from bertviz_core.tasks import TASKS

app = typer.Typer(
    help="What is in a BERT-family model, and what it does with a text.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

MODEL_HELP = "Bundled model, folder, catalogue name or Hub id, such as all-MiniLM-L6-v2 or bert-base-uncased."
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
TaskOption = Annotated[str | None, typer.Option("--task", help=f"Count the class of this task: {', '.join(TASKS)}.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
