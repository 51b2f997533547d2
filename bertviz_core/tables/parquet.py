"""Parquet files and their row groups."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from jaxtyping import Int
from pyarrow import parquet, types
from pyarrow.parquet import FileMetaData, ParquetFile

from bertviz_core.errors import CorpusError, TextError
from bertviz_core.tables.atomic_files import write_whole
from bertviz_core.tables.cells import Cells, Value
from bertviz_core.tables.columns import ANSWERS, check_columns, unique_names
from bertviz_core.tables.decoding import MAX_FILE_NBYTES
from bertviz_core.tables.inputs import InputPlace
from bertviz_core.text import first_line, quoted

BATCH_ROWS = 4096
ROW_GROUP_ROWS = 512
"""Rows of a row group, which are read together."""


def row_group_rows(footer: FileMetaData) -> list[int]:
    """Number of rows of each row group."""
    return [footer.row_group(index).num_rows for index in range(footer.num_row_groups)]


def check_counts(footer: FileMetaData) -> None:
    """Check the row counts of a footer."""
    counts = row_group_rows(footer)
    if sum(counts) != footer.num_rows or min([footer.num_rows, *counts]) < 0:
        raise pa.ArrowInvalid("its footer names two different counts of rows")


def take_rows(file: ParquetFile, columns: Sequence[str], rows: Int[np.ndarray, " rows"]) -> pa.Table:
    """Rows in the given order; only their row groups are read."""
    counts = row_group_rows(file.metadata)
    return take_from_groups(counts, rows, lambda read: file.read_row_groups(read, list(columns), use_threads=False))


def take_from_groups(
    counts: Sequence[int], rows: Int[np.ndarray, " rows"], read: Callable[[list[int]], pa.Table]
) -> pa.Table:
    """Rows in the given order, from their row groups.

    Args:
        counts: rows of each row group.
        rows: numbers of the rows in the file.
        read: reads row groups by their numbers.
    """
    starts = np.cumsum([0, *counts])
    groups = np.searchsorted(starts, rows, side="right") - 1
    group_indices = np.unique(groups)
    table = read(group_indices.tolist())
    # The table begins with the first requested group and omits the groups between that are not requested.
    offsets = np.cumsum([0, *(counts[group] for group in group_indices.tolist())])
    return table.take(pa.array(rows - starts[groups] + offsets[np.searchsorted(group_indices, groups)]))


class ParquetFiles:
    """Reader of Parquet files; positions are row numbers."""

    def __init__(self) -> None:
        """Create a reader."""
        self.text_column: str | None = None

    def schema(self, file: InputPlace) -> pa.Schema:
        """Columns and types, with dictionaries decoded."""
        with _opened(file) as parquet:
            fields = list(parquet.schema_arrow)
        plain = [
            (each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type) for each in fields
        ]
        return pa.schema(plain)

    def positions(self, file: InputPlace, most: int) -> Iterator[list[int]]:
        """Row numbers, in lists of at most `most` rows, followed by the end of the last one."""
        with _opened(file) as parquet:
            count = parquet.metadata.num_rows
        size = min(most, BATCH_ROWS)
        for start in range(0, count, size):
            yield list(range(start, min(start + size, count) + 1))

    def texts(self, file: InputPlace, names: Sequence[str], most: int) -> Iterator[pa.Table]:
        """Some columns, in tables with the sizes of `positions`."""
        schema = self.schema(file)
        plain = pa.schema([schema.field(name) for name in names])
        with _opened(file) as parquet:
            rest: list[pa.Table] = []
            size = min(most, BATCH_ROWS)
            for batch in parquet.iter_batches(size, columns=list(names)):
                rest = [pa.concat_tables([*rest, pa.Table.from_batches([batch]).select(list(names)).cast(plain)])]
                while rest[0].num_rows >= size:
                    yield rest[0].slice(0, size)
                    rest = [rest[0].slice(size)]
            if rest and rest[0].num_rows:
                yield rest[0]

    def table(self, file: InputPlace, start: int, stop: int, schema: pa.Schema | None = None) -> pa.Table:
        """The rows between two positions."""
        with _opened(file) as parquet:
            counts = row_group_rows(parquet.metadata)
            starts = np.cumsum([0, *counts])
            groups = [index for index in range(len(counts)) if starts[index] < stop and starts[index + 1] > start]
            place, parts = int(starts[groups[0]]) if groups else start, []
            for batch in parquet.iter_batches(BATCH_ROWS, row_groups=groups):
                first, last = max(start - place, 0), min(stop - place, batch.num_rows)
                if first < last:
                    parts.append(pa.Table.from_batches([batch]).slice(first, last - first))
                place += batch.num_rows
                if place >= stop:
                    break
        return pa.concat_tables(parts)


@contextmanager
def _opened(file: InputPlace) -> Iterator[ParquetFile]:
    """Open a file; exceptions become CorpusError."""
    try:
        with file.opened() as handle, ParquetFile(handle) as parquet:
            yield parquet
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"{quoted(file.path)} is no whole Parquet file ({first_line(error)}).") from error


def write_table(path: Path, table: pa.Table) -> None:
    """Write a Parquet file atomically, with checksums, and without compression of vectors and keys."""
    vectors = [field.name for field in table.schema if types.is_fixed_size_list(field.type)]
    keys = [field.name for field in table.schema if types.is_fixed_size_binary(field.type)]
    others = [name for name in table.column_names if name not in (*vectors, *keys)]
    plain = dict.fromkeys([*keys, *(f"{name}.list.element" for name in vectors)], "none")
    options = {
        "use_dictionary": others,
        "compression": {**dict.fromkeys(others, "zstd"), **plain},
        "write_page_checksum": True,
    }
    write_whole(path, lambda file: parquet.write_table(table, file, row_group_size=ROW_GROUP_ROWS, **options))


ENDINGS = (".parquet", ".pq")
MAX_UNPACKED_NBYTES = 2 * MAX_FILE_NBYTES
"""Maximum declared size of a column in bytes."""


class ParquetTable:
    """A Parquet file whose columns are read on demand."""

    decimal_comma = False

    def __init__(self, name: str, raw: bytes, check_count: Callable[[int], None]) -> None:
        """Read the footer."""
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
        if types.is_nested(kind) and not _is_answers(self._fields[index]):
            return "holds several values in a cell"
        if types.is_fixed_size_binary(kind) and kind.byte_width * self._rows > MAX_UNPACKED_NBYTES:
            return f"has {kind.byte_width * self._rows / 1024**2:,.0f} MiB"
        if not (types.is_nested(kind) or _is_text(kind) or _is_plain(kind)):
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
        """Read a column."""
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


def _is_answers(field: Any) -> bool:
    """Whether a column has the gold answers of questions as Hugging Face stores those of SQuAD: lists of texts."""
    kind = field.type
    if field.name == ANSWERS and types.is_struct(kind) and kind.get_field_index("text") >= 0:
        kind = kind.field("text").type
    return bool(field.name == ANSWERS and types.is_list(kind) and types.is_string(kind.value_type))


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
    if not kind.num_fields or types.is_dictionary(kind):
        return 1
    return sum(_leaves(kind.field(index).type) for index in range(kind.num_fields))


def _cells(column: Any) -> Cells:
    """The values of a column; integers stay exact if some are missing."""
    if _is_text(column.type):
        return _text_cells(column)
    if types.is_nested(column.type):
        return Cells.of(None if each is None else msgspec.json.encode(each).decode() for each in column.to_pylist())
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
