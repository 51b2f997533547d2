"""The command group `corpus`, with shared arguments."""

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from bertviz_core.cli.opened import opened_folder
from bertviz_core.cli.options import JsonOption, app
from bertviz_core.cli.output import print_json, print_lines
from bertviz_core.errors import CorpusError
from bertviz_core.questions.tables.corpora import info_json, info_lines
from bertviz_core.text import escape_controls

corpus_app = typer.Typer(
    help="Many texts and their vectors in a folder.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(corpus_app, name="corpus")

Choice = TypeVar("Choice", bound=str)
FOLDER_HELP = "Corpus folder, as `corpus embed` makes it."
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help=FOLDER_HELP)]


@corpus_app.callback()
def corpus() -> None:
    """Many texts and their vectors in a folder."""


def chosen(option: str, value: str, choices: tuple[Choice, ...]) -> Choice:
    """Parse the value of an option with several choices.

    Raises:
        CorpusError: the value is not one of the choices.
    """
    for choice in choices:
        if choice == value:
            return choice
    raise CorpusError(f"There is no --{option} {escape_controls(value[:20])!r}; give {', '.join(choices)}.")


def whole(option: str, value: str, least: int) -> int:
    """Parse an integer option.

    Raises:
        CorpusError: the value is not an integer, or too small.
    """
    if value.isascii() and value.isdigit() and len(value) < 10 and int(value) >= least:
        return int(value)
    raise CorpusError(f"--{option} is {escape_controls(value[:20])!r}; give a whole number from {least}.")


@corpus_app.command()
def info(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Say what a corpus folder holds and how it was made; its shards are looked at."""
    corpus = opened_folder(folder).corpus
    if as_json:
        print_json(info_json(corpus))
    else:
        print_lines(info_lines(corpus))
