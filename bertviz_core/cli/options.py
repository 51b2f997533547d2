"""Arguments and options that several commands have, and their output."""

import sys
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Annotated, Any, TypeVar

import typer

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.questions.tables.lines import Faces, json_bytes
from bertviz_core.settings import Settings
from bertviz_core.tables.atomic_files import write_whole
from bertviz_core.text import NO_TEXT, escape_controls, json_escaped, quoted, with_notices
from bertviz_core.version import __version__

T = TypeVar("T")


def _print_version(flag: bool) -> bool:
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


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    """The reader of an answer where that is a program: it gets what would be printed, and opens no other folders."""

    answer: dict[str, Any] = field(default_factory=dict)
    """The JSON object."""
    notices: list[str] = field(default_factory=list)
    stopped: Event = field(default_factory=Event)
    """Set where nobody waits for the answer any more."""


AGENT: ContextVar[Agent | None] = ContextVar("AGENT", default=None)
"""The agent that a command of `inside-bert mcp` answers; None for a person at a terminal."""


def command_settings() -> Settings:
    """The settings of the environment; a person may open any folder, an agent those of the settings."""
    return Settings.from_environment(any_folder=AGENT.get() is None)


def typed_text(value: str | None) -> str | None:
    """The text of an argument, or the standard input for `-`, without the final line break."""
    return value if value != DASH else _read().decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")


def typed_texts(values: list[str] | None) -> list[str] | None:
    """The texts of an argument, or the lines of the standard input for `-`, without blank ones."""
    if values is None:
        return None
    return [each for value in values for each in (_lines() if value == DASH else [value])]


def file_or_input(file: Path) -> tuple[str, bytes | Path]:
    """The name and path of a file, or the bytes of the standard input for `-`."""
    return (STANDARD_INPUT, _read()) if str(file) == DASH else (file.name, file)


def _lines() -> list[str]:
    lines = (typed_text(DASH) or "").splitlines()
    return [line for line in lines if line.strip()]


def _read() -> bytes:
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise TextError("The standard input, requested by -, is empty or was read already; give one text that way.")
    return data


MINUS = "−"


def print_notices(notices: Sequence[str]) -> None:
    """Print each notice as a line on stderr."""
    if (agent := AGENT.get()) is not None:
        agent.notices.extend(notices)
        return
    for notice in notices:
        sys.stderr.write(f"{escape_controls(notice)}\n")


def print_lines(lines: Sequence[str]) -> None:
    """Print lines as UTF-8, regardless of the encoding of the terminal, since vocabularies contain all scripts.

    Minus signs become hyphens if the terminal cannot show them.
    """
    text = "".join(f"{line.rstrip()}\n" for line in lines).translate(NO_TEXT)
    if sys.stdout.isatty() and not _shows(MINUS):
        text = text.replace(MINUS, "-")
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()


def _shows(sign: str) -> bool:
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_json(value: dict[str, Any], notices: Sequence[str] = ()) -> None:
    """Print a JSON object, with the notices of its answer, which may have more than the result."""
    whole = {**value, "notices": with_notices(notices, value.get("notices", ()))}
    if (agent := AGENT.get()) is not None:
        agent.answer.update(whole)
        return
    text = json_escaped(json_bytes(whole).decode("utf-8"))
    sys.stdout.buffer.write(f"{text}\n".encode())
    sys.stdout.flush()


def show(faces: Faces[T], result: T, notices: Sequence[str], as_json: bool) -> None:
    """Print an answer: its notices on stderr, and its result as a JSON object or as lines."""
    print_notices(notices)
    if as_json:
        print_json(faces.to_json(result), notices)
    else:
        print_lines(faces.to_lines(result))


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    try:
        write_whole(path, lambda file: file.write(content))
    except OSError as error:
        raise BertvizError(f"{quoted(path.name)} cannot be written ({error.strerror}).") from error
