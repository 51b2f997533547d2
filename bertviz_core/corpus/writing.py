"""Write the files of a corpus folder atomically, by one process at a time, and read them with checks.

A corpus may come from an untrusted source, so a shard's footer is checked before any column is read. A text repeated in
many rows is stored once, and stays dictionary-encoded in memory: unpacked, a small file could fill the memory.
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
from bertviz_core.sentences.store.shards import page_sizes
from bertviz_core.tables import atomic_files as files
from bertviz_core.tables.columns import MAX_COLUMNS
from bertviz_core.tables.parquet import check_counts
from bertviz_core.tables.parquet import write_table as write_parquet
from bertviz_core.text import first_line, quoted

LOCK_FILE = "writer.lock"
remove_leftovers = files.remove_leftovers
"""Removes leftovers of killed writers."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MAX_ROW_GROUPS, OWN_COLUMNS = 1_000_000, 4
"""Maximum number of row groups of a shard, and number of columns besides those of the input."""
MAX_FOOTER_NBYTES, TAIL_NBYTES = 128 * 1024**2, 8
"""Maximum size of a footer, which is read completely before any check, and size of its length field."""
MAX_NBYTES = 512 * 1024**2
"""Maximum size of the columns read together, and of the texts of requested rows, in bytes."""
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 8, "BYTE_ARRAY": 4}
"""Bytes of a value in memory; for a text, its dictionary index; 8 for other types without a fixed width."""
ENTRY_NBYTES = 16
"""Overhead of a dictionary entry in bytes: offset and length."""
MOST_EXTENTS = 100_000
"""Maximum number of counted extents between holes of a file."""
MAX_RATIO, FREE_NBYTES = 100, 64 * 1024**2
"""Maximum expansion of a shard in memory, and size that every shard may take: real text expands at most tenfold."""


def write_whole(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file atomically (bertviz_core.tables.atomic_files.write_whole)."""
    try:
        files.write_whole(path, write)
    except OSError as error:
        raise refusal(path, error) from error


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as a Parquet file atomically (bertviz_core.tables.parquet.write_table)."""
    try:
        write_parquet(path, table)
    except OSError as error:
        raise refusal(path, error) from error


def refusal(path: Path, error: OSError) -> CorpusError:
    """Return the error for a file that could not be written."""
    name = quoted(f"{path.parent.name}/{path.name}")
    if error.errno in NO_ROOM:
        return CorpusError(
            f"There is no room for {name} ({error.strerror}). What was written stays; make room, and the same command "
            "resumes there."
        )
    return CorpusError(f"{name} cannot be written ({error.strerror or error}).")


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; it is released when the process ends."""
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
    """Read the footer at a shard's end; a truncated file has none."""
    with _parquet(path) as (_, file):
        return file.metadata


def read_shard(path: Path, columns: Sequence[str], row_groups: Sequence[int] | None = None) -> pa.Table:
    """Read columns of a shard, of all or some of its row groups; texts as dictionaries."""
    with _parquet(path) as (handle, file):
        groups = list(range(file.metadata.num_row_groups)) if row_groups is None else list(row_groups)
        _check_sizes(path, handle, file.metadata, columns, groups)
        table: pa.Table = file.read_row_groups(groups, list(columns))
        table.validate(full=True)  # invalid UTF-8 would crash the process when it is read
        return table


def stored_nbytes(path: Path) -> int:
    """Return the bytes that a file takes on the disk; holes are not counted."""
    try:
        with open_regular(path) as file:
            return _stored_nbytes(file.fileno())
    except OSError as error:
        raise _damaged(path, error) from error


def unpacked(table: pa.Table) -> pa.Table:
    """Decode the dictionaries of a small table."""
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
                f"The cells of {quoted(field.name)} that were requested take {nbytes / 1024**2:,.0f} MiB; at most "
                f"{MAX_NBYTES // 1024**2:,} are read at once. Ask for fewer rows."
            )
        table = table.set_column(place, field.name, column.cast(field.type.value_type))
    return table


@contextmanager
def _parquet(path: Path) -> "Iterator[tuple[BinaryIO, ParquetFile]]":
    """Open a shard, also as Parquet, with its footer checked."""
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
    """Return the error for a shard that cannot be read."""
    name = f"{quoted(path.name)} of {quoted(path.parent.parent.name)}"
    if isinstance(error, FileNotFoundError):
        return CorpusError(f"{name} is missing; embed the corpus again.")
    if isinstance(error, OSError) and error.strerror and error.errno:
        return CorpusError(f"{name} cannot be read ({error.strerror}); put the shard itself there, or embed it again.")
    return CorpusError(
        f"{name} is cut off or damaged ({first_line(error, {str(path): 'it'})}); embed the corpus again."
    )


def _check_footer(handle: BinaryIO) -> None:
    """Check that a footer has a plausible length."""
    end = handle.seek(0, os.SEEK_END)
    handle.seek(max(0, end - TAIL_NBYTES))
    length = int.from_bytes(handle.read(TAIL_NBYTES // 2), "little")
    handle.seek(0)
    if length > MAX_FOOTER_NBYTES:
        raise ValueError(f"it announces a footer of {length:,} bytes")


def _check_sizes(
    path: Path, handle: BinaryIO, footer: "FileMetaData", columns: Sequence[str], row_groups: Sequence[int]
) -> None:
    """Check the memory needed by columns, by the footer and the headers of their pages."""
    begun = tuple(f"{name}." for name in columns)  # names of nested columns begin with that of their parent
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
    """Return the maximum size of a value in memory in bytes; for plain texts that of the longest."""
    if physical_type == "FIXED_LEN_BYTE_ARRAY":
        return max(1, length)
    return WIDTHS.get(physical_type, 8) + (longest if physical_type == "BYTE_ARRAY" else 0)


def _stored_nbytes(descriptor: int) -> int:
    """Return stored_nbytes of an open file; its whole size on systems without holes."""
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
