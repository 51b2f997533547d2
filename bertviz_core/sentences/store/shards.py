"""Pages and shards of the store, and its export."""

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from jaxtyping import Bool, Float, Int, UInt64
from pyarrow.parquet import ParquetFile

from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.results import SentenceVectors
from bertviz_core.sentences.store.keys import KEY_NBYTES
from bertviz_core.tables.parquet import take_rows, write_table
from bertviz_core.text import first_line, formula_safe

KEY, VECTOR, TOKENS, TRUNCATED = COLUMNS = ("key", "vector", "tokens", "truncated")


class DamagedShardError(Exception):
    """The file is no complete shard of the store; the message gives the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredVectors:
    """Vectors of sentences with their numbers of tokens."""

    vectors: Float[np.ndarray, "sentences dimensions"]
    """Vectors, float32."""
    tokens: Int[np.ndarray, " sentences"]
    """Number of tokens of each sentence."""
    truncated: Bool[np.ndarray, " sentences"]
    """Whether tokens were cut off."""

    @classmethod
    def joined(cls, parts: "Sequence[StoredVectors]") -> "StoredVectors":
        """Concatenate vectors of one length."""
        return cls(
            np.concatenate([part.vectors for part in parts]),
            np.concatenate([part.tokens for part in parts]),
            np.concatenate([part.truncated for part in parts]),
        )


def write_shard(path: Path, keys: UInt64[np.ndarray, "sentences 2"], stored: StoredVectors) -> None:
    """Write a shard atomically."""
    raw = pa.py_buffer(np.ascontiguousarray(keys, dtype="<u8"))
    vectors = np.ascontiguousarray(stored.vectors, dtype=np.float32)
    columns = {
        KEY: pa.FixedSizeBinaryArray.from_buffers(pa.binary(KEY_NBYTES), len(keys), [None, raw]),
        VECTOR: pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]),
        TOKENS: pa.array(stored.tokens, pa.int32()),
        TRUNCATED: pa.array(stored.truncated, pa.bool_()),
    }
    write_table(path, pa.table(columns))


def shard_keys(path: Path) -> UInt64[np.ndarray, "sentences 2"]:
    """Return the keys of a shard, in the order of its rows."""
    column = _table(path, (KEY,)).column(KEY).combine_chunks()
    raw = memoryview(column.buffers()[1])[column.offset * KEY_NBYTES : (column.offset + len(column)) * KEY_NBYTES]
    return np.frombuffer(raw, dtype="<u8").reshape(len(column), 2)


def shard_rows(path: Path, rows: Int[np.ndarray, " rows"] | None = None) -> StoredVectors:
    """Return rows of a shard in the requested order, or all; only their row groups are read."""
    table = _table(path, COLUMNS[1:], rows)
    column = table.column(VECTOR).combine_chunks()
    vectors = column.flatten().to_numpy().reshape(len(table), column.type.list_size)
    tokens, truncated = (table.column(name).to_numpy() for name in (TOKENS, TRUNCATED))
    return StoredVectors(vectors, tokens.astype(np.int64), truncated.astype(np.bool_))


def shard_dimensions(path: Path) -> int:
    """Return the length of a shard's vectors."""
    return int(_table(path, (VECTOR,), np.zeros(0, dtype=np.int64)).schema.field(VECTOR).type.list_size)


def _table(path: Path, columns: Sequence[str], rows: Int[np.ndarray, " rows"] | None = None) -> pa.Table:
    try:
        with ParquetFile(path, page_checksum_verification=True) as file:
            if not _is_shard(file):
                raise DamagedShardError("its columns are none of the store's")
            if rows is None:
                return file.read(list(columns), use_threads=False)
            return take_rows(file, columns, rows)
    except OSError as error:
        if error.errno is not None:
            raise
        raise DamagedShardError(first_line(error, {str(path): "it"})) from error
    except (pa.ArrowException, ValueError) as error:
        raise DamagedShardError(first_line(error, {str(path): "it"})) from error


