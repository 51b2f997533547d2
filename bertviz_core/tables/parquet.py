"""Tables in Parquet: what the footer declares is checked first, then the wanted columns are read, one at a time.

A footer is a stranger's word: sizes that lie are met by the limits of the process (bertviz_core.isolation.run).
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from bertviz_core.errors import TextError
from bertviz_core.tables.cells import Cells, Value
from bertviz_core.tables.columns import check_columns, unique_names
from bertviz_core.tables.decoding import MAX_FILE_NBYTES
from bertviz_core.tables.row_groups import check_counts
from bertviz_core.text import quoted

ENDINGS = (".parquet", ".pq")
MAX_UNPACKED_NBYTES = 2 * MAX_FILE_NBYTES
"""Bytes that one column may declare."""


class ParquetTable:
    """A Parquet file whose columns are read when they are asked for."""

    def __init__(self, name: str, raw: bytes, check_count: Callable[[int], None]) -> None:
        """Reads the footer alone.

        Args:
            name: name of the file.
            raw: its bytes.
            check_count: told the count of rows before they are read; may raise to stop the reading.

        Raises:
            TextError: the file is none, is damaged, has too many columns or contradicts itself.
        """
        import pyarrow
        import pyarrow.parquet

        self._name = name
        with _refusals(name):
            metadata = pyarrow.parquet.read_metadata(pyarrow.BufferReader(raw))
            check_columns(name, metadata.num_columns)
            check_counts(metadata)
            groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
            self._rows = metadata.num_rows
            check_count(self._rows)
            kinds = metadata.schema.to_arrow_schema()
            texts = [text_field.name for text_field in kinds if _is_text(text_field.type)]
            # A dictionary unpacked takes the text anew for every row: a file of a few kilobytes could fill the memory.
            self._file = pyarrow.parquet.ParquetFile(
                pyarrow.BufferReader(raw), metadata=metadata, read_dictionary=texts, pre_buffer=False
            )
            self._fields = list(self._file.schema_arrow)
            self._groups, self._leaves = groups, _first_leaves(self._fields)
        self._given = [field.name for field in self._fields]
        check_columns(name, len(self._given))
        self.names = unique_names(self._given)
        self._read: tuple[str, list[Any]] = "", []

    def reason(self, index: int) -> str:
        """Why a column cannot be read: its type, or its size."""
        import pyarrow.types as types

        kind = self._fields[index].type
        if types.is_nested(kind):
            return "holds several values in a cell"
        if types.is_fixed_size_binary(kind) and kind.byte_width * self._rows > MAX_UNPACKED_NBYTES:
            return f"has {kind.byte_width * self._rows / 1024**2:,.0f} MiB"
        if not (_is_text(kind) or _is_plain(kind)):
            return f"is of a type that is not read ({str(kind)[:60]})"
        alike = [other_index for other_index, other_name in enumerate(self._given) if other_name == self._given[index]]
        size = sum(
            self.declared_nbytes(namesake) for namesake in alike
        )  # columns of one name can be read only together
        return f"unpacks to {size / 1024**2:,.0f} MiB" if size > MAX_UNPACKED_NBYTES else ""

    def may_hold_texts(self, index: int) -> bool:
        """Whether texts may stand in a column, by its declared type."""
        return _is_text(self._fields[index].type)

    def declared_nbytes(self, index: int) -> int:
        """Bytes that the footer says a column takes, unpacked."""
        import pyarrow.types as types

        kind, leaf = self._fields[index].type, self._leaves[index]
        wide: int = kind.byte_width * self._rows if types.is_fixed_size_binary(kind) else 0
        declared = (abs(int(group.column(leaf).total_uncompressed_size)) for group in self._groups)
        return max(wide, sum(declared))

    def cells(self, index: int) -> Cells:
        """A column.

        Raises:
            TextError: it is damaged, or its values cannot be shown.
        """
        with _refusals(self._name):
            stored_name = self._given[index]
            if self._read[0] != stored_name or not self._read[1]:
                self._read = "", []
                table = self._file.read(columns=[stored_name], use_threads=False, use_pandas_metadata=False)
                namesakes = [
                    column
                    for name, column in zip(table.column_names, table.columns, strict=True)
                    if name == stored_name
                ]
                self._read = stored_name, namesakes
            column = self._read[1][self._given[:index].count(stored_name)]
            if len(column) != self._rows:
                raise ValueError(f"{len(column):,} rows where the footer names {self._rows:,}")
            return _cells(column)


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """A context in which what the library raises for a damaged file becomes a refusal.

    Raises:
        TextError: the file cannot be read.
    """
    import pyarrow

    try:
        yield
    except MemoryError:  # also one of pyarrow's
        raise
    except (pyarrow.ArrowException, OSError, ValueError, IndexError, KeyError) as error:
        raise TextError(f"{quoted(name)} is no Parquet file that can be read: {str(error)[:200]}") from error


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return any(
        is_type(kind)
        for is_type in (types.is_string, types.is_large_string, types.is_string_view, types.is_binary,
                     types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    )  # fmt: skip


def _is_plain(kind: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    plain = types.is_primitive, types.is_boolean, types.is_decimal, types.is_null
    return any(is_type(kind) for is_type in plain)


def _first_leaves(fields: Iterable[Any]) -> list[int]:
    """For every column the place of its first part among the parts that Parquet stores."""
    first_leaves, leaf = [], 0
    for field in fields:
        first_leaves.append(leaf)
        leaf += _leaves(field.type)
    return first_leaves


def _leaves(kind: Any) -> int:
    kind = getattr(kind, "storage_type", kind)  # of an extension
    if not kind.num_fields or _is_dictionary(kind):
        return 1
    return sum(_leaves(kind.field(index).type) for index in range(kind.num_fields))


def _is_dictionary(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_dictionary(kind))


def _cells(column: Any) -> Cells:
    """A column's values, whole numbers exactly and also where some are missing."""
    import pyarrow.types as types

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
        return Cells(
            numbers, array("i", range(len(numbers)))
        )  # each of its own: 0.0 equals -0.0, which reads otherwise
    words = column.cast("string").to_pylist()
    return Cells.of(word and _without_zeros(word) for word in words)


def _text_cells(column: Any) -> Cells:
    """A column of texts or bytes; no value is unpacked once for every row."""
    import pyarrow.types as types

    if not types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunks = column.unify_dictionaries().chunks
    values: list[Value | bytes] = list(chunks[0].dictionary.to_pylist()) if chunks else []
    codes = [code for chunk in chunks for code in chunk.indices.to_pylist()]
    return Cells([*values, None], array("i", (len(values) if code is None else code for code in codes)))


def _floats(column: Any) -> list[Value]:
    """Numbers as they are written: 0.1 of 32 bits is 0.1; what is no number is missing."""
    import pyarrow.types as types

    short = not types.is_float64(column.type)
    values = column.cast("string").to_pylist() if short else column.to_pylist()
    floats = (None if value is None else float(value) for value in values)
    return [None if number is None or number != number else number for number in floats]


def _without_zeros(word: str) -> str:
    """A time without the fractions of a second that it has not."""
    return word.rstrip("0").rstrip(".") if "." in word else word
