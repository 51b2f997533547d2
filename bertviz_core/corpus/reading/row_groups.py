"""Parquet files: the rows between two numbers, however the file is cut into row groups."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.corpus.reading.places import InputPlace
from bertviz_core.errors import CorpusError
from bertviz_core.text import first_line, quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

BATCH_ROWS = 4096


class ParquetFiles:
    """Files of a typed table; a place in one is the number of a row."""

    def __init__(self) -> None:
        """A reader."""
        self.text_column: str | None = None

    def schema(self, file: InputPlace) -> "pa.Schema":
        """Columns and types, dictionaries as their values.

        Raises:
            CorpusError: the file is cut off or damaged.
        """
        import pyarrow as pa

        with _opened(file) as parquet:
            fields = list(parquet.schema_arrow)
        plain = [
            (each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type) for each in fields
        ]
        return pa.schema(plain)

    def positions(self, file: InputPlace, most: int) -> Iterator[list[int]]:
        """Numbers of rows, in lists of at most so many, each with the number behind its last one."""
        with _opened(file) as parquet:
            count = parquet.metadata.num_rows
        size = min(most, BATCH_ROWS)
        for start in range(0, count, size):
            yield list(range(start, min(start + size, count) + 1))

    def texts(self, file: InputPlace, name: str, most: int) -> Iterator["pa.Table"]:
        """A column alone from the first row on, in tables of the size of `positions`."""
        import pyarrow as pa

        plain = pa.schema([self.schema(file).field(name)])
        with _opened(file) as parquet:
            rest: list[pa.Table] = []
            size = min(most, BATCH_ROWS)
            for batch in parquet.iter_batches(size, columns=[name]):
                rest = [pa.concat_tables([*rest, pa.Table.from_batches([batch]).select([name]).cast(plain)])]
                while rest[0].num_rows >= size:
                    yield rest[0].slice(0, size)
                    rest = [rest[0].slice(size)]
            if rest and rest[0].num_rows:
                yield rest[0]

    def table(self, file: InputPlace, start: int, stop: int, schema: "pa.Schema | None" = None) -> "pa.Table":
        """The rows between two numbers.

        Raises:
            CorpusError: the file is damaged.
        """
        import pyarrow as pa

        with _opened(file) as parquet:
            counts = [parquet.metadata.row_group(index).num_rows for index in range(parquet.num_row_groups)]
            starts = np.concatenate([[0], np.cumsum(counts)])
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
def _opened(file: InputPlace) -> Iterator["ParquetFile"]:
    """The file, what goes wrong with it in a sentence."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        with file.opened() as handle, ParquetFile(handle) as parquet:
            yield parquet
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"{quoted(file.path)} is no whole Parquet file ({first_line(error)}).") from error