def _is_shard(file: "ParquetFile") -> bool:
    schema = file.schema_arrow
    if tuple(schema.names) != COLUMNS:
        return False
    vector = schema.field(VECTOR).type
    return bool(
        schema.field(KEY).type == pa.binary(KEY_NBYTES)
        and pa.types.is_fixed_size_list(vector)
        and vector.value_type == pa.float32()
        and schema.field(TOKENS).type == pa.int32()
        and schema.field(TRUNCATED).type == pa.bool_()
    )


class KeyIndex:
    """Finds the shard and row of keys; later shards override earlier ones."""

    def __init__(self, keys_of: Mapping[str, UInt64[np.ndarray, "sentences 2"]]) -> None:
        """Index shards, name -> keys, in the order of their creation."""
        self.names = tuple(keys_of)
        self._starts = np.cumsum([0, *map(len, keys_of.values())])
        self._keys = np.concatenate([np.zeros((0, 2), dtype=np.uint64), *keys_of.values()])
        # The keys are random numbers, so the first half is nearly always unique.
        self._order = np.argsort(self._keys[:, 0], kind="stable")
        self._sorted = self._keys[self._order, 0]

    def keys_of(self, name: str) -> UInt64[np.ndarray, "sentences 2"]:
        """Return the keys of one shard."""
        place = self.names.index(name)
        return self._keys[self._starts[place] : self._starts[place + 1]]

    def find(self, keys: UInt64[np.ndarray, "keys 2"]) -> tuple[Int[np.ndarray, " keys"], Int[np.ndarray, " keys"]]:
        """Return, for every key, the index of its shard in `names`, -1 for none, and its row there."""
        if not len(self._keys):
            return np.full(len(keys), -1), np.zeros(len(keys), dtype=np.int64)
        at = np.searchsorted(self._sorted, keys[:, 0], side="right") - 1
        place = self._order[np.maximum(at, 0)]
        there = (self._keys[place] == keys).all(axis=1)
        shard = np.searchsorted(self._starts, place, side="right") - 1
        return np.where(there, shard, -1), place - self._starts[shard]


if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData

FIRST_NBYTES, MOST_NBYTES = 2_048, 64 * 1024
"""Bytes read first for a header, and its maximum size; Arrow writes 10 kB at most."""
MOST_PAGES, MOST_DEPTH = 10_000, 8
"""Maximum number of pages of a column in a row group, usually of a megabyte each; nesting depth of structs in a
header."""
UNPACKED, PACKED, DATA, DICTIONARY, DATA_V2 = 2, 3, 5, 7, 8
"""Field ids of a header: bytes of the page in memory and in the file, and the structs of each kind of page."""
VALUES = 1
"""Field of each kind of page with its number of values."""
STOP, TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, TEXT, LIST, SET, MAP, STRUCT = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
)


@dataclass(frozen=True, slots=True)
class PageSizes:
    """Sizes in memory of the pages of one column of one row group."""

    nbytes: int
    """Size of all pages in memory in bytes."""
    values: int
    """Number of decoded values; those of a dictionary page are not counted."""
    dictionary_nbytes: int
    """Size of the dictionary page in bytes; 0 if there is none."""
    dictionary_values: int
    """Number of values of the dictionary."""


def page_sizes(descriptor: int, column: "ColumnChunkMetaData") -> PageSizes:
    """Return the sizes stated by the headers of a column's pages.

    Args:
        descriptor: file descriptor of the open file.
        column: metadata of the column in the footer.
    """
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    nbytes = values = dictionary_nbytes = dictionary_values = 0
    for header in _headers(descriptor, at, at + column.total_compressed_size):
        nbytes += header[UNPACKED]
        if isinstance(header.get(DICTIONARY), dict):
            dictionary_nbytes += header[UNPACKED]
            dictionary_values += _count(header[DICTIONARY])
        values += sum(_count(header[kind]) for kind in (DATA, DATA_V2) if isinstance(header.get(kind), dict))
    return PageSizes(nbytes, values, dictionary_nbytes, dictionary_values)


