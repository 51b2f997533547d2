"""Dictionary-encoded columns of a table."""

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertviz_core.errors import TextError
from bertviz_core.text import counted, quoted

if TYPE_CHECKING:
    Codes = array[int]
else:  # array[int] does not exist at run time in Python 3.11
    Codes = array

Value = str | int | float | bool | None
CELL_NBYTES, VALUE_NBYTES = 12, 64
"""Approximate memory of a cell, and of a distinct value besides its characters."""
MAX_NUMBER_CHARACTERS = 100
NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


@dataclass(frozen=True, slots=True)
class Cells:
    """A dictionary-encoded column."""

    values: Sequence[Value | bytes]
    """Distinct values; None for an empty cell."""
    codes: Codes
    """Index of the value of every row."""

    @classmethod
    def of(cls, values: Iterable[Value | bytes]) -> "Cells":
        """Encode values of one type."""
        code_of: dict[Value | bytes, int] = {}
        codes = array("i", (code_of.setdefault(value, len(code_of)) for value in values))
        return cls(list(code_of), codes)

    @property
    def nbytes(self) -> int:
        """Approximate memory of the column."""
        characters = sum(len(value) for value in self.values if isinstance(value, (str, bytes)))
        return len(self.codes) * CELL_NBYTES + len(self.values) * VALUE_NBYTES + characters

    def at(self, rows: Sequence[int]) -> "Cells":
        """The column for these rows."""
        return Cells(self.values, array("i", (self.codes[row] for row in rows)))


def holds_texts(cells: Cells) -> bool:
    """Whether a column contains texts and no numbers."""
    texts = [value for value in cells.values if isinstance(value, str) and value.strip()]
    return bool(texts) and not any(map(_is_number, texts))


def cell_texts(cells: Cells, column: str | None, notices: list[str]) -> Cells:
    """The cells as texts, "" for empty ones; with a column name, a notice counts cells that are numbers.

    Raises:
        TextError: a cell contains bytes that are not UTF-8.
    """
    texts: list[str] = []
    for value_code, value in enumerate(cells.values):
        try:
            texts.append(value.decode("utf-8") if isinstance(value, bytes) else "" if value is None else str(value))
        except UnicodeDecodeError as error:
            if value_code not in cells.codes:  # a dictionary may have values that no cell has
                texts.append("")
                continue
            row = cells.codes.index(value_code) + 1
            raise TextError(
                f"Row {row:,} of the column {quoted(column or '')} holds bytes that are no "
                "UTF-8; write the column as texts."
            ) from error
    if column is not None:
        numbers = [_is_number(text) for text in texts]
        if count := sum(numbers[code] for code in cells.codes):
            notices.append(
                f"Numbers in {counted(count, 'cell')} of the column {quoted(column)} are read as they are written."
            )
    return Cells(texts, cells.codes)


def _is_number(text: str) -> bool:
    """Whether a short text is a number."""
    return len(text) < MAX_NUMBER_CHARACTERS and NUMBER.fullmatch(text) is not None
