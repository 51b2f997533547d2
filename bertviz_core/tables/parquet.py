"""Read Parquet files: the footer is checked first, then columns are read one at a time.

A footer may state wrong sizes; the limits of the process protect against that (bertviz_core.isolation.run).
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyarrow import parquet, types

from bertviz_core.errors import TextError
from bertviz_core.tables.cells import Cells, Value
from bertviz_core.tables.columns import check_columns, unique_names
from bertviz_core.tables.decoding import MAX_FILE_NBYTES
from bertviz_core.tables.row_groups import check_counts
from bertviz_core.text import quoted

ENDINGS = (".parquet", ".pq")
MAX_UNPACKED_NBYTES = 2 * MAX_FILE_NBYTES
"""Maximum declared size of a column in bytes."""


class ParquetTable:
    """A Parquet file whose columns are read on demand."""

    decimal_comma = False

    def __init__(self, name: str, raw: bytes, check_count: Callable[[int], None]) -> None:
        """Read the footer.

        Args:
            name: name of the file.
            raw: its bytes.
            check_count: called with the number of rows; may raise to stop.

        Raises:
            TextError: the file is damaged, inconsistent, not Parquet, or has too many columns.
        """
        self._name = name
        with _refusals(name):
            metadata = parquet.read_metadata(pa.BufferReader(raw))
            check_columns(name, metadata.num_columns)
            check_counts(metadata)
            groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
            self._rows = metadata.num_rows
            check_count(self._rows)
            kinds = metadata.schema.to_arrow_schema()
            texts = [text_field.name for text_field in kinds if _is_text(text_field.type)]
            # A decoded dictionary repeats the text for every row: a file of a few kilobytes could fill the memory.
            self._file = parquet.ParquetFile(
                pa.BufferReader(raw), metadata=metadata, read_dictionary=texts, pre_buffer=False
            )
            self._fields = list(self._file.schema_arrow)
            self._groups, self._leaves = groups, _first_leaves(self._fields)
        self.stored_names = [field.name for field in self._fields]
        check_columns(name, len(self.stored_names))
        self.names = unique_names(self.stored_names)
        self._read: tuple[str, list[Any]] = "", []
        self._together = Counter[str]()
        """Name in the file -> bytes of its columns, which can only be read together."""
        with _refusals(name):
            for index, stored_name in enumerate(self.stored_names):
                self._together[stored_name] += self.declared_nbytes(index)

    def reason(self, index: int) -> str:
        """Why a column cannot be read; "" if it can."""
        kind = self._fields[index].type
        if types.is_nested(kind):
            return "holds several values in a cell"
        if types.is_fixed_size_binary(kind) and kind.byte_width * self._rows > MAX_UNPACKED_NBYTES:
            return f"has {kind.byte_width * self._rows / 1024**2:,.0f} MiB"
        if not (_is_text(kind) or _is_plain(kind)):
            return f"is of a type that is not read ({str(kind)[:60]})"
        size = self._together[self.stored_names[index]]
        return f"unpacks to {size / 1024**2:,.0f} MiB" if size > MAX_UNPACKED_NBYTES else ""

    def may_hold_texts(self, index: int) -> bool:
        """Whether the declared type of a column permits texts."""
        return _is_text(self._fields[index].type)

    def declared_nbytes(self, index: int) -> int:
        """Uncompressed size of a column according to the footer."""
        kind, leaf = self._fields[index].type, self._leaves[index]
        wide: int = kind.byte_width * self._rows if types.is_fixed_size_binary(kind) else 0
        declared = (abs(int(group.column(leaf).total_uncompressed_size)) for group in self._groups)
        return max(wide, sum(declared))

    def cells(self, index: int) -> Cells:
        """Read a column.

        Raises:
            TextError: it is damaged.
        """
        with _refusals(self._name):
            stored_name = self.stored_names[index]
            if self._read[0] != stored_name or not self._read[1]:
                self._read = "", []
                table = self._file.read(columns=[stored_name], use_threads=False, use_pandas_metadata=False)
                namesakes = [
                    column
                    for name, column in zip(table.column_names, table.columns, strict=True)
                    if name == stored_name
                ]
                self._read = stored_name, namesakes
            column = self._read[1][self.stored_names[:index].count(stored_name)]
            if len(column) != self._rows:
                raise ValueError(f"{len(column):,} rows where the footer names {self._rows:,}")
            return _cells(column)


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """Translate exceptions of pyarrow for a damaged file into TextError."""
    try:
        yield
    except MemoryError:  # also one of pyarrow's
        raise
    except (pa.ArrowException, OSError, ValueError, IndexError, KeyError) as error:
        raise TextError(f"{quoted(name)} is no Parquet file that can be read: {str(error)[:200]}") from error


def _is_text(kind: Any) -> bool:
    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return any(
        is_type(kind)
        for is_type in (types.is_string, types.is_large_string, types.is_string_view, types.is_binary,
                     types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    )  # fmt: skip


def _is_plain(kind: Any) -> bool:
    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    plain = types.is_primitive, types.is_boolean, types.is_decimal, types.is_null
    return any(is_type(kind) for is_type in plain)


def _first_leaves(fields: Iterable[Any]) -> list[int]:
    """Index of the first Parquet leaf column of every column."""
    first_leaves, leaf = [], 0
    for field in fields:
        first_leaves.append(leaf)
        leaf += _leaves(field.type)
    return first_leaves


def _leaves(kind: Any) -> int:
    kind = getattr(kind, "storage_type", kind)  # extension types
    if not kind.num_fields or _is_dictionary(kind):
        return 1
    return sum(_leaves(kind.field(index).type) for index in range(kind.num_fields))


def _is_dictionary(kind: Any) -> bool:
    return bool(types.is_dictionary(kind))


def _cells(column: Any) -> Cells:
    """The values of a column; integers stay exact if some are missing."""
    if _is_text(column.type):
        return _text_cells(column)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_integer(column.type) or types.is_boolean(column.type) or types.is_null(column.type):
        return Cells.of(column.to_pylist())
    if types.is_decimal(column.type):
        return Cells.of(None if value is None else str(value) for value in column.to_pylist())
    if types.is_floating(column.type):
        numbers = _floats(column)
        # Without deduplication, since 0.0 equals -0.0.
        return Cells(numbers, array("i", range(len(numbers))))
    return Cells.of(column.cast("string").to_pylist())


def _text_cells(column: Any) -> Cells:
    """A column of texts or bytes, with every distinct value decoded once."""
    if not types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunks = column.unify_dictionaries().chunks
    values: list[Value | bytes] = list(chunks[0].dictionary.to_pylist()) if chunks else []
    codes = [code for chunk in chunks for code in chunk.indices.to_pylist()]
    return Cells([*values, None], array("i", (len(values) if code is None else code for code in codes)))


def _floats(column: Any) -> list[Value]:
    """Floats with their shortest decimals (float32 0.1 becomes 0.1); NaN becomes None."""
    short = not types.is_float64(column.type)
    values = column.cast("string").to_pylist() if short else column.to_pylist()
    floats = (None if value is None else float(value) for value in values)
    return [None if number is None or number != number else number for number in floats]