def _count(page: dict[int, Any]) -> int:
    """Return the number of values that a page states."""
    count = page.get(VALUES)
    if not isinstance(count, int) or not 0 <= count < 2**31:
        raise ValueError("one of its pages has no count of values")
    return count


def _headers(descriptor: int, at: int, end: int) -> Iterator[dict[int, Any]]:
    """Yield the headers of consecutive pages."""
    count = 0
    while at < end:
        if (count := count + 1) > MOST_PAGES:
            raise ValueError(f"a column has more than {MOST_PAGES:,} pages")
        header, length = _header(descriptor, at)
        sizes = (header.get(UNPACKED), header.get(PACKED))
        if not all(isinstance(size, int) and 0 <= size < 2**31 for size in sizes):
            raise ValueError("one of its pages has no size")
        yield header
        at += length + header[PACKED]


def _header(descriptor: int, at: int) -> tuple[dict[int, Any], int]:
    """Return the header at an offset of the file, and its length."""
    length = FIRST_NBYTES
    while True:
        raw = os.pread(descriptor, length, at)
        try:
            reader = _Compact(raw)
            return reader.struct(), reader.at
        except IndexError as error:  # the bytes read end inside the header
            if len(raw) < length or length >= MOST_NBYTES:
                raise ValueError("the header of a page is cut off") from error
            length = min(16 * length, MOST_NBYTES)


