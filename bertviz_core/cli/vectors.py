"""The `vectors` command."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, opened_table, progress_bar
from bertviz_core.cli.options import JsonOption, ModelArgument, app, print_notices, show
from bertviz_core.questions.tables.vectors import EXPLANATION
from bertviz_core.questions.texts.vectors import STEPS, explained_vectors, outside_options
from bertviz_core.tables.vectors import read_vectors

vectors_app = typer.Typer(
    help="Name the recipe that makes vectors which another program computed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(vectors_app, name="vectors")
FILE_HELP = ".parquet, .npy, .jsonl, or the .json answer of an embeddings API."
TEXTS_HELP = "The texts, in the order of the vectors, where FILE has none: one per line, or a table."
PROMPT_HELP = "A prompt to try besides those of the model's folder; may be repeated."
CHECK_HELP = "Exit with code 1 where no recipe is found, or the worst cosine is below this number."


@vectors_app.callback()
def vectors() -> None:
    """Name the recipe that makes vectors which another program computed."""


@vectors_app.command()
def explain(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=FILE_HELP)],
    texts: Annotated[Path | None, typer.Option("--texts", metavar="FILE", help=TEXTS_HELP)] = None,
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column of --texts.")] = "",
    prompt: Annotated[list[str] | None, typer.Option("--prompt", metavar="TEXT", help=PROMPT_HELP)] = None,
    check: Annotated[float | None, typer.Option("--check", metavar="COSINE", help=CHECK_HELP)] = None,
    as_json: JsonOption = False,
) -> None:
    """Name the recipe that makes vectors which another program computed, and what differs from the model's folder."""
    listed = () if texts is None else opened_table(texts, column).sentences
    read = read_vectors(file.name, file, listed)
    opened = opened_model(model)
    with progress_bar(STEPS, "Inputs") as bar:
        answer = explained_vectors(opened, outside_options(read.texts, read.vectors, prompt or ()), bar)
    print_notices(read.notices)
    show(EXPLANATION, answer.result, answer.notices, as_json)
    if check is not None and not (answer.result.reproduced and answer.result.matches[0].worst_cosine >= check):
        raise typer.Exit(1)
