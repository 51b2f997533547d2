"""Format rows as aligned lines, and values as JSON."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, SupportsFloat

import orjson

from bertviz_core.text import escape_controls, shortened

MAX_TOKEN_CHARACTERS = 40


def aligned(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """Align rows in columns, each "l" or "r"."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(align))] if rows else []
    return [
        "  ".join(
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, align, strict=True)
        )
        for row in rows
    ]


def number_cell(value: SupportsFloat, places: int = 4) -> str:
    """Format a number with a minus sign; `print_lines` replaces the sign if the terminal cannot show it."""
    return f"{float(value):.{places}f}".replace("-", "−")


def printable_token(token: str) -> str:
    """A token, escaped for a terminal."""
    return shortened(escape_controls(token), MAX_TOKEN_CHARACTERS)


def fields(result: object, *names: str) -> dict[str, Any]:
    """Attributes of a result by their names, such as "model", "title tokens=tokens.tokens"."""
    pairs = (name.partition("=") for name in " ".join(names).split())
    return {name: attrgetter(path or name)(result) for name, _, path in pairs}


def json_bytes(value: dict[str, Any]) -> bytes:
    """Serialize a JSON object; arrays become lists."""
    return orjson.dumps(value, _plain, orjson.OPT_SERIALIZE_NUMPY)


def json_object(value: dict[str, Any]) -> dict[str, Any]:
    """The parsed JSON: lists for arrays and tuples, None for NaN."""
    plain: dict[str, Any] = orjson.loads(json_bytes(value))
    return plain


def _plain(value: Any) -> Any:
    """Convert what orjson cannot serialize: arrays that are not contiguous or have dtypes such as float16."""
    tolist = getattr(value, "tolist", None)  # an array or number of NumPy, which few of the commands import
    if tolist is not None:
        return tolist()
    raise TypeError(f"{type(value).__name__} is no value of JSON")