class _Compact:
    """Reader of Thrift's compact protocol; reads numbers and structs, skips everything else."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read the numbers and structs of a struct by field id."""
        if depth > MOST_DEPTH:
            raise ValueError("the header of a page is none")
        fields: dict[int, Any] = {}
        number = 0
        while (sign := self._byte()) & 15 != STOP:
            number = number + (sign >> 4) if sign >> 4 else self._number()
            kind = sign & 15
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        """Read a value that is not part of its field header."""
        if kind in (SHORT, INT, LONG):
            return self._number()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (BYTE, TRUE, FALSE, DOUBLE):
            self._pass(8 if kind == DOUBLE else 1)
        elif kind == TEXT:
            self._pass(self._varint())
        elif kind in (LIST, SET):
            self._list(depth)
        elif kind == MAP:
            self._map(depth)
        else:
            raise ValueError("the header of a page is none")
        return None

    def _list(self, depth: int) -> None:
        sign = self._byte()
        count = sign >> 4 if sign >> 4 < 15 else self._varint()
        self._check(count, depth)
        for _ in range(count):
            self._value(sign & 15, depth + 1)

    def _map(self, depth: int) -> None:
        count = self._varint()
        self._check(count, depth)
        kinds = self._byte() if count else 0
        for _ in range(count):
            self._value(kinds >> 4, depth + 1)
            self._value(kinds & 15, depth + 1)

    def _check(self, count: int, depth: int) -> None:
        """Reject deep nesting, and lists longer than the remaining bytes."""
        if depth > MOST_DEPTH:
            raise ValueError("the header of a page is none")
        if count > len(self.raw) - self.at:
            raise IndexError("cut off")

    def _number(self) -> int:
        """Read a zigzag-encoded number."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("the header of a page is none")

    def _byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def _pass(self, count: int) -> None:
        self.at += count
        if self.at > len(self.raw):
            raise IndexError("cut off")


VectorDtype = Literal["float32", "float16"]
VECTOR_DTYPES: tuple[VectorDtype, ...] = ("float32", "float16")
"""Number formats of the files."""
WITH_SIDE_FILE = (".npy", ".csv")
"""Formats without metadata; it is written to a file with the suffix .json."""


def stored_as(vectors: SentenceVectors, dtype: VectorDtype) -> SentenceVectors:
    """Return the vectors rounded to a number format, for the functions that build files."""
    return replace(vectors, vectors=vectors.vectors.astype(dtype, copy=False))


def about(vectors: SentenceVectors) -> dict[str, Any]:
    """Return the metadata of the vectors as plain values: model, revision, pooling, layer and more."""
    return {
        "model": vectors.model,
        "revision": vectors.revision,
        "pooling": vectors.pooling,
        "layer": vectors.layer,
        "normalized": vectors.normalized,
        "prompt": vectors.prompt,
        "dtype": vectors.dtype,
        "vector_dtype": str(vectors.vectors.dtype),
        "sentences": len(vectors.sentences),
        "dimensions": vectors.dimensions,
        "truncated": int(vectors.truncated.sum()),
    }


def about_json(vectors: SentenceVectors) -> bytes:
    """Return the metadata of the vectors as JSON."""
    return json.dumps(about(vectors), indent=2, ensure_ascii=False).encode() + b"\n"


def parquet_bytes(vectors: SentenceVectors) -> bytes:
    """Build a Parquet file: sentence, tokens, truncated, vector (a list of fixed length).

    The schema metadata contain model, revision, pooling and layer under their names, and the output of `about` as JSON
    under "inside_bert". Parquet is typed, so no cell can be a formula and the sentences are unchanged.
    """
    flat = pyarrow.array(np.ascontiguousarray(vectors.vectors).ravel())
    table = pyarrow.table(
        {
            "sentence": pyarrow.array([_plain(text) for text in vectors.sentences], type=pyarrow.string()),
            "tokens": pyarrow.array(vectors.token_counts),
            "truncated": pyarrow.array(vectors.truncated),
            "vector": pyarrow.FixedSizeListArray.from_arrays(flat, vectors.dimensions),
        }
    )
    facts = about(vectors)
    metadata = {name: str(facts[name]) for name in ("model", "revision", "pooling", "layer")}
    metadata["inside_bert"] = json.dumps(facts, ensure_ascii=False)
    target = io.BytesIO()
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), target)
    return target.getvalue()


def csv_bytes(vectors: SentenceVectors) -> bytes:
    """Build a CSV file in UTF-8: sentence, tokens, truncated, then one column per dimension (d0, d1, ...).

    A sentence that a spreadsheet would run as a formula is prefixed with an apostrophe.
    """
    numbers = pd.DataFrame(vectors.vectors, columns=[f"d{index}" for index in range(vectors.dimensions)])
    numbers.insert(0, "sentence", [formula_safe(_plain(text)) for text in vectors.sentences])
    numbers.insert(1, "tokens", vectors.token_counts)
    numbers.insert(2, "truncated", vectors.truncated)
    return numbers.to_csv(index=False, lineterminator="\r\n").encode()


def npy_bytes(vectors: SentenceVectors) -> bytes:
    """Build a NumPy file of the vectors, (sentences, dimensions), in their number format."""
    target = io.BytesIO()
    np.save(target, vectors.vectors, allow_pickle=False)
    return target.getvalue()


def _plain(text: str) -> str:
    """Remove lone surrogates, which cannot be encoded."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


FILE_WRITERS: Mapping[str, Callable[[SentenceVectors], bytes]] = {
    ".parquet": parquet_bytes,
    ".csv": csv_bytes,
    ".npy": npy_bytes,
}
"""End of a file's name -> what builds the file."""


def packed(vectors: SentenceVectors, name: str) -> bytes:
    """A zip file with the vectors in NumPy's format and their metadata."""
    target, inside = io.BytesIO(), f"{name}.npy"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(inside, FILE_WRITERS[".npy"](vectors))
        archive.writestr(f"{inside}.json", about_json(vectors))
    return target.getvalue()


ABOUT_ZIP = "A zip with the vectors as .npy and a JSON file that names model, revision, pooling and layer."
DOWNLOADS: Mapping[str, tuple[str, str, Callable[[SentenceVectors, str], bytes], str]] = {
    "Parquet": (".parquet", "application/vnd.apache.parquet", lambda each, _: FILE_WRITERS[".parquet"](each), ""),
    "NumPy (zip)": ("-npy.zip", "application/zip", packed, ABOUT_ZIP),
    "CSV": (".csv", "text/csv", lambda each, _: FILE_WRITERS[".csv"](each), ""),
}
"""Label -> end of the file's name, media type, builder of the file from vectors and name, help."""
