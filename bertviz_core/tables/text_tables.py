"""Read tables in text files: CSV and TSV, and JSON with an object a line, or one array of objects."""

import csv
import io
import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePath
from typing import Any

import msgspec

from bertviz_core.errors import TextError
from bertviz_core.tables.cells import Cells, Value
from bertviz_core.tables.columns import check_columns, unique_names
from bertviz_core.tables.decoding import MAX_FILE_NBYTES
from bertviz_core.text import counted, quoted

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
LINES, ARRAY = (".jsonl", ".ndjson"), ".json"
"""Endings of files with an object a line, and of those that may also be one array of objects."""
JSON = (*LINES, ARRAY)


class DelimitedTable:
    """A table of texts with equally long rows."""

    def __init__(self, name: str, text: str, delimiter: str, check_count: Callable[[int], None]) -> None:
        """Parse the table.

        Args:
            name: name of the file.
            text: its content.
            delimiter: the delimiter, unless the first line suggests another.
            check_count: called with the number of rows; may raise to stop.

        Raises:
            TextError: rows differ in length, a quotation mark is not closed, or there are too many columns.
        """
        self.names: list[str] = []
        self.stored_names: list[str] = []
        self._rows: list[list[str]] = []
        first = text.partition("\n")[0]
        if separator := separator_line(first):
            delimiter, text = separator, text[len(first) + 1 :]
        else:
            delimiter = delimiter_of(first, delimiter)
        self.decimal_comma = delimiter == ";"
        for first_line, row in _rows(name, text, delimiter, 2 if separator else 1):
            if not self.names:
                check_columns(name, len(row))
                self.names, self.stored_names = unique_names(row), row
            elif row and len(row) != len(self.names):
                raise TextError(
                    f"Line {first_line:,} of {quoted(name)} has {counted(len(row), 'cell')}, but the first row names "
                    f"{counted(len(self.names), 'column')}; put a cell that holds the delimiter into quotation marks."
                )
            else:
                self._rows.append(row)
            check_count(len(self._rows))

    def reason(self, index: int) -> str:
        """Always "": every column can be read."""
        return ""

    def may_hold_texts(self, index: int) -> bool:
        """Always True."""
        return True

    def declared_nbytes(self, index: int) -> int:
        """Always 0: sizes are not declared."""
        return 0

    def cells(self, index: int) -> Cells:
        """A column; "" in blank lines."""
        return Cells.of(row[index] if row else "" for row in self._rows)


class JsonTable:
    """A table whose rows are JSON objects; a name that an object lacks is an empty cell."""

    decimal_comma = False

    def __init__(self, name: str, text: str, check_count: Callable[[int], None]) -> None:
        """Parse the table; the columns are all names, in the order in which they first come.

        Args:
            name: name of the file.
            text: its content.
            check_count: called with the number of rows; may raise to stop.

        Raises:
            TextError: a line is no JSON object, there is none, or there are too many columns.
        """
        self._rows: list[dict[str, Any]] = []
        keys: dict[str, None] = {}
        for row in _objects(name, text):
            self._rows.append(row)
            keys.update(dict.fromkeys(row))
            check_columns(name, len(keys))
            check_count(len(self._rows))
        if not keys:
            raise TextError(
                f"{quoted(name)} is empty; write one JSON object with the text and its other values a line."
            )
        self._keys = self.stored_names = list(keys)
        self.names = unique_names(self._keys)

    def reason(self, index: int) -> str:
        """Why a column cannot be read; "" if it can."""
        kinds = self._kinds(index)
        if kinds & {dict, list}:
            return "holds several values in a cell"
        return "" if len(kinds) <= 1 or kinds == {int, float} else "holds values of different kinds"

    def may_hold_texts(self, index: int) -> bool:
        """Whether there is a text in a column."""
        return str in self._kinds(index)

    def declared_nbytes(self, index: int) -> int:
        """Always 0: sizes are not declared."""
        return 0

    def cells(self, index: int) -> Cells:
        """A column that can be read; None in blank lines."""
        key, kinds = self._keys[index], self._kinds(index)
        values: list[Value] = [row.get(key) for row in self._rows]
        if float in kinds:  # without deduplication, since 0.0 equals -0.0
            return Cells([None if each is None else float(each) for each in values], array("i", range(len(values))))
        return Cells.of(values)

    def _kinds(self, index: int) -> set[type]:
        return {type(value) for row in self._rows if (value := row.get(self._keys[index])) is not None}


def separator_line(first: str) -> str:
    """The delimiter that a first line of Excel such as sep=; names; "" if it is no such line."""
    match = re.fullmatch(r'"?sep=([^\w"\r\n])"?\r?', first, re.IGNORECASE)
    return match[1] if match else ""


def delimiter_of(first: str, usual: str) -> str:
    """The delimiter of a table, by its first line.

    Spreadsheets use semicolons where the comma separates decimals, and tabs for "Unicode text".

    Args:
        first: the line with the names.
        usual: the delimiter of files with this ending.
    """
    counts = Counter(re.sub('"[^"]*"', "", first))
    others = [other for other in (usual, ",", ";", "\t") if counts[other]]
    if usual != "," and counts[usual]:
        return usual
    return max(others, key=lambda other: counts[other], default=usual)


def _rows(name: str, text: str, delimiter: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """Rows with the numbers of their first lines."""
    csv.field_size_limit(MAX_FILE_NBYTES)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = first_line
    try:
        for row in reader:
            yield first_line, row
            first_line = reader.line_num + before
    except csv.Error as error:
        raise TextError(
            f"{quoted(name)} is broken in the row that begins in line {first_line:,}: {error}. Close its quotation "
            "marks."
        ) from error


def _objects(name: str, text: str) -> Iterator[dict[str, Any]]:
    """The objects, an empty one for a blank line."""
    if PurePath(name).suffix.lower() == ARRAY and text.lstrip().startswith("["):
        for place, row in enumerate(_decoded(name, "", text)):
            yield _object(name, f"Record {place + 1:,} of ", row)
        return
    lines = text.replace("\r\n", "\n").replace("\r", "\n")  # a string in JSON has line breaks as escapes alone
    for place, line in enumerate(lines.removesuffix("\n").split("\n")):
        where = f"Line {place + 1:,} of "
        yield _object(name, where, _decoded(name, where, line)) if line.strip() else {}


def _decoded(name: str, where: str, text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
        rows = value if isinstance(value, list) else [value]
        names = Counter(key for row in rows if isinstance(row, dict) for key in row)
        if any(text.count(f'"{key}"') > count for key, count in names.items()):  # of a name twice msgspec has the last
            json.loads(text, object_pairs_hook=partial(_check_pairs, name, where))
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise TextError(f"{where}{quoted(name)} cannot be read as JSON: {reason}.") from error
    return value


def _check_pairs(name: str, where: str, pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object with several values of one name."""
    key, count = Counter(key for key, _ in pairs).most_common(1)[0] if pairs else ("", 0)
    if count > 1:
        raise TextError(
            f"{where or 'A record of '}{quoted(name)} has {counted(count, 'value')} of the name {quoted(key)}; rename "
            "them."
        )


def _object(name: str, where: str, row: object) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise TextError(
            f"{where}{quoted(name)} is no JSON object; write objects with named values, or name a file whose lines "
            "are sentences .txt."
        )
    return row
