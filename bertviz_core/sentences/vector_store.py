"""Sentence vectors kept on disk in SQLite, within a limit of bytes, and the vectors of one list filled from there."""

import hashlib
import os
import secrets
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.settings import Settings

VERSION = 2
UNKEYED_VERSION = 1
"""Kept its vectors under plain hashes of the texts, so that whoever had the file could confirm a guessed sentence."""
MAX_KEYS_A_QUERY = 900
"""Keys in one query; SQLite allows 999 everywhere."""
FULL_SHARE = 0.9
"""Share of the limit that is left when old vectors have to go, so that they do not have to go at every write."""
SCHEMA = (
    "CREATE TABLE vectors (key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL, tokens INTEGER NOT NULL, "
    "truncated INTEGER NOT NULL, checksum INTEGER NOT NULL)",
    # Apart from the vectors, so that noting a use rewrites a few bytes and not the vector.
    "CREATE TABLE uses (key BLOB PRIMARY KEY, used_at INTEGER NOT NULL) WITHOUT ROWID",
    f"PRAGMA user_version = {VERSION}",
)
FILE = "sentence-vectors.sqlite3"
SET_ASIDE = f"{FILE}.set-aside"
SECRET_FILE, SECRET_NBYTES = "sentence-vectors.key", 32
DAMAGE_CODES = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""What SQLite answers where the tables are not there, where pages are damaged, where the file is none of its own."""
BUSY_TIMEOUT_SECONDS = 20.0
"""How long one waits for another's write, which takes milliseconds."""
Answer = TypeVar("Answer")
WRITE_BATCH_VECTORS = 256
"""Vectors that are written to the store together; a kill loses at most so many."""
READ_BATCH_VECTORS = 4096
"""Vectors that are read from the store together, so that they are never in memory twice."""


class StoredVector(NamedTuple):
    """One sentence's vector as it is kept."""

    vector: np.ndarray
    """float32."""
    tokens: int
    """Tokens that the model read."""
    truncated: bool
    """Whether tokens were cut off."""


class OtherVersionError(Exception):
    """The file is a store of another version, or another program's; its argument is the version that the file names."""


class SentenceStore:
    """Vectors on disk within a limit of bytes; may be used from many threads and processes.

    It never fails: what cannot be read counts as not there, what cannot be written is not kept, and notices say so.
    The file holds keyed hashes of the keys (BLAKE2b, RFC 7693): without the secret beside it, which never leaves the
    machine, nobody can tell whether a guessed sentence is in it.
    """

    def __init__(self, folder: Path, max_nbytes: int) -> None:
        """A store in a folder, which is made when it is first used."""
        self._path, self._max_nbytes = folder / FILE, max_nbytes
        self._renamed: dict[str, None] = {}
        self._trouble = ""

    @classmethod
    def of(cls, settings: Settings) -> "SentenceStore":
        """The store that the settings name."""
        return cls(settings.vector_store_dir, settings.max_store_bytes)

    @property
    def notices(self) -> tuple[str, ...]:
        """Why files were set aside so far, and behind that what is wrong now, one sentence each."""
        return (*self._renamed, *([self._trouble] if self._trouble else []))

    @property
    def renamed(self) -> int:
        """How many of the notices tell of a file that was set aside."""
        return len(self._renamed)

    @property
    def nbytes(self) -> int:
        """Bytes that the kept vectors take in the file."""
        return self._used(used_nbytes, 0)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, StoredVector]:
        """The vectors kept under some keys; those not kept are not in the answer."""

        def found(database: sqlite3.Connection) -> dict[bytes, StoredVector]:
            secret = installation_secret(self._path.parent)
            key_of = {_sealed(key, secret): key for key in keys}
            return {key_of[sealed]: stored for sealed, stored in read(database, list(key_of)).items()}

        return self._used(found, {}) if keys else {}

    def put(self, vectors: Mapping[bytes, StoredVector]) -> None:
        """Keep vectors; those used longest ago make room."""

        def kept(database: sqlite3.Connection) -> None:
            secret = installation_secret(self._path.parent)
            write(database, {_sealed(key, secret): stored for key, stored in vectors.items()}, self._max_nbytes)

        if vectors:
            self._used(kept, None)

    def _used(self, work: Callable[[sqlite3.Connection], Answer], otherwise: Answer) -> Answer:
        """What the work on the database gives; a store that is no use is set aside, and a new one begun."""
        for _ in range(2):
            inode = None
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with closing(
                    sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)
                ) as database:
                    inode = self._path.stat().st_ino
                    prepare(database)
                    answer = work(database)
                    self._trouble = ""
                    return answer
            except OtherVersionError as error:
                stranger = "was made by another version or another program"
                self._set_aside(inode, stranger, remove=error.args[0] == UNKEYED_VERSION)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in DAMAGE_CODES:
                    self._trouble = (
                        f"Sentence vectors cannot be kept on disk now ({error}); they are computed each time."
                    )
                    return otherwise
                self._set_aside(inode, f"is damaged ({error})")
            except OSError as error:
                why = error.strerror or error
                self._trouble = f"Sentence vectors cannot be kept on disk ({why}); they are computed each time."
                return otherwise
        return otherwise

    def _set_aside(self, inode: int | None, why: str, remove: bool = False) -> None:
        """Rename or remove the file and what SQLite keeps beside it; one that another process made meanwhile stays."""
        with suppress(OSError):
            if self._path.stat().st_ino != inode:
                return
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    path = Path(f"{self._path}{ending}")
                    path.unlink() if remove else path.replace(self._path.with_name(f"{SET_ASIDE}{ending}"))
        if not remove:
            notice = f"The store of sentence vectors {why}; it was renamed to {SET_ASIDE}, and a new one begun."
            self._renamed[notice] = None


