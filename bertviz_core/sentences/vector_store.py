"""The file of the sentence store: its tables, and each read and write of it as one transaction."""

import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

import numpy as np

VERSION = 1
ASKED_AT_ONCE = 900
"""Keys in one question; SQLite allows 999 everywhere."""
ROOM = 0.9
"""Share of the limit that is left when old vectors have to go, so that they do not have to go at every write."""
SCHEMA = (
    "CREATE TABLE vectors (key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL, tokens INTEGER NOT NULL, "
    "truncated INTEGER NOT NULL, checksum INTEGER NOT NULL)",
    # Apart from the vectors, so that noting a use rewrites a few bytes and not the vector.
    "CREATE TABLE uses (key BLOB PRIMARY KEY, used_at INTEGER NOT NULL) WITHOUT ROWID",
    f"PRAGMA user_version = {VERSION}",
)


class StoredVector(NamedTuple):
    """One sentence's vector as it is kept."""

    vector: np.ndarray
    """float32."""
    tokens: int
    """Tokens that the model read."""
    truncated: bool
    """Whether tokens were cut off."""


class OtherVersionError(Exception):
    """The file is a store of another version, or another program's."""


@contextmanager
def _writing(database: sqlite3.Connection) -> Iterator[None]:
    """One transaction: all of it is kept, or nothing."""
    database.execute("BEGIN IMMEDIATE")
    with database:
        yield


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
                raise OtherVersionError
            if version == 0:
                for statement in SCHEMA:
                    database.execute(statement)
    # A power cut may lose the last vectors, never the store: they can be computed again.
    database.execute("PRAGMA synchronous = NORMAL")


def read(database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, StoredVector]:
    """The vectors under some keys, those that are there and whole; notes that they were used."""
    found = {}
    for start in range(0, len(keys), ASKED_AT_ONCE):
        asked = keys[start : start + ASKED_AT_ONCE]
        places = ",".join("?" * len(asked))
        rows = database.execute(f"SELECT * FROM vectors WHERE key IN ({places})", asked)  # noqa: S608  # only "?"
        for key, vector, tokens, truncated, checksum in rows:
            if _checksum(vector, tokens, truncated) == checksum:
                found[key] = StoredVector(np.frombuffer(vector, dtype="<f4"), tokens, bool(truncated))
    with suppress(sqlite3.OperationalError), _writing(database):
        _mark_used(database, found)
    return found


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


def _mark_used(database: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    now = time.time_ns()
    database.executemany("INSERT OR REPLACE INTO uses VALUES (?, ?)", [(key, now) for key in keys])


def _make_room(database: sqlite3.Connection, max_nbytes: int) -> bool:
    """Remove the vectors used longest ago until the rest is within the limit; whether any had to go."""
    nbytes = used_nbytes(database)
    if nbytes <= max_nbytes:
        return False
    while nbytes > max_nbytes * ROOM:
        (count,) = database.execute("SELECT count(*) FROM uses").fetchone()
        if not count:
            break
        excess = 1 - max_nbytes * ROOM / nbytes
        oldest = database.execute(
            "SELECT key FROM uses ORDER BY used_at, key LIMIT ?", (max(1, int(count * excess)),)
        ).fetchall()
        database.executemany("DELETE FROM vectors WHERE key = ?", oldest)
        database.executemany("DELETE FROM uses WHERE key = ?", oldest)
        nbytes = used_nbytes(database)
    return True


def used_nbytes(database: sqlite3.Connection) -> int:
    """Bytes of the pages in use."""
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _checksum(vector: bytes, tokens: int, truncated: int) -> int:
    return zlib.crc32(f"{tokens} {truncated}".encode(), zlib.crc32(vector))
