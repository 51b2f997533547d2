"""Print tables and JSON on stdout, and notices on stderr."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertviz_core.errors import BertvizError
from bertviz_core.questions.tables.lines import json_bytes
from bertviz_core.tables.atomic_files import write_whole
from bertviz_core.text import NO_TEXT, escape_controls, json_escaped, quoted, with_notices

MINUS = "−"


def print_notices(notices: Sequence[str]) -> None:
    """Print each notice as a line on stderr."""
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
    """Whether the encoding of the terminal supports a character."""
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_json(value: dict[str, Any], notices: Sequence[str] = ()) -> None:
    """Print a JSON object; arrays become lists.

    Args:
        value: the object.
        notices: notices of the answer, which may have more than the result.
    """
    whole = {**value, "notices": with_notices(notices, value.get("notices", ()))}
    text = json_escaped(json_bytes(whole).decode("utf-8"))
    sys.stdout.buffer.write(f"{text}\n".encode())
    sys.stdout.flush()


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically.

    Raises:
        BertvizError: the disk is full or not writable.
    """
    try:
        write_whole(path, lambda file: file.write(content))
    except OSError as error:
        raise BertvizError(f"{quoted(path.name)} cannot be written ({error.strerror}).") from error
