"""Kinds of columns, and comparisons of their cells with a value."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from jaxtyping import Bool

from bertviz_core.corpus.results import ColumnKind
from bertviz_core.errors import CorpusError
from bertviz_core.text import quoted

NULL = "null"
TRUTHS = {"true": True, "false": False}


def column_kind(dtype: pa.DataType) -> ColumnKind:
    """Return the kind of a type's cells; for a dictionary that of its values."""
    if kinds.is_dictionary(dtype):
        return column_kind(dtype.value_type)
    if kinds.is_string(dtype) or kinds.is_large_string(dtype) or kinds.is_string_view(dtype):
        return "text"
    if kinds.is_integer(dtype) or kinds.is_floating(dtype) or kinds.is_decimal(dtype):
        return "number"
    if kinds.is_boolean(dtype):
        return "boolean"
    return "time" if kinds.is_date(dtype) or kinds.is_timestamp(dtype) else "other"


def plain_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Convert cells to Python values; to texts if one cannot be converted, such as a date after the year 9999.

    Values that cannot be formatted, such as a time in an unknown time zone, are represented by their type.
    """
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError, KeyError, pa.ArrowException):
        try:
            values = column.cast(pa.string()).to_pylist()
        except (ValueError, pa.ArrowException):
            values = [f"({column.type} that cannot be shown)" if known.as_py() else None for known in column.is_valid()]
    return values


def matching(column: pa.ChunkedArray, name: str, value: str) -> Bool[np.ndarray, " rows"]:
    """Return which cells equal a value; missing cells never do.

    Args:
        column: the column.
        name: name of the column, for messages.
        value: the value as text; null for missing cells; a text may be quoted.

    Raises:
        CorpusError: the value does not fit the kind of the column, or its cells are not comparable.
    """
    if value.strip().lower() == NULL:
        chosen = pc.is_null(column, nan_is_null=True)
    else:
        scalar = _scalar(column.type, name, value)
        try:
            chosen = pc.fill_null(_equal(column, scalar), False)
        except pa.ArrowException:  # no comparison of these types, or a cell beyond the type of the value
            equal = [cell is not None and cell == scalar.as_py() for cell in plain_values(column)]
            chosen = pa.chunked_array([equal], type=pa.bool_())
    return np.asarray(chosen.to_numpy(), dtype=np.bool_)


def _equal(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    """Return which cells equal a value; dictionaries are compared once per entry and never unpacked."""
    if not pa.types.is_dictionary(column.type):
        return pc.equal(column, value)
    chunks = [pc.equal(chunk.dictionary, value).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, type=pa.bool_())


def _scalar(dtype: pa.DataType, name: str, value: str) -> pa.Scalar:
    """Convert the value to the column's type."""
    kind = column_kind(dtype)
    plain = value.strip()
    try:
        if kind == "text":
            return pa.scalar(_unquoted(value))
        if kind == "number":
            return pa.scalar(int(plain)) if plain.lstrip("+-").isdigit() else pa.scalar(float(plain))
        if kind == "boolean":
            return pa.scalar(TRUTHS[plain.lower()])
        if kind == "time":
            return pa.scalar(plain).cast(dtype)
    except (ValueError, KeyError, OverflowError, pa.ArrowException) as error:
        expected = {"number": "a number", "boolean": "true or false", "time": "a day such as 2026-11-22"}[kind]
        raise CorpusError(f"The column {quoted(name)} holds no {quoted(plain)}; write {expected}, or null.") from error
    raise CorpusError(f"The column {quoted(name)} holds {dtype}, which cannot be compared with a value.")


def _unquoted(text: str) -> str:
    marked = len(text) >= 2 and text[0] == text[-1] == '"'
    return text[1:-1] if marked else text
