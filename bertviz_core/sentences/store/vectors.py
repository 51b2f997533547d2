"""The store of vectors: keys, rows, filling."""

import os
import re
import secrets
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from filelock import FileLock
from jaxtyping import Bool, Float, Int, UInt64

from bertviz_core.errors import CorpusError
from bertviz_core.isolation.regular_files import open_regular
from bertviz_core.isolation.sanitized.npy_header import npy_header
from bertviz_core.sentences.store.keys import installation_secret, sealed_keys, text_key
from bertviz_core.sentences.store.shards import (
    DamagedShardError,
    KeyIndex,
    StoredVectors,
    shard_dimensions,
    shard_keys,
    shard_rows,
    write_shard,
)
from bertviz_core.settings import Settings
from bertviz_core.tables.atomic_files import remove_leftovers
from bertviz_core.text import quoted

SHARDS_FOLDER, LOCK_FILE, SET_ASIDE = "sentence-vectors", "writer.lock", "set-aside.parquet"
SHARD_NAME = re.compile(r"(\d{20})-[0-9a-f]{8}\.parquet")
"""Creation time of a shard in nanoseconds, which orders the names, and a random suffix."""
MERGED_NBYTES, MERGED_SHARE = 16 * 1024**2, 1 / 8
"""Size limit of merged shards in bytes, and as a share of the limit of the store."""
SMALL_SHARE, MOST_SMALL = 1 / 4, 32
"""Share of that size below which shards are small, and maximum number of unmerged small shards."""
ATTEMPTS = 3
"""Number of lookups of keys while another process merges their shards."""
LOCK_SECONDS = 20.0
"""Maximum wait for another process's write, which takes milliseconds."""
Answer = TypeVar("Answer")


class ShardFile(NamedTuple):
    """A shard in the listing of the folder."""

    name: str
    """File name."""
    nbytes: int
    """Size in bytes."""
    used_ns: int
    """Time of its last use, in nanoseconds of the system clock."""


