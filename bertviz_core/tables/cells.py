"""Dictionary-encoded columns of a table, and the values that their cells have in every format of files."""

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

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
MISSING = ["NaN", "nan", "NA", "N/A", "<NA>", "NaT", "None", "null", "NULL"]
"""Missing cells in a column of numbers, booleans or times; in one of texts they are texts, as Parquet has them."""
WHOLE_TEXT = "^(0|-?[1-9][0-9]{0,19})$"
NUMBER_TEXT = r"^-?((0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?|inf)$"
COMMA_TEXT = "^-?(0|[1-9][0-9]*)(,[0-9]+)?([eE][+-]?[0-9]+)?$|^-?inf$"
BOOLEAN_TEXT = "^(true|True|TRUE|false|False|FALSE)$"
DATE_TEXT = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
TIME_TEXT = DATE_TEXT[:-1] + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
ZONE_TEXT = "(Z|[+-][0-9]{2}:?[0-9]{2})$"
MAX_DIGITS = 17
"""Digits that a float64 may have; a longer number is read as it is written."""
INT64, UINT64 = 2**63, 2**64
"""Whole numbers beyond these are read as they are written."""
EXACT = 2.0**53
"""Whole floats below this are exact."""


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
    """The cells as texts, "" for empty ones; with a column name, a notice counts cells that are numbers."""
    texts: list[str] = []
    used = set(cells.codes)
    for value_code, value in enumerate(cells.values):
        try:
            texts.append(value.decode("utf-8") if isinstance(value, bytes) else "" if value is None else str(value))
        except UnicodeDecodeError as error:
            if value_code not in used:  # a dictionary may have values that no cell has
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


def typed(column: Any, decimal_comma: bool = False) -> Any:
    """A column with the values that it has in every format, however a file has them: as texts, or as floats.

    Texts that are all numbers, booleans, dates or times become these, whole floats integers, and empty texts and NaN
    null. Numbers with a leading zero or more digits than a float64 has are texts; a column with -0.0 has floats.

    Args:
        column: an array or a chunked array of Arrow.
        decimal_comma: whether 3,5 is a number.
    """
    if _are_texts(column.type):
        column = pc.if_else(pc.equal(column, ""), None, column)
        known = pc.if_else(pc.is_in(column, value_set=pa.array(MISSING, column.type)), None, column)
        try:
            found = _numbers_and_times(known, decimal_comma)
        except pa.ArrowException:  # a day that no month has, or a number beyond all types
            found = None
        return column if found is None else found
    if types.is_floating(column.type):
        if not types.is_float64(column.type):
            column = column.cast(pa.string()).cast(pa.float64())  # the shortest decimals: 0.1 for the float32 0.1
        return _whole(pc.if_else(pc.is_nan(column), None, column))
    return column


def _are_texts(dtype: Any) -> bool:
    return bool(types.is_string(dtype) or types.is_large_string(dtype))


def _numbers_and_times(known: Any, decimal_comma: bool) -> Any:
    """Texts as numbers, booleans, dates or times; None if they are others, or if there is none."""

    def all_are(pattern: str) -> bool:
        return pc.all(pc.match_substring_regex(known, pattern)).as_py() is True

    if all_are(WHOLE_TEXT):
        try:
            return known.cast(pa.int64())
        except pa.ArrowException:
            return known.cast(pa.uint64())
    if decimal_comma and all_are(COMMA_TEXT):
        known = pc.replace_substring(known, ",", ".")
    if all_are(NUMBER_TEXT):
        mantissas = pc.replace_substring_regex(pc.replace_substring_regex(known, "[eE].*", ""), r"^-?[0.]*|\.", "")
        is_short = (pc.max(pc.utf8_length(mantissas)).as_py() or 0) <= MAX_DIGITS
        return _whole(known.cast(pa.float64())) if is_short else None
    if all_are(BOOLEAN_TEXT):
        return pc.equal(pc.utf8_lower(known), "true")
    if all_are(DATE_TEXT):
        return known.cast(pa.date32())
    if all_are(TIME_TEXT + "$"):
        return known.cast(pa.timestamp("us"))
    return known.cast(pa.timestamp("us", "UTC")) if all_are(TIME_TEXT + ZONE_TEXT) else None


def _whole(numbers: Any) -> Any:
    """Floats as integers, if all are exact integers and none is -0.0."""
    known = pc.drop_null(numbers).to_numpy()
    is_whole = (np.abs(known) < EXACT) & (np.trunc(known) == known) & ((known != 0) | ~np.signbit(known))
    return numbers.cast(pa.int64()) if len(known) and is_whole.all() else numbers


