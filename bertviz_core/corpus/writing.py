"""Write the files of a corpus folder atomically, by one process at a time, and read them with checks.

A corpus may come from a stranger, so what a shard's footer declares is checked before any column is read. A text that
many rows share is stored once, and stays one in memory too, as an entry of a dictionary: unpacked it would be there
once for every row, so that a small file could fill the memory.
"""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds
from pyarrow.parquet import FileMetaData, ParquetFile

from bertviz_core.errors import CorpusError
from bertviz_core.isolation.regular_files import open_regular
from bertviz_core.sentences.store.pages import page_sizes
from bertviz_core.tables import atomic_files as files
from bertviz_core.tables.columns import MAX_COLUMNS
from bertviz_core.tables.row_groups import check_counts
from bertviz_core.text import first_line, quoted

LOCK_FILE = "writer.lock"
remove_leftovers = files.remove_leftovers
"""Removes what writers that were killed left behind."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MAX_ROW_GROUPS, OWN_COLUMNS = 1_000_000, 4
"""Row groups of a shard, and columns beside those of the input."""
MAX_FOOTER_NBYTES, TAIL_NBYTES = 128 * 1024**2, 8
"""Bytes of a footer, all of which are read before anything is compared, and of what says its length behind it."""
MAX_NBYTES = 512 * 1024**2
"""Most bytes that the columns read together may take, and the texts of the rows that were asked for."""
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 8, "BYTE_ARRAY": 4}
"""Bytes of a value in memory, of a text its place in a dictionary; 8 of any other that has no length of its own."""
ENTRY_NBYTES = 16
"""Of an entry of a dictionary beside the text itself: where it is, and how long."""
MOST_EXTENTS = 100_000
"""Parts of a file between holes that are counted."""
MAX_RATIO, FREE_NBYTES = 100, 64 * 1024**2
"""Most bytes that a byte of a shard may become, and what every shard may take: written text becomes ten at most."""


def write_whole(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file, whole (bertviz_core.tables.atomic_files.write_whole).

    Raises:
        CorpusError: the disk is full, or refuses for another reason.
    """
    try:
        files.write_whole(path, write)
    except OSError as error:
        raise refusal(path, error) from error


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as a Parquet file, whole (bertviz_core.tables.atomic_files.write_table).

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
    """Hold a folder's lock, which ends with the process.

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
    """Read the footer at a shard's end; a truncated file has none.

    Raises:
        CorpusError: the shard is missing or damaged, or declares more than a shard ever holds.
    """
    with _parquet(path) as (_, file):
        return file.metadata


def read_shard(path: Path, columns: Sequence[str], row_groups: Sequence[int] | None = None) -> pa.Table:
    """Some columns of a shard, of all its row groups or of some; texts as dictionaries.

    Raises:
        CorpusError: as read_footer; or the columns take too much memory.
    """
    with _parquet(path) as (handle, file):
        groups = list(range(file.metadata.num_row_groups)) if row_groups is None else list(row_groups)
        _check_sizes(path, handle, file.metadata, columns, groups)
        table: pa.Table = file.read_row_groups(groups, list(columns))
        table.validate(full=True)  # invalid UTF-8 would crash the process when it is read
        return table


def stored_nbytes(path: Path) -> int:
    """Bytes that a file takes on the disk; holes are not counted.

    Raises:
        CorpusError: it cannot be read.
    """
    try:
        with open_regular(path) as file:
            return _stored_nbytes(file.fileno())
    except OSError as error:
        raise _damaged(path, error) from error


def unpacked(table: pa.Table) -> pa.Table:
    """A small table with its dictionaries decoded.

    Raises:
        CorpusError: they take too much memory.
    """
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
def _parquet(path: Path) -> "Iterator[tuple[BinaryIO, ParquetFile]]":
    """A shard, open, and as Parquet, its footer checked."""
    try:
        with open_regular(path) as handle:
            _check_footer(handle)
            footer = pq.read_metadata(handle)
            counts = (footer.num_columns, footer.num_row_groups)
            if counts[0] > MAX_COLUMNS + OWN_COLUMNS or counts[1] > MAX_ROW_GROUPS:
                raise pa.ArrowInvalid(f"it declares {counts[0]:,} columns and {counts[1]:,} row groups")
            check_counts(footer)
            texts = [field.name for field in footer.schema.to_arrow_schema() if _is_text(field.type)]
            with pq.ParquetFile(handle, metadata=footer, read_dictionary=texts, pre_buffer=False) as file:
                yield handle, file
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> CorpusError:
    """The error for a shard that cannot be read."""
    name = f"{quoted(path.name)} of {quoted(path.parent.parent.name)}"
    if isinstance(error, FileNotFoundError):
        return CorpusError(f"{name} is missing; embed the corpus again.")
    if isinstance(error, OSError) and error.strerror and error.errno:
        return CorpusError(f"{name} cannot be read ({error.strerror}); put the shard itself there, or embed it again.")
    return CorpusError(
        f"{name} is cut off or damaged ({first_line(error, {str(path): 'it'})}); embed the corpus again."
    )


def _check_footer(handle: BinaryIO) -> None:
    """Raise if a footer is implausibly long."""
    end = handle.seek(0, os.SEEK_END)
    handle.seek(max(0, end - TAIL_NBYTES))
    length = int.from_bytes(handle.read(TAIL_NBYTES // 2), "little")
    handle.seek(0)
    if length > MAX_FOOTER_NBYTES:
        raise ValueError(f"it announces a footer of {length:,} bytes")


def _check_sizes(
    path: Path, handle: BinaryIO, footer: "FileMetaData", columns: Sequence[str], row_groups: Sequence[int]
) -> None:
    """Raise if columns would take too much memory, by the footer and the headers of their pages."""
    begun = tuple(f"{name}." for name in columns)  # the parts of a column that has some stand behind its name
    leaves = [
        place
        for place in range(footer.num_columns)
        if (name := footer.schema.column(place).path) in columns or name.startswith(begun)
    ]
    texts = {field.name for field in footer.schema.to_arrow_schema() if _is_text(field.type)}
    chunks = [footer.row_group(group).column(place) for group in row_groups for place in leaves]
    stored = _stored_nbytes(handle.fileno())
    if (announced := sum(abs(chunk.total_compressed_size) for chunk in chunks)) > stored:
        raise ValueError(f"its footer announces {announced:,} bytes, and {stored:,} are stored")
    most = min(MAX_NBYTES, FREE_NBYTES + MAX_RATIO * stored)
    _check_most(path, sum(abs(chunk.total_uncompressed_size) for chunk in chunks), most)
    lengths = [footer.schema.column(place).length for place in leaves] * len(row_groups)
    packed = decoded = 0
    for chunk, length in zip(chunks, lengths, strict=True):
        sizes = page_sizes(handle.fileno(), chunk)
        packed += sizes.nbytes
        longest = 0 if chunk.path_in_schema in texts else sizes.dictionary_nbytes
        decoded += sizes.values * _width(chunk.physical_type, length, longest)
        decoded += sizes.dictionary_values * ENTRY_NBYTES
        _check_most(path, packed, most)
        _check_most(path, decoded, MAX_NBYTES)


def _check_most(path: Path, nbytes: int, most: int) -> None:
    if nbytes > most:
        raise CorpusError(
            f"{quoted(path.name)} of {quoted(path.parent.parent.name)} unpacks to {nbytes / 1024**2:,.0f} MiB; at "
            f"most {most / 1024**2:,.0f} are read of a shard of its size. Embed the corpus again, with fewer rows in a "
            "shard."
        )


def _width(physical_type: str, length: int, longest: int) -> int:
    """Most bytes of a value in memory; for plain texts those of the longest one."""
    if physical_type == "FIXED_LEN_BYTE_ARRAY":
        return max(1, length)
    return WIDTHS.get(physical_type, 8) + (longest if physical_type == "BYTE_ARRAY" else 0)


def _stored_nbytes(descriptor: int) -> int:
    """As stored_nbytes, of an open file; where the system has no holes, its whole size."""
    size = os.fstat(descriptor).st_size
    data, hole = getattr(os, "SEEK_DATA", None), getattr(os, "SEEK_HOLE", None)
    if data is None or hole is None:
        return size
    at = stored = 0
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    for _ in range(MOST_EXTENTS):
        try:
            begin = os.lseek(descriptor, at, data)
            at = os.lseek(descriptor, begin, hole)
        except OSError as error:
            if error.errno != errno.ENXIO:  # a file system without holes
                stored = size
            break
        stored += at - begin
    os.lseek(descriptor, before, os.SEEK_SET)
    return stored


def _is_text(kind: pa.DataType) -> bool:
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_binary(kind))