class SentenceStore:
    """Cache of vectors on disk within a limit of bytes; safe to use from many threads and processes.

    It never raises: unreadable vectors count as missing, unwritable ones are dropped, with a notice.
    """

    def __init__(self, folder: Path, max_nbytes: int) -> None:
        """Open a store in a folder, which is created on first use."""
        self._home, self._folder, self._max_nbytes = folder, folder / SHARDS_FOLDER, max_nbytes
        self._happened: dict[str, None] = {}
        self._trouble = ""
        self._index, self._index_lock = KeyIndex({}), Lock()

    @classmethod
    def of(cls, settings: Settings) -> "SentenceStore":
        """Open the store named by the settings."""
        return cls(settings.vector_store_dir, settings.max_store_bytes)

    @property
    def notices(self) -> tuple[str, ...]:
        """Return notices on past events, then on current problems, one sentence each."""
        return (*self._happened, *([self._trouble] if self._trouble else []))

    @property
    def happened(self) -> int:
        """Number of notices on past events."""
        return len(self._happened)

    @property
    def nbytes(self) -> int:
        """Size of all shards in bytes."""
        return self._safely(lambda: sum(shard.nbytes for shard in self._shards()), 0)

    def get(self, keys: Sequence[bytes]) -> Iterator[tuple[Int[np.ndarray, " kept"], StoredVectors]]:
        """Yield stored vectors of some keys by shard: their indices among the keys, and the vectors."""
        sealed = self._safely(lambda: sealed_keys(keys, self._secret()), None)
        if sealed is None:
            return
        missing = np.arange(len(keys))
        for _ in range(ATTEMPTS):
            index = self._safely(self._current_index, KeyIndex({}))
            shards, rows = index.find(sealed[missing])
            again = np.zeros(len(missing), dtype=np.bool_)
            for shard in np.unique(shards[shards >= 0]).tolist():
                here = shards == shard
                stored = self._read(index.names[shard], rows[here])
                if stored is None:
                    again |= here
                else:
                    yield missing[here], stored
            missing = missing[again]
            if not len(missing):
                return

    def put(self, keys: Sequence[bytes], stored: StoredVectors) -> None:
        """Store vectors as a shard; evict the least recently used shards."""

        def keep() -> None:
            sealed = sealed_keys(keys, self._secret())
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with FileLock(self._folder / LOCK_FILE, timeout=LOCK_SECONDS):
                remove_leftovers(self._folder)
                shards = self._shards()
                newest = max((_made_ns(shard.name) for shard in shards), default=0)
                write_shard(self._folder / _shard_name(max(time.time_ns(), newest + 1)), sealed, stored)
                with suppress(OSError):  # the vectors are stored; merging waits for free space
                    self._merge_small()
                self._make_room()

        if len(keys):
            self._safely(keep, None)

    def _safely(self, work: Callable[[], Answer], otherwise: Answer) -> Answer:
        """Run the work; on an OSError return the fallback, with a notice."""
        try:
            answer = work()
        except OSError as error:
            why = error.strerror or error
            self._trouble = f"Sentence vectors cannot be kept on disk now ({why}); they are computed each time."
            return otherwise
        self._trouble = ""
        return answer

    def _secret(self) -> bytes:
        """Return the installation's secret; create its folder."""
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return installation_secret(self._home)

    def _shards(self) -> list[ShardFile]:
        """List shards, oldest first."""
        shards = []
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                if SHARD_NAME.fullmatch(entry.name):
                    with suppress(FileNotFoundError):  # merged with others meanwhile
                        about = entry.stat()
                        shards.append(ShardFile(entry.name, about.st_size, about.st_mtime_ns))
        return sorted(shards)

    def _current_index(self) -> KeyIndex:
        """Return the index of the keys currently in the folder."""
        with self._index_lock:
            known, keys_of = self._index, {}
            names = [shard.name for shard in self._shards()]
            if tuple(names) == known.names:
                return known
            for name in names:
                if name in known.names:
                    keys_of[name] = known.keys_of(name)
                    continue
                try:
                    keys_of[name] = shard_keys(self._folder / name)
                except FileNotFoundError:
                    continue
                except DamagedShardError as error:
                    self._set_aside(name, error)
            self._index = KeyIndex(keys_of)
            return self._index

    def _read(self, name: str, rows: Int[np.ndarray, " rows"]) -> StoredVectors | None:
        """Read rows of a shard and mark it as used; None if it is gone or damaged."""
        path = self._folder / name

        def read() -> StoredVectors | None:
            try:
                stored = shard_rows(path, rows)
                with suppress(OSError):  # read-only, or already gone
                    os.utime(path)
            except FileNotFoundError:
                return None
            except DamagedShardError as error:
                self._set_aside(name, error)
                return None
            return stored

        return self._safely(read, None)

    def _set_aside(self, name: str, why: DamagedShardError) -> None:
        with suppress(FileNotFoundError):
            (self._folder / name).replace(self._folder / SET_ASIDE)
            self._happened[
                f"A file of the kept sentence vectors is damaged ({why}); it was renamed to {SET_ASIDE}, and its "
                "vectors are computed anew."
            ] = None

    def _merge_small(self) -> None:
        """Merge the oldest small shards of one length when there are many."""
        most = min(MERGED_NBYTES, int(self._max_nbytes * MERGED_SHARE))
        small = [shard for shard in self._shards() if shard.nbytes < most * SMALL_SHARE]
        if len(small) <= MOST_SMALL:
            return
        by_length: dict[int, list[ShardFile]] = defaultdict(list)
        for shard in small:
            try:
                by_length[shard_dimensions(self._folder / shard.name)].append(shard)
            except DamagedShardError as error:
                self._set_aside(shard.name, error)
        alike = max(by_length.values(), key=len, default=[])
        sizes = np.cumsum([shard.nbytes for shard in alike])
        merged = alike[: int(np.searchsorted(sizes, most, side="right"))]
        if len(merged) > 1:
            self._merge(merged)

    def _merge(self, shards: Sequence[ShardFile]) -> None:
        """Merge shards into one that replaces the newest of them, then delete them."""
        keys: list[UInt64[np.ndarray, "sentences 2"]] = []
        parts: list[StoredVectors] = []
        for shard in shards:
            path = self._folder / shard.name
            try:
                keys.append(shard_keys(path))
                parts.append(shard_rows(path))
            except DamagedShardError as error:
                self._set_aside(shard.name, error)
                return
        path = self._folder / _shard_name(_made_ns(shards[-1].name))
        write_shard(path, np.concatenate(keys), StoredVectors.joined(parts))
        used_ns = max(shard.used_ns for shard in shards)
        os.utime(path, ns=(used_ns, used_ns))
        for shard in shards:
            (self._folder / shard.name).unlink(missing_ok=True)

    def _make_room(self) -> None:
        """Evict the least recently used shards until the rest is within the limit."""
        shards = sorted(self._shards(), key=lambda shard: shard.used_ns)
        excess = sum(shard.nbytes for shard in shards) - self._max_nbytes
        for shard in shards:
            if excess <= 0:
                return
            (self._folder / shard.name).unlink(missing_ok=True)
            excess -= shard.nbytes


