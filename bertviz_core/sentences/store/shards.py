"""Read and write one shard of the store: a Parquet file of vectors of equal length by key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int, UInt64
from pyarrow.parquet import ParquetFile

from bertviz_core.sentences.store.keys import KEY_NBYTES
from bertviz_core.tables.row_groups import take_rows, write_table
from bertviz_core.text import first_line

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
    """Write a shard atomically.

    Raises:
        OSError: the file cannot be written.
    """
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
    """Return the keys of a shard, in the order of its rows.

    Raises:
        FileNotFoundError: the shard no longer exists.
        DamagedShardError: it is damaged, or no shard.
    """
    column = _table(path, (KEY,)).column(KEY).combine_chunks()
    raw = memoryview(column.buffers()[1])[column.offset * KEY_NBYTES : (column.offset + len(column)) * KEY_NBYTES]
    return np.frombuffer(raw, dtype="<u8").reshape(len(column), 2)


def shard_rows(path: Path, rows: Int[np.ndarray, " rows"] | None = None) -> StoredVectors:
    """Return rows of a shard in the requested order, or all; only their row groups are read.

    Raises:
        FileNotFoundError: the shard no longer exists.
        DamagedShardError: it is damaged, or no shard.
    """
    table = _table(path, COLUMNS[1:], rows)
    column = table.column(VECTOR).combine_chunks()
    vectors = column.flatten().to_numpy().reshape(len(table), column.type.list_size)
    tokens, truncated = (table.column(name).to_numpy() for name in (TOKENS, TRUNCATED))
    return StoredVectors(vectors, tokens.astype(np.int64), truncated.astype(np.bool_))


def shard_dimensions(path: Path) -> int:
    """Return the length of a shard's vectors.

    Raises:
        FileNotFoundError: the shard no longer exists.
        DamagedShardError: it is damaged, or no shard.
    """
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