class StoredVectors:
    """The vectors of all different texts in one array, filled from the store and by runs."""

    def __init__(self, texts: list[str], fingerprint: bytes, store: SentenceStore | None) -> None:
        self.texts, self._store = texts, store
        self._keys = [hashlib.blake2b(_bytes(text), digest_size=16, key=fingerprint).digest() for text in texts]
        self._vectors: Float[np.ndarray, "texts dimensions"] | None = None
        self._counts, self._truncated = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)
        self._new: dict[bytes, StoredVector] = {}

    def read(self) -> list[int]:
        """Take what the store has; the places that it has not."""
        missing = []
        for start in range(0, len(self.texts), READ_BATCH_VECTORS):
            keys = self._keys[start : start + READ_BATCH_VECTORS]
            known = self._store.get(keys) if self._store is not None else {}
            for position, key in enumerate(keys, start):
                if key not in known or not self._put(position, known[key]):
                    missing.append(position)
        return missing

    def add(self, position: int, stored: StoredVector) -> None:
        """Take a new vector."""
        self._put(position, stored)
        if self._store is not None:
            self._new[self._keys[position]] = stored
            if len(self._new) >= WRITE_BATCH_VECTORS:
                self.write()

    def write(self) -> None:
        """Hand the new vectors to the store."""
        if self._store is not None:
            self._store.put(self._new)
        self._new = {}

    def arrays(
        self, positions: list[int]
    ) -> tuple[
        Float[np.ndarray, "sentences dimensions"], Int[np.ndarray, " sentences"], Bool[np.ndarray, " sentences"]
    ]:
        """Vectors, token counts and whether tokens were cut off, at some positions; read-only.

        Raises:
            ValueError: no text has a vector yet.
        """
        if self._vectors is None:
            raise ValueError("no text has a vector yet")
        vectors, counts, truncated = self._vectors, self._counts, self._truncated
        if len(positions) != len(self.texts):
            vectors, counts, truncated = vectors[positions], counts[positions], truncated[positions]
        for array in (vectors, counts, truncated):
            array.setflags(write=False)
        return vectors, counts, truncated

    def _put(self, position: int, stored: StoredVector) -> bool:
        if self._vectors is None:
            self._vectors = np.empty((len(self.texts), len(stored.vector)), dtype=np.float32)
        if len(stored.vector) != self._vectors.shape[1]:
            return False
        self._vectors[position], self._counts[position], self._truncated[position] = stored
        return True


