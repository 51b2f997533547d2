"""The typer application, with which commands register themselves, and shared arguments.

What is imported here is all that `--help` needs, so it is no library of arrays, tables or models.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.errors import TextError
from bertviz_core.version import __version__


def _print_version(flag: bool) -> bool:
    """Print the version, and exit."""
    if flag:
        typer.echo(f"inside-bert {__version__}")
        raise typer.Exit
    return flag


def _group(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """What is in a BERT-family model, and what it does with a text."""


def program() -> typer.Typer:
    """The program without its commands."""
    return typer.Typer(callback=_group, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


app = program()
"""The program, with which each command registers itself when its module is imported."""

DASH, STANDARD_INPUT = "-", "standard input"
"""Argument for the standard input in place of a text or file, and its name in messages."""
DASH_HELP = "- reads it from the standard input."
MODEL_HELP = "Bundled model, folder, catalogue name or Hub id, such as all-MiniLM-L6-v2 or bert-base-uncased."
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help="Layer, counted from 0.")]
HeadOption = Annotated[str, typer.Option("--head", metavar="H", help="Head of the layer, counted from 0.")]
WORDS_HELP = "Merge pieces to words in a map of attention: sum over keys, mean over queries."
WordsOption = Annotated[bool, typer.Option("--words", help=WORDS_HELP)]


def typed_text(value: str | None) -> str | None:
    """The text of an argument, or the standard input for `-`, without the final line break.

    Raises:
        TextError: the standard input has already been read, or is empty.
    """
    return value if value != DASH else _read().decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")


def typed_texts(values: list[str] | None) -> list[str] | None:
    """The texts of an argument, or the lines of the standard input for `-`, without blank ones.

    Raises:
        TextError: the standard input has already been read, or is empty.
    """
    if values is None:
        return None
    return [each for value in values for each in (_lines() if value == DASH else [value])]


def file_or_input(file: Path) -> tuple[str, bytes | Path]:
    """The name and path of a file, or the bytes of the standard input for `-`.

    Raises:
        TextError: the standard input has already been read, or is empty.
    """
    return (STANDARD_INPUT, _read()) if str(file) == DASH else (file.name, file)


def _lines() -> list[str]:
    lines = (typed_text(DASH) or "").splitlines()
    return [line for line in lines if line.strip()]


def _read() -> bytes:
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise TextError("The standard input, requested by -, is empty or was read already; give one text that way.")
    return data
