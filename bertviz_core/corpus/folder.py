"""Folders of corpora: what is in one, which there are, and the values of its columns."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from jaxtyping import Bool, Float, Int

from bertviz_core.corpus.manifest import read_manifest
from bertviz_core.corpus.results import ColumnKind, Manifest
from bertviz_core.corpus.writing import MAX_NBYTES, read_footer, read_shard, stored_nbytes, unpacked, write_whole
from bertviz_core.errors import CorpusError
from bertviz_core.sentences.store.vectors import VectorFile
from bertviz_core.tables.parquet import row_group_rows, take_from_groups
from bertviz_core.text import counted, quoted

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
        name: name of the column, for messages.
        value: the value as text; null for missing cells; a text may be quoted.
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


SHARDS_FOLDER = "shards"
VECTORS_FILE = "vectors.npy"
VECTOR_COLUMN, TEXT_COLUMN, TOKENS_COLUMN, TRUNCATED_COLUMN = "vector", "text", "tokens", "truncated"
OWN_COLUMNS = (TEXT_COLUMN, TOKENS_COLUMN, TRUNCATED_COLUMN, VECTOR_COLUMN)
"""Columns that a corpus adds to those of the input."""
FOOTER_READERS = 8
"""Number of footers read at once: each waits for the disk."""
SHARDS_AT_ONCE = 1_024
"""Number of shards that wait for these readers."""


def shard_path(folder: Path, index: int) -> Path:
    """Return the path of a shard by its number."""
    return folder / SHARDS_FOLDER / f"part-{index:05d}.parquet"


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """An opened corpus; only the manifest and the sizes of the shards are in memory.

    A shard that is changed or deleted while the corpus is open raises an error when it is next read.
    """

    path: Path
    """Folder of the corpus."""
    manifest: Manifest
    """Manifest of the corpus."""
    starts: Int[np.ndarray, " starts"]
    """First row of every shard, and the total number of rows."""
    columns: Mapping[str, ColumnKind]
    """Kinds of all columns except the vectors: those of the input, then text (if stored), tokens and truncated."""
    fingerprint: str
    """Digest of the manifest and of sizes and times of the shards, which changes when the corpus does."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.manifest.rows

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.manifest.dimensions

    def vectors(self) -> VectorFile:
        """Open all vectors, (rows, dimensions) in the manifest's format, read lazily from their file.

        A missing or incomplete file is rebuilt from the shards.
        """
        path, shape = self.path / VECTORS_FILE, (self.rows, self.dimensions)
        file = _vector_file(path)
        if file is None or file.shape != shape or file.dtype != np.dtype(self.manifest.vector_dtype):
            write_vectors(self)
            file = _vector_file(path)
        if file is None:
            raise CorpusError(f"{VECTORS_FILE} of {quoted(self.path.name)} cannot be read; embed the corpus again.")
        return file

    def blocks(self, size: int) -> Iterator[tuple[int, Float[np.ndarray, "block dimensions"]]]:
        """Yield the vectors in float32, block by block: the first row of each, and the vectors.

        Args:
            size: maximum number of rows of a block.
        """
        vectors = self.vectors()
        for start in range(0, self.rows, size):
            yield start, np.asarray(vectors[start : start + size], dtype=np.float32)

    def column(self, name: str) -> pa.ChunkedArray:
        """Read a whole column in row order; texts as dictionaries per row group."""
        self._check_columns([name])
        parts, nbytes = [], 0
        for shard in range(self.manifest.shards):
            parts.append(self._table(shard, [name]).column(name))
            nbytes += parts[-1].nbytes
            if nbytes > MAX_NBYTES:
                raise CorpusError(
                    f"The column {quoted(name)} of {quoted(self.path.name)} takes more than {MAX_NBYTES // 1024**2} "
                    "MiB and is not read whole; choose a column of shorter values."
                )
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=parts[0].type)

    def read(self, rows: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Read rows in the requested order, with some columns ("vector" may be among them).

        Only their row groups are read.
        """
        self._check_columns([name for name in columns if name != VECTOR_COLUMN])
        indices = np.asarray(rows, dtype=np.int64)
        if indices.size and not 0 <= indices.min() <= indices.max() < self.rows:
            raise IndexError(f"rows 0 to {self.rows - 1} are there")
        shards = np.searchsorted(self.starts, indices, side="right") - 1
        parts, order = [unpacked(self._table(0, columns, []))], []
        for shard in np.unique(shards).tolist():
            places = np.flatnonzero(shards == shard)
            parts.append(self._rows(shard, indices[places] - self.starts[shard], columns))
            order.append(places)
        back = np.argsort(np.concatenate(order)) if order else np.zeros(0, dtype=np.int64)
        return pa.concat_tables(parts).take(pa.array(back))

    def mask(self, where: str) -> Bool[np.ndarray, " rows"]:
        """Return which rows have a value in a column, read shard by shard: memory grows with the mask alone.

        Args:
            where: "column=value" with a number, true or false, a day or time, or a text; "column=null" for missing
                cells; the word null itself is quoted.
        """
        name, equals, value = where.partition("=")
        name = name.strip()
        if not equals:
            raise CorpusError(f"The filter {quoted(where)} has no equals sign; write it as column=value.")
        self._check_columns([name])
        shards = range(self.manifest.shards)
        return np.concatenate([matching(self._table(shard, [name]).column(name), name, value) for shard in shards])

    def _rows(self, shard: int, places: Int[np.ndarray, " places"], columns: Sequence[str]) -> pa.Table:
        """Read rows of a shard, by their index in it, in the requested order."""
        counts = row_group_rows(read_footer(shard_path(self.path, shard)))
        return unpacked(take_from_groups(counts, places, lambda groups: self._table(shard, columns, groups)))

    def _table(self, shard: int, columns: Sequence[str], row_groups: list[int] | None = None) -> pa.Table:
        """Read columns of a shard, of all or some of its row groups."""
        return read_shard(shard_path(self.path, shard), columns, row_groups)

    def _check_columns(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.columns:
                known = ", ".join(map(quoted, self.columns))
                raise CorpusError(f"The corpus has no column {quoted(name)}; it has {known}.")


def open_corpus(path: Path) -> Corpus:
    """Open a complete corpus."""
    manifest = read_manifest(path)
    name = quoted(path.name)
    if not manifest.complete:
        there = len(list((path / SHARDS_FOLDER).glob("*.parquet")))
        raise CorpusError(
            f"The corpus {name} is not finished: {there:,} of its {counted(manifest.shards, 'shard')} are there. "
            "The command that made them resumes when it is run again."
        )
    return opened(path, manifest)


def write_vectors(corpus: Corpus) -> None:
    """Write the file of all vectors from the shards."""

    def write(file: BinaryIO) -> None:
        dtype, shape = np.dtype(corpus.manifest.vector_dtype), (corpus.rows, corpus.dimensions)
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for shard in range(corpus.manifest.shards):
            for group in range(read_footer(shard_path(corpus.path, shard)).num_row_groups):
                for chunk in corpus._table(shard, [VECTOR_COLUMN], [group]).column(VECTOR_COLUMN).chunks:
                    numbers = chunk.flatten()  # drops null vectors
                    if numbers.null_count or len(numbers) != len(chunk) * corpus.dimensions:
                        raise CorpusError(
                            f"{quoted(shard_path(corpus.path, shard).name)} of {quoted(corpus.path.name)} has rows "
                            "without a whole vector; embed the corpus again."
                        )
                    file.write(np.ascontiguousarray(numbers.to_numpy(), dtype=dtype).data)

    write_whole(corpus.path / VECTORS_FILE, write)


def opened(path: Path, manifest: Manifest) -> Corpus:
    """Open the corpus of a manifest, and check its shards."""
    _check_present(path, manifest)
    columns = read_footer(shard_path(path, 0)).schema.to_arrow_schema()
    digest = hashlib.sha256(repr(manifest).encode("utf-8", "backslashreplace"))
    counts, nbytes = np.zeros(manifest.shards, dtype=np.int64), 0
    for index, facts in enumerate(_shard_facts(path, manifest, columns)):
        counts[index] = facts.rows
        nbytes += facts.stored_nbytes
        digest.update(f"{facts.nbytes} {facts.modified_ns};".encode())
    starts = np.concatenate([[0], np.cumsum(counts)])
    if starts[-1] != manifest.rows:
        raise CorpusError(
            f"The shards of {quoted(path.name)} have {counted(int(starts[-1]), 'row')}, and its manifest says "
            f"{manifest.rows:,}; embed the corpus again."
        )
    needed = manifest.rows * manifest.dimensions * np.dtype(manifest.vector_dtype).itemsize
    if nbytes < needed:  # vectors are stored uncompressed, so no shard is smaller than its vectors
        raise CorpusError(
            f"The shards of {quoted(path.name)} have {nbytes:,} bytes, and its {counted(manifest.rows, 'vector')} "
            f"alone take {needed:,}; embed the corpus again."
        )
    kinds = {field.name: column_kind(field.type) for field in columns if field.name != VECTOR_COLUMN}
    return Corpus(path, manifest, starts, kinds, digest.hexdigest())


class _ShardFacts(NamedTuple):
    """What an opened corpus has to know of a shard; its footer takes a thousand times as much memory."""

    rows: int
    nbytes: int
    stored_nbytes: int
    modified_ns: int


def _shard_facts(path: Path, manifest: Manifest, columns: pa.Schema) -> Iterator[_ShardFacts]:
    """Read the footers of all shards, some at once, and yield the facts in order; no footer is kept."""

    def facts(index: int) -> _ShardFacts:
        shard = shard_path(path, index)
        footer = read_footer(shard)
        if trouble := _shard_trouble(manifest, footer.schema.to_arrow_schema(), columns):
            raise CorpusError(f"{quoted(shard.name)} of {quoted(path.name)} {trouble}; embed the corpus again.")
        try:
            state = shard.stat()
        except OSError as error:
            raise CorpusError(
                f"{quoted(shard.name)} of {quoted(path.name)} has gone while it was looked at ({error.strerror}); try "
                "again."
            ) from error
        return _ShardFacts(footer.num_rows, state.st_size, stored_nbytes(shard), state.st_mtime_ns)

    with ThreadPoolExecutor(FOOTER_READERS) as pool:
        for start in range(0, manifest.shards, SHARDS_AT_ONCE):
            yield from pool.map(facts, range(start, min(start + SHARDS_AT_ONCE, manifest.shards)))


def _check_present(path: Path, manifest: Manifest) -> None:
    """Check that there are as many shards as the manifest states."""
    try:
        with os.scandir(path / SHARDS_FOLDER) as entries:
            there = sum(entry.name.endswith(".parquet") for entry in entries)
    except OSError:
        there = 0
    if there < manifest.shards:
        first = next((index for index in range(manifest.shards) if not shard_path(path, index).exists()), 0)
        raise CorpusError(
            f"{quoted(shard_path(path, first).name)} of {quoted(path.name)} is missing: {there:,} of its "
            f"{counted(manifest.shards, 'shard')} are there; embed the corpus again."
        )


def _shard_trouble(manifest: Manifest, schema: pa.Schema, first: pa.Schema) -> str:
    """Describe how the columns of a shard differ from the manifest; "" if they do not."""
    own = [name for name in OWN_COLUMNS if name != TEXT_COLUMN or manifest.text_column is not None]
    if schema.names != [*(column.name for column in manifest.columns), *own]:
        return "has other columns than the manifest says"
    if not schema.equals(first):
        return "has columns of other types than the first shard"
    vector = schema.field(VECTOR_COLUMN).type
    value = {"float16": pa.float16(), "float32": pa.float32()}[manifest.vector_dtype]
    if not (pa.types.is_fixed_size_list(vector) and vector.value_type == value):
        return f"has vectors that are not in {manifest.vector_dtype}"
    if vector.list_size != manifest.dimensions:
        return f"has vectors of {vector.list_size:,} numbers, and the manifest says {manifest.dimensions:,}"
    return ""


def _vector_file(path: Path) -> VectorFile | None:
    """Open the file of all vectors; None if there is no complete one."""
    try:
        return VectorFile(path)
    except (OSError, ValueError, OverflowError):
        return None
