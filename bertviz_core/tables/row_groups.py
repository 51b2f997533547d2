"""Write Parquet files in row groups, and read rows by number across them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Int
from pyarrow import parquet, types
from pyarrow.parquet import FileMetaData, ParquetFile

from bertviz_core.errors import CorpusError
from bertviz_core.tables.atomic_files import write_whole
from bertviz_core.tables.inputs import InputPlace
from bertviz_core.text import first_line, quoted

BATCH_ROWS = 4096
ROW_GROUP_ROWS = 512
"""Rows of a row group, which are read together."""


def row_group_rows(footer: FileMetaData) -> list[int]:
    """Number of rows of each row group."""
    return [footer.row_group(index).num_rows for index in range(footer.num_row_groups)]


def check_counts(footer: FileMetaData) -> None:
    """Check the row counts of a footer.

    Raises:
        ArrowInvalid: they are negative or inconsistent.
    """
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
        """Columns and types, with dictionaries decoded.

        Raises:
            CorpusError: the file is damaged.
        """
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
        """The rows between two positions.

        Raises:
            CorpusError: the file is damaged.
        """
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
    """Write a Parquet file atomically, with checksums, and without compression of vectors and keys.

    Raises:
        OSError: the file cannot be written.
    """
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
