"""A corpus folder's files: written whole or not at all, by one process at a time, and read with suspicion.

A corpus may come from a stranger, so what a shard's footer declares is checked before any column is read. A text that
many rows share is stored once, and stays one in memory too, as an entry of a dictionary: unpacked it would be there
once for every row, so that a small file could fill the memory.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bertviz_core.errors import CorpusError
from bertviz_core.isolation.own_files import open_regular
from bertviz_core.tables import files
from bertviz_core.tables.columns import MAX_COLUMNS
from bertviz_core.tables.row_groups import check_counts
from bertviz_core.text import first_line, quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData, ParquetFile

LOCK_FILE = "writer.lock"
remove_parts = files.remove_parts
"""Removes what writers that were killed left behind."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MAX_ROW_GROUPS, OWN_COLUMNS = 1_000_000, 4
"""Row groups of a shard, and columns beside those of the input."""
MAX_NBYTES = 2 * 1024**3
"""Most bytes that the columns read together may take, and the texts of the rows that were asked for."""
MAX_RATIO, FREE_NBYTES = 100, 64 * 1024**2
"""Most bytes that a byte of a shard may become, and what every shard may take: written text becomes ten at most."""


def write_whole(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file, whole (bertviz_core.tables.files.write_whole).

    Raises:
        CorpusError: the disk is full, or refuses for another reason.
    """
    try:
        files.write_whole(path, write)
    except OSError as error:
        raise refusal(path, error) from error


def write_table(path: Path, table: "pa.Table") -> None:
    """Write a table as a Parquet file, whole (bertviz_core.tables.files.write_table).

    Raises:
        CorpusError: as write_whole.
    """
    try:
        files.write_table(path, table)
    except OSError as error:
        raise refusal(path, error) from error


def refusal(path: Path, error: OSError) -> CorpusError:
    """The error for a file that could not be written."""
    name = quoted(f"{path.parent.name}/{path.name}")
    if error.errno in NO_ROOM:
        return CorpusError(
            f"There is no room for {name} ({error.strerror}). What was written stays; make room, and the same command "
            "goes on from there."
        )
    return CorpusError(f"{name} cannot be written ({error.strerror or error}).")


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; it ends with the process that holds it, however that ends.

    Raises:
        CorpusError: another process holds it, or the folder cannot be written to.
    """
    import fcntl

    path = folder / LOCK_FILE
    try:
        file = path.open("a")
    except OSError as error:
        raise refusal(path, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CorpusError(
                f"Another process is writing to {quoted(str(folder))}; wait until it has ended, or give another folder."
            ) from error
        yield


def read_footer(path: Path) -> "FileMetaData":
    """The footer of a shard, which stands at its end, so that a file that was cut off has none.

    Raises:
        CorpusError: the shard is missing or damaged, or declares more than a shard ever holds.
    """
    with _parquet(path) as file:
        return file.metadata


def read_shard(path: Path, columns: Sequence[str], row_groups: Sequence[int] | None = None) -> "pa.Table":
    """Some columns of a shard, of all its row groups or of some; texts as dictionaries.

    Raises:
        CorpusError: as read_footer; or the columns take too much memory.
    """
    with _parquet(path) as file:
        groups = list(range(file.metadata.num_row_groups)) if row_groups is None else list(row_groups)
        _check_declared(path, file.metadata, columns, groups)
        table: pa.Table = file.read_row_groups(groups, list(columns))
        return table


def unpacked(table: "pa.Table") -> "pa.Table":
    """A table of few rows with its texts in the cells themselves.

    Raises:
        CorpusError: they take too much memory.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, field in enumerate(table.schema):
        if not pa.types.is_dictionary(field.type):
            continue
        column = table.column(place)
        nbytes = 0
        for chunk in column.chunks:
            lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
            nbytes += pc.sum(lengths).as_py() or 0
        if nbytes > MAX_NBYTES:
            raise CorpusError(
                f"The cells of {quoted(field.name)} that were asked for take {nbytes / 1024**2:,.0f} MiB; at most "
                f"{MAX_NBYTES // 1024**2:,} are read at once. Ask for fewer rows."
            )
        table = table.set_column(place, field.name, column.cast(field.type.value_type))
    return table


@contextmanager
def _parquet(path: Path) -> "Iterator[ParquetFile]":
    """A shard opened as Parquet, its footer checked.

    Raises:
        CorpusError: as read_footer; also where reading fails while it is open.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_regular(path) as handle:
            footer = pq.read_metadata(handle)
            counts = (footer.num_columns, footer.num_row_groups)
            if counts[0] > MAX_COLUMNS + OWN_COLUMNS or counts[1] > MAX_ROW_GROUPS:
                raise pa.ArrowInvalid(f"it declares {counts[0]:,} columns and {counts[1]:,} row groups")
            check_counts(footer)
            texts = [field.name for field in footer.schema.to_arrow_schema() if _is_text(field.type)]
            with pq.ParquetFile(handle, metadata=footer, read_dictionary=texts, pre_buffer=False) as file:
                yield file
    except FileNotFoundError as error:
        raise CorpusError(
            f"{quoted(path.name)} of {quoted(path.parent.parent.name)} is missing; embed the corpus again."
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise CorpusError(
            f"{quoted(path.name)} of {quoted(path.parent.parent.name)} is cut off or damaged "
            f"({first_line(error, {str(path): 'it'})}); embed the corpus again."
        ) from error


def _check_declared(path: Path, footer: "FileMetaData", columns: Sequence[str], row_groups: Sequence[int]) -> None:
    """Refuse to read columns that take too much, by what the footer declares.

    Raises:
        CorpusError: with both sizes.
    """
    names = set(columns)
    leaves = [
        place for place in range(footer.num_columns) if footer.schema.column(place).path.partition(".")[0] in names
    ]
    declared = sum(
        abs(footer.row_group(group).column(place).total_uncompressed_size) for group in row_groups for place in leaves
    )
    most = min(MAX_NBYTES, FREE_NBYTES + MAX_RATIO * path.stat().st_size)
    if declared > most:
        raise CorpusError(
            f"{quoted(path.name)} of {quoted(path.parent.parent.name)} unpacks to {declared / 1024**2:,.0f} MiB; at "
            f"most {most / 1024**2:,.0f} are read of a shard of its size. Embed the corpus again, with fewer rows in a "
            "shard."
        )


def _is_text(kind: "pa.DataType") -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_binary(kind))
