"""Declare once how a result is shown: its JSON object, its table, and the lines that a terminal shows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, Generic, SupportsFloat, TypeVar

import orjson

from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import decimals, escape_controls, shortened

T = TypeVar("T")
MAX_TOKEN_CHARACTERS = 40
MAX_NAME_CHARACTERS = 90
Rows = Iterable[Any]
"""Rows of a table: a data frame, mappings, tuples in the order of the columns, or objects with their attributes."""
Form = str | tuple[str, str | Callable[[Any], str]] | Callable[[Any], str]
"""What a cell shows: a field of the row, a field with a format or a function of its value, or a function of the row."""
Columns = Sequence[str] | Mapping[str, Form]
"""Fields, or title -> what its cells show."""


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


def printable_name(name: str) -> str:
    """An untrusted name, such as that of a tensor, escaped for a terminal."""
    return shortened(escape_controls(name), MAX_NAME_CHARACTERS)


def cell_text(value: Any) -> str:
    """A value by its type: a text escaped and cut, a number with its places, nothing for None."""
    if isinstance(value, str):
        return printable_token(value)
    if isinstance(value, Integral):
        return f"{value:,}"
    return decimals(float(value)) if isinstance(value, Real) else "" if value is None else str(value)


def table(
    rows: Rows, columns: Columns = (), align: str = "", cell: Callable[[Any], str] = cell_text
) -> list[str]:  # fmt: skip
    """Titles and rows as aligned lines.

    Args:
        columns: the columns; () for all of a data frame.
        align: "l" or "r" for each column; "" for numbers at the right.
        cell: formats values that have no format of their own.
    """
    to_dict = getattr(rows, "to_dict", None)  # of a data frame; commands without one do not import pandas
    columns, listed = columns or list(rows), list(rows if to_dict is None else to_dict("records"))
    forms: Mapping[str, Form] = columns if isinstance(columns, Mapping) else {name: name for name in columns}
    listed = [dict(zip(forms, row, strict=True)) if type(row) is tuple else row for row in listed]
    texts, sides = [], []
    for form in forms.values():
        name, shown = (None, form) if callable(form) else (form, cell) if isinstance(form, str) else form
        values = [row if name is None else _value(row, name) for row in listed]
        texts.append([shown(value) if callable(shown) else format(value, shown) for value in values])
        sides.append("r" if name is not None and all(isinstance(each, Real | None) for each in values) else "l")
    return aligned([tuple(forms), *zip(*texts, strict=True)], align or "".join(sides))


def _value(row: Any, name: str) -> Any:
    return row[name] if isinstance(row, Mapping) else attrgetter(name)(row)


def grid(
    corner: str,
    columns: Iterable[object],
    names: Iterable[str],
    values: Iterable[Iterable[Any]],
    cell: Callable[[Any], str] = number_cell,
    side: str = "l",
) -> list[str]:
    """Aligned lines of a matrix with a name for each column and row, which stands on a side of its column."""
    heading = [corner, *(printable_token(str(each)) for each in columns)]
    rows = [[printable_token(name), *map(cell, row)] for name, row in zip(names, values, strict=True)]
    return aligned([heading, *rows], side + "r" * (len(heading) - 1))


def fields(result: object, *names: str) -> dict[str, Any]:
    """Attributes of a result by their names, such as "model", "title tokens=tokens.tokens"."""
    pairs = (name.partition("=") for name in " ".join(names).split())
    return {name: attrgetter(path or name)(result) for name, _, path in pairs}


def every(rows: Iterable[object], *names: str) -> list[dict[str, Any]]:
    """Attributes of each row, as `fields` reads them."""
    return [fields(row, *names) for row in rows]


def records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows of a data frame as JSON objects, with underscores in the names of columns."""
    renamed = frame.rename(columns=lambda name: str(name).replace(" ", "_"))
    return [{str(name): value for name, value in row.items()} for row in renamed.to_dict("records")]


def _nothing(result: Any) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Faces(Generic[T]):
    """How a result is shown by its command, by its class of the library, and in a notebook."""

    keys: str | Callable[[T], dict[str, Any]]
    """The JSON object: its keys as `fields` reads them, or a function."""
    made: Mapping[str, Callable[[T], Any]] = field(default_factory=dict)
    """Key -> its value, where that is no field of the result."""
    frame: "str | Callable[[T], pd.DataFrame]" = ""
    """The data frame: fields with a value for each row, or a function; "" for the rows."""
    above: Callable[[T], Sequence[str]] = _nothing
    """Lines above the printed table."""
    rows: str | Callable[[T], Any] = ""
    """Rows of the printed table: a key of the JSON object, or a function; "" for those of the data frame."""
    columns: Columns | Callable[[T], Columns] = ()
    """Its columns; () for all of the data frame."""
    align: str = ""
    """As in `table`."""
    cell: Callable[[Any], str] = cell_text
    """Formats its values."""
    most: int | None = None
    """Most rows that are printed."""
    rest: str = ""
    """What the others are called, after their number."""
    below: Callable[[T], Sequence[str]] = _nothing
    """Lines below the table."""
    lines: Callable[[T], Sequence[str]] | None = None
    """The lines of a terminal where they are not one table."""

    def to_json(self, result: T) -> dict[str, Any]:
        """The JSON object, with arrays in place of lists."""
        if not isinstance(self.keys, str):
            return self.keys(result)
        pairs = (name.partition("=") for name in self.keys.split())
        return {
            key: self.made[key](result) if key in self.made else attrgetter(path or key)(result)
            for key, _, path in pairs
        }

    def to_pandas(self, result: T) -> "pd.DataFrame":
        """The data frame."""
        if not isinstance(self.frame, str):
            return self.frame(result)
        return pd.DataFrame(fields(result, self.frame) if self.frame else self.to_rows(result))

    def to_rows(self, result: T) -> Any:
        """The rows of the printed table, not all of which may be printed."""
        if not self.rows:
            return self.to_pandas(result)
        return self.made[self.rows](result) if isinstance(self.rows, str) else self.rows(result)

    def to_lines(self, result: T) -> Sequence[str]:
        """The lines of a terminal."""
        if self.lines is not None:
            return self.lines(result)
        rows = self.to_rows(result)
        columns = self.columns(result) if callable(self.columns) else self.columns
        printed = table(rows[: self.most], columns, self.align, self.cell)
        more = 0 if self.most is None else len(rows) - self.most
        rest = [f"... and {more:,} {self.rest}"] if more > 0 else []
        return [*self.above(result), "", *printed, *rest, *self.below(result)]


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
