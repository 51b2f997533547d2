"""The program `corpus`, with which its commands register, and the words that they share."""

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from bertviz_core.cli.options import app
from bertviz_core.errors import CorpusError
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
    """The choice that an option names.

    Raises:
        CorpusError: there is none of this name.
    """
    for choice in choices:
        if choice == value:
            return choice
    raise CorpusError(f"There is no --{option} {escape_controls(value[:20])!r}; give {', '.join(choices)}.")


def whole(option: str, value: str, least: int) -> int:
    """The whole number that an option gives.

    Raises:
        CorpusError: it is none, or too small.
    """
    if value.isascii() and value.isdigit() and len(value) < 10 and int(value) >= least:
        return int(value)
    raise CorpusError(f"--{option} is {escape_controls(value[:20])!r}; give a whole number from {least}.")
