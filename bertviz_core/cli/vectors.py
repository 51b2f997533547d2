"""The `vectors` and `canary` commands: whose vectors these are, and whether a model still makes its own."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, opened_table, progress_bar
from bertviz_core.cli.options import JsonOption, ModelArgument, app, print_notices, show
from bertviz_core.questions.tables.canaries import CHECK
from bertviz_core.questions.tables.vectors import EXPLANATION
from bertviz_core.questions.texts.canaries import canary_of, checked_canary
from bertviz_core.questions.texts.vectors import STEPS, explained_vectors, outside_options
from bertviz_core.sentences.analysis.canary.comparison import TOLERANCE
from bertviz_core.sentences.analysis.canary.contents import TEXTS
from bertviz_core.sentences.analysis.canary.file import read_canary, write_canary
from bertviz_core.tables.vectors import read_vectors
from bertviz_core.text import counted

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


canary_app = typer.Typer(
    help="Say whether a model still makes the tokens and vectors that it made.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(canary_app, name="canary")
CANARY_HELP = "File of the canary, JSON."
CANARY_TEXTS_HELP = f"The texts: one per line, or a table; {len(TEXTS)} of many scripts by default."
TOLERANCE_HELP = "Largest permitted change of a vector, as a share of its length."


@canary_app.callback()
def canary() -> None:
    """Say whether a model still makes the tokens and vectors that it made."""


@canary_app.command()
def write(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=CANARY_HELP)],
    texts: Annotated[Path | None, typer.Option("--texts", metavar="FILE", help=CANARY_TEXTS_HELP)] = None,
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column of --texts.")] = "",
) -> None:
    """Write the tokens and vectors of some texts, with recipe, versions and digests of the model's files."""
    listed = () if texts is None else opened_table(texts, column).sentences
    with progress_bar(len(listed) or len(TEXTS), "Texts") as bar:
        answer = canary_of(opened_model(model), listed, bar)
    made = answer.result
    write_canary(file, made)
    size = f"{counted(len(made.texts), 'text')}, {counted(made.dimensions, 'dimension')}"
    print_notices((*answer.notices, f"Canary of {made.model} written to {file.name}: {size}."))


@canary_app.command()
def check(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=CANARY_HELP)],
    tolerance: Annotated[float, typer.Option("--tolerance", metavar="T", help=TOLERANCE_HELP)] = TOLERANCE,
    as_json: JsonOption = False,
) -> None:
    """Say what changed of a model since its canary was written; exit code 1 where tokens or vectors changed.

    What changed without an effect on these texts, such as a version, is named, and the exit code is 0. Vectors of
    another length are a change, too, since a name may lead to another model by now: exit code 1. What cannot be
    compared at all ends with 2: no such model or file, a damaged one, or one of another format version.
    """
    stored = read_canary(file)
    with progress_bar(len(stored.texts), "Texts") as bar:
        answer = checked_canary(opened_model(model), stored, tolerance, bar)
    show(CHECK, answer.result, answer.notices, as_json)
    if not answer.result.passed:
        raise typer.Exit(1)
