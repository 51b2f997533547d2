"""What the commands print: tables and JSON on stdout, what a reader must know on stderr."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertviz_core.errors import BertvizError
from bertviz_core.questions.tables.lines import json_bytes
from bertviz_core.tables.atomic_files import write_whole
from bertviz_core.text import escape_controls

MINUS = "−"


def print_notices(notices: Sequence[str]) -> None:
    """A line on stderr for each notice."""
    for notice in notices:
        sys.stderr.write(f"{escape_controls(notice)}\n")


def print_lines(lines: Sequence[str]) -> None:
    """The lines as UTF-8, whatever the terminal's own encoding: a vocabulary has letters of all scripts.

    A minus is a hyphen on a terminal that could not show one.
    """
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    if sys.stdout.isatty() and not _shows(MINUS):
        text = text.replace(MINUS, "-")
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()


def _shows(sign: str) -> bool:
    """Whether the terminal's encoding has a sign."""
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_json(value: dict[str, Any]) -> None:
    """One JSON object, arrays as lists of numbers."""
    sys.stdout.buffer.write(json_bytes(value) + b"\n")
    sys.stdout.flush()


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole: beside its place first, so that neither a kill nor a full disk leaves half of one.

    Raises:
        BertvizError: the disk refuses.
    """
    try:
        write_whole(path, lambda file: file.write(content))
    except OSError as error:
        raise BertvizError(f"{escape_controls(path.name)!r} cannot be written ({error.strerror}).") from error
