"""Rows as lines of a terminal, and values as JSON has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from bertviz_core.text import escape_controls, shortened

MAX_TOKEN_CHARACTERS = 40


def aligned(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """The rows as lines of equally wide columns, "l" or "r" for each."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(align))] if rows else []
    return [
        "  ".join(
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, align, strict=True)
        )
        for row in rows
    ]


def number_cell(value: float | np.floating[Any], places: int = 4) -> str:
    """A number with its decimals and a real minus, as it is read; `print_lines` knows what a terminal can show."""
    return f"{value:.{places}f}".replace("-", "−")


def printable_token(token: str) -> str:
    """A token as a terminal may show it."""
    return shortened(escape_controls(token), MAX_TOKEN_CHARACTERS)


def json_bytes(value: dict[str, Any]) -> bytes:
    """A JSON object, arrays as lists of numbers."""
    return orjson.dumps(value, _plain, orjson.OPT_SERIALIZE_NUMPY)


def json_object(value: dict[str, Any]) -> dict[str, Any]:
    """The object that a reader of the JSON gets: lists for arrays and tuples, None for NaN."""
    plain: dict[str, Any] = orjson.loads(json_bytes(value))
    return plain


def _plain(value: Any) -> Any:
    """What orjson cannot write: an array that is a view with gaps, or of numbers of half precision or the like."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no value of JSON")