def narrowed(column: Any, decimal_comma: bool) -> Any:
    """The type of `typed` for some cells of a column; null if they have no value, texts for numbers beyond int64."""
    found = typed(column, decimal_comma)
    if _are_texts(found.type):
        is_missing = pc.or_(pc.is_null(found), pc.is_in(found, value_set=pa.array(MISSING, found.type)))
        return pa.null() if pc.all(is_missing).as_py() else found.type
    if found.null_count == len(found):
        return pa.null()
    return pa.string() if types.is_uint64(found.type) and not types.is_uint64(column.type) else found.type


def of_type(column: Any, dtype: Any) -> Any:
    """Some cells of a column in the type that `typed` finds for the whole column."""
    if _are_texts(column.type) and _are_texts(dtype):
        return pc.if_else(pc.equal(column, ""), None, column).cast(dtype)
    if _are_texts(column.type):
        column = pc.if_else(pc.is_in(column, value_set=pa.array(MISSING, column.type)), None, column)
        return typed(column, decimal_comma=True).cast(dtype)
    return (column if _are_texts(dtype) else typed(column)).cast(dtype)


def typed_cells(cells: Cells, decimal_comma: bool = False) -> Cells:
    """The cells of a column that is no column of sentences, with the values of `typed`; times as texts."""
    used = sorted(set(cells.codes))
    code_of = {code: index for index, code in enumerate(used)}
    present = [cells.values[code] for code in used]
    whole = [value for value in present if isinstance(value, int)]
    least, most = (min(whole), max(whole)) if whole else (0, 0)
    if least < -INT64 or most >= (INT64 if least < 0 else UINT64):
        present = [None if value is None else str(value) for value in present]
        most = 0
    column = typed(pa.array(present, pa.uint64() if most >= INT64 else None), decimal_comma)
    is_time = types.is_date(column.type) or types.is_timestamp(column.type)
    values: list[Value | bytes] = column.to_pylist()
    return Cells(
        [value if value is None or not is_time else label_text(value) for value in values],
        array("i", (code_of[code] for code in cells.codes)),
    )


def decimal_commas(cells: Cells) -> str:
    """A cell with a decimal comma, if all cells that are not empty are texts of numbers with or without one, or ""."""
    texts = [cells.values[code] for code in sorted(set(cells.codes))]
    are_texts = all(text is None or isinstance(text, str) for text in texts)
    return comma_cell(pa.array(texts, pa.string())) or "" if are_texts else ""


def comma_cell(column: Any) -> str | None:
    """A cell with a decimal comma of a column of texts, "" if there is none; None if a cell is no number."""
    known = column.filter(pc.fill_null(pc.not_equal(column, ""), False))
    if not pc.all(pc.match_substring_regex(known, COMMA_TEXT), min_count=0).as_py():
        return None
    with_comma = known.filter(pc.match_substring(known, ","))
    return str(with_comma[0]) if len(with_comma) else ""


def comma_notice(columns: Sequence[str], cell: str, are_numbers: bool) -> str:
    """The notice about columns whose numbers have decimal commas, such as a cell of the first."""
    where = (
        f"of {counted(len(columns), 'column')} ({', '.join(map(quoted, columns[:3]))}{', ...' * (len(columns) > 3)})"
    )
    if are_numbers:
        return f"Decimal commas {where} are read as decimal points: {cell} as {float(cell.replace(',', '.'))}."
    return f"Cells {where} such as {cell} are read as texts; write numbers with a decimal point."


def label_text(value: Any) -> str:
    """A cell as a label: whole numbers without a fraction, days without a time, times in UTC; "" for a missing one."""
    if value is None or value != value:  # NaN, NaT
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < EXACT else str(value)
    if isinstance(value, Decimal) and len(value.as_tuple().digits) <= MAX_DIGITS:
        return label_text(float(value))
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            value = value.astimezone(UTC)
        elif value.time() == time():
            value = value.date()
        text = str(value)
        return text.rstrip("0") if "." in text and value.tzinfo is None else text
    return value.isoformat() if isinstance(value, date) else str(value).strip()


def _is_number(text: str) -> bool:
    """Whether a short text is a number."""
    return len(text) < MAX_NUMBER_CHARACTERS and NUMBER.fullmatch(text) is not None