def _shard_name(made_ns: int) -> str:
    return f"{made_ns:020d}-{secrets.token_hex(4)}.parquet"


def _made_ns(name: str) -> int:
    return int(name.partition("-")[0])


SPAN_ROWS, GAP_ROWS = 8_192, 64
"""Maximum rows per read of rows by number, and maximum gap between two of them that is read along."""


class VectorFile:
    """An array in a file written by np.save, (rows, dimensions); indexing reads a new array.

    The file stays open, so replacing it does not affect an open instance.

    Attributes:
        path: path of the file.
        shape: (rows, dimensions).
        dtype: number format.
    """

    ndim = 2

    def __init__(self, path: Path) -> None:
        """Open a file."""
        with open_regular(path) as file:
            shape, fortran_order, self.dtype = npy_header(file)
            if len(shape) != 2 or fortran_order or self.dtype.kind != "f":
                raise ValueError("no rows of numbers")
            self.path, self.shape = path, (shape[0], shape[1])
            self._begin, self._row_nbytes = file.tell(), shape[1] * self.dtype.itemsize
            if os.fstat(file.fileno()).st_size < self._begin + shape[0] * self._row_nbytes:
                raise ValueError("fewer numbers than its header says")
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Float[np.ndarray, "..."]:
        """Read a row by its number, or several by a slice, a mask or an array of numbers."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return self.fill(start, self._empty(max(0, stop - start)))
            return self._gathered(np.arange(start, stop, step))
        numbers = np.asarray(index)
        if numbers.dtype == bool and numbers.shape == (len(self),):
            return self._gathered(np.flatnonzero(numbers))
        if numbers.size and numbers.dtype.kind not in "iu":
            raise IndexError("rows are given by their numbers")
        numbers = numbers.astype(np.int64)
        if numbers.size and not -len(self) <= numbers.min() <= numbers.max() < len(self):
            raise IndexError(f"rows 0 to {len(self) - 1:,} are there")
        rows = self._gathered(np.where(numbers < 0, numbers + len(self), numbers).reshape(-1))
        return rows.reshape(*numbers.shape, self.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Float[np.ndarray, "rows dimensions"]:
        """Read all rows into memory."""
        if copy is False:
            raise ValueError("rows of a file become an array in memory by a copy alone")
        return self[:] if dtype is None else self[:].astype(dtype, copy=False)

    def fill(self, start: int, rows: Float[np.ndarray, "some dimensions"]) -> Float[np.ndarray, "some dimensions"]:
        """Fill an array with consecutive rows of the file, from a row on."""
        rest, place, count = rows.reshape(-1).view(np.uint8), self._begin + start * self._row_nbytes, 1
        why = "it was cut off while it was read"
        try:
            while count and len(rest):
                count = os.preadv(self._descriptor, [rest.data], place)
                rest, place = rest[count:], place + count
        except OSError as error:
            count, why = 0, error.strerror or str(error)
        if not count:
            raise CorpusError(
                f"{quoted(self.path.name)} of {quoted(self.path.parent.name)} cannot be read ({why}). Try again: it is "
                "then made from the shards."
            )
        return rows

    def _gathered(self, numbers: Int[np.ndarray, " some"]) -> Float[np.ndarray, "some dimensions"]:
        """Read rows by number in the requested order; nearby rows are read together."""
        found, order = self._empty(len(numbers)), np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        apart = (np.diff(ordered) > GAP_ROWS) | (np.diff(ordered // SPAN_ROWS) > 0)
        for span in np.split(np.arange(len(ordered)), np.flatnonzero(apart) + 1):
            if len(span):
                first, last = int(ordered[span[0]]), int(ordered[span[-1]])
                found[order[span]] = self.fill(first, self._empty(last + 1 - first))[ordered[span] - first]
        return found

    def _empty(self, rows: int) -> Float[np.ndarray, "some dimensions"]:
        return np.empty((rows, self.shape[1]), self.dtype)


Vectors: TypeAlias = np.ndarray | VectorFile
"""All vectors of a corpus, in memory or read lazily from their file."""


WRITE_BATCH_VECTORS = 256
"""Number of vectors written to the store at once; a kill loses at most these and one batch."""


class ListVectors:
    """Vectors of all distinct texts of a list, in the order of the texts."""

    def __init__(self, texts: list[str], fingerprint: bytes, store: SentenceStore | None) -> None:
        """Start without vectors.

        Args:
            texts: distinct texts.
            fingerprint: identifier of the computation of the vectors.
        """
        self.texts, self._store = texts, store
        self._keys = [text_key(text, fingerprint) for text in texts] if store is not None else []
        self._vectors: Float[np.ndarray, "texts dimensions"] | None = None
        self._counts, self._truncated = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)
        self._new: list[tuple[Sequence[int], StoredVectors]] = []

    def read(self) -> list[int]:
        """Read stored vectors; return the indices of missing ones."""
        missing = np.ones(len(self.texts), dtype=np.bool_)
        if self._store is not None:
            for places, stored in self._store.get(self._keys):
                if self._take(places, stored):
                    missing[places] = False
        return np.flatnonzero(missing).tolist()

    def add(self, places: Sequence[int], stored: StoredVectors) -> None:
        """Add new vectors; they are written to the store in batches."""
        self._take(np.asarray(places, dtype=np.int64), stored)
        if self._store is not None:
            self._new.append((places, stored))
            if sum(len(each) for each, _ in self._new) >= WRITE_BATCH_VECTORS:
                self.write()

    def write(self) -> None:
        """Write the new vectors to the store."""
        if self._store is not None and self._new:
            keys = [self._keys[place] for places, _ in self._new for place in places]
            self._store.put(keys, StoredVectors.joined([stored for _, stored in self._new]))
        self._new = []

    def arrays(
        self, places: list[int]
    ) -> tuple[
        Float[np.ndarray, "sentences dimensions"], Int[np.ndarray, " sentences"], Bool[np.ndarray, " sentences"]
    ]:
        """Return vectors, token counts and truncation flags at some indices; read-only."""
        if self._vectors is None:
            raise ValueError("no text has a vector yet")
        vectors, counts, truncated = self._vectors, self._counts, self._truncated
        if len(places) != len(self.texts):
            vectors, counts, truncated = vectors[places], counts[places], truncated[places]
        for array in (vectors, counts, truncated):
            array.setflags(write=False)
        return vectors, counts, truncated

    def _take(self, places: Int[np.ndarray, " places"], stored: StoredVectors) -> bool:
        """Copy vectors into the array; return False if their length differs from the others'."""
        dimensions = stored.vectors.shape[1]
        if self._vectors is None:
            self._vectors = np.empty((len(self.texts), dimensions), dtype=np.float32)
        if dimensions != self._vectors.shape[1]:
            return False
        self._vectors[places], self._counts[places] = stored.vectors, stored.tokens
        self._truncated[places] = stored.truncated
        return True
