"""What the commands print: tables and JSON on stdout, what a reader must know on stderr."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from bertviz_core.errors import BertvizError
from bertviz_core.text import escape_controls, shortened

MAX_TOKEN_CHARACTERS = 40


def table(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """The rows as lines of equally wide columns, "l" or "r" for each."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(align))] if rows else []
    return [
        "  ".join(
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, align, strict=True)
        )
        for row in rows
    ]


def printable_token(token: str) -> str:
    """A token as a terminal may show it."""
    return shortened(escape_controls(token), MAX_TOKEN_CHARACTERS)


def print_notices(notices: Sequence[str]) -> None:
    """A line on stderr for each notice."""
    for notice in notices:
        sys.stderr.write(f"{escape_controls(notice)}\n")


def print_lines(lines: Sequence[str]) -> None:
    """The lines as UTF-8, whatever the terminal's own encoding: a vocabulary has letters of all scripts."""
    sys.stdout.buffer.write("".join(f"{line.rstrip()}\n" for line in lines).encode())
    sys.stdout.flush()


def print_json(value: dict[str, Any]) -> None:
    """One JSON object, arrays as lists of numbers."""
    sys.stdout.buffer.write(_json(value) + b"\n")
    sys.stdout.flush()


def json_object(value: dict[str, Any]) -> dict[str, Any]:
    """The object that a reader of the printed JSON gets: lists for arrays and tuples, None for NaN."""
    plain: dict[str, Any] = orjson.loads(_json(value))
    return plain


def _json(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value, _plain, orjson.OPT_SERIALIZE_NUMPY)


def _plain(value: Any) -> Any:
    """What orjson cannot write: an array that is a view with gaps, or of numbers of half precision or the like."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no value of JSON")


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole: beside its place first, so that neither a kill nor a full disk leaves half of one.

    Raises:
        BertvizError: the disk refuses.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise BertvizError(f"{escape_controls(path.name)!r} cannot be written ({error.strerror}).") from error