def installation_secret(folder: Path) -> bytes:
    """The secret of a folder's store, 32 bytes that only its owner may read; made when it is first asked for.

    Raises:
        OSError: it can be neither read nor made.
    """
    path = folder / SECRET_FILE
    with suppress(FileNotFoundError):
        if len(secret := path.read_bytes()) == SECRET_NBYTES:
            return secret
        path.unlink()
    part = path.with_name(f"{SECRET_FILE}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(SECRET_NBYTES))
        with suppress(FileExistsError):
            os.link(part, path)  # whole, and only for the first of several who make one
    finally:
        part.unlink(missing_ok=True)
    return path.read_bytes()


def _sealed(key: bytes, secret: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=16, key=secret).digest()


def prepare(database: sqlite3.Connection) -> None:
    """Make the tables of a new file.

    Raises:
        OtherVersionError: the file has tables, but not of this version.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before the first table, or it has no effect
        # Here, alone, SQLite does not wait for another: who comes second finds the mode set, or writes without it.
        with suppress(sqlite3.OperationalError):
            database.execute("PRAGMA journal_mode = WAL")
        with _writing(database):
            (version,) = database.execute("PRAGMA user_version").fetchone()
            (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if version not in (0, VERSION) or (version == 0 and tables):
                raise OtherVersionError(version)
            if version == 0:
                for statement in SCHEMA:
                    database.execute(statement)
    # A power cut may lose the last vectors, never the store: they can be computed again.
    database.execute("PRAGMA synchronous = NORMAL")


def read(database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, StoredVector]:
    """The vectors under some keys, those that are there and whole; notes that they were used."""
    vectors = {}
    for start in range(0, len(keys), MAX_KEYS_A_QUERY):
        queried = keys[start : start + MAX_KEYS_A_QUERY]
        placeholders = ",".join("?" * len(queried))
        rows = database.execute(f"SELECT * FROM vectors WHERE key IN ({placeholders})", queried)  # noqa: S608  # only "?"
        for key, vector, tokens, truncated, checksum in rows:
            if _checksum(vector, tokens, truncated) == checksum:
                vectors[key] = StoredVector(np.frombuffer(vector, dtype="<f4"), tokens, bool(truncated))
    with suppress(sqlite3.OperationalError), _writing(database):
        _mark_used(database, vectors)
    return vectors


def write(database: sqlite3.Connection, vectors: Mapping[bytes, StoredVector], max_nbytes: int) -> None:
    """Keep vectors, and remove those used longest ago that are then too many."""
    rows = []
    for key, stored in vectors.items():
        vector = np.ascontiguousarray(stored.vector, dtype="<f4").tobytes()
        numbers = stored.tokens, int(stored.truncated)
        rows.append((key, vector, *numbers, _checksum(vector, *numbers)))
    with _writing(database):
        database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows)
        _mark_used(database, vectors)
        removed = _make_room(database, max_nbytes)
    if removed:
        database.execute("PRAGMA incremental_vacuum").fetchall()


def used_nbytes(database: sqlite3.Connection) -> int:
    """Bytes of the pages in use."""
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


@contextmanager
def _writing(database: sqlite3.Connection) -> Iterator[None]:
    """One transaction: all of it is kept, or nothing."""
    database.execute("BEGIN IMMEDIATE")
    with database:
        yield


def _mark_used(database: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    now = time.time_ns()
    database.executemany("INSERT OR REPLACE INTO uses VALUES (?, ?)", [(key, now) for key in keys])


def _make_room(database: sqlite3.Connection, max_nbytes: int) -> bool:
    """Remove the vectors used longest ago until the rest is within the limit; whether any had to go."""
    nbytes = used_nbytes(database)
    if nbytes <= max_nbytes:
        return False
    while nbytes > max_nbytes * FULL_SHARE:
        (count,) = database.execute("SELECT count(*) FROM uses").fetchone()
        if not count:
            break
        excess = 1 - max_nbytes * FULL_SHARE / nbytes
        oldest = database.execute(
            "SELECT key FROM uses ORDER BY used_at, key LIMIT ?", (max(1, int(count * excess)),)
        ).fetchall()
        database.executemany("DELETE FROM vectors WHERE key = ?", oldest)
        database.executemany("DELETE FROM uses WHERE key = ?", oldest)
        nbytes = used_nbytes(database)
    return True


def _checksum(vector: bytes, tokens: int, truncated: int) -> int:
    return zlib.crc32(f"{tokens} {truncated}".encode(), zlib.crc32(vector))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
