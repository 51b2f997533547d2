"""Sentence vectors kept on disk, so that the same list is not computed twice; the sentences themselves are not kept.

One SQLite file in write-ahead mode: many readers and one writer at a time, and a process killed in mid-write leaves
what was there before (sqlite.org/wal.html). A row has a checksum; what does not fit it is computed again.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from bertviz_core.sentence_database import OtherVersionError, StoredVector, prepare, read, used_nbytes, write
from bertviz_core.settings import Settings

FILE = "sentence-vectors.sqlite3"
SET_ASIDE = f"{FILE}.set-aside"
DAMAGED = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""What SQLite answers where the tables are not there, where pages are damaged, where the file is none of its own."""
BUSY_S = 20.0
"""How long one waits for another's write, which takes milliseconds."""
Answer = TypeVar("Answer")


class SentenceStore:
    """Vectors on disk within a limit of bytes; may be used from many threads and processes.

    It never fails: what cannot be read counts as not there, what cannot be written is not kept, and notices say so.
    """

    def __init__(self, folder: Path, max_nbytes: int) -> None:
        """A store in a folder, which is made when it is first used."""
        self._path, self._max_nbytes = folder / FILE, max_nbytes
        self._renamed: dict[str, None] = {}
        self._trouble = ""

    @classmethod
    def of(cls, settings: Settings) -> "SentenceStore":
        """The store that the settings name."""
        return cls(settings.store_dir, settings.max_store_bytes)

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
        if not keys:
            return {}
        return self._used(lambda database: read(database, keys), {})

    def put(self, vectors: Mapping[bytes, StoredVector]) -> None:
        """Keep vectors; those used longest ago make room."""
        if vectors:
            self._used(lambda database: write(database, vectors, self._max_nbytes), None)

    def _used(self, work: Callable[[sqlite3.Connection], Answer], otherwise: Answer) -> Answer:
        """What the work on the database gives; a store that is no use is set aside, and a new one begun."""
        for _ in range(2):
            inode = None
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with closing(sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None)) as database:
                    inode = self._path.stat().st_ino
                    prepare(database)
                    found = work(database)
                    self._trouble = ""
                    return found
            except OtherVersionError:
                self._set_aside(inode, "was made by another version or another program")
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in DAMAGED:
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

    def _set_aside(self, inode: int | None, why: str) -> None:
        """Rename the file and what SQLite keeps beside it; one that another process has made meanwhile stays."""
        with suppress(OSError):
            if self._path.stat().st_ino != inode:
                return
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    Path(f"{self._path}{ending}").replace(self._path.with_name(f"{SET_ASIDE}{ending}"))
        notice = f"The store of sentence vectors {why}; it was renamed to {SET_ASIDE}, and a new one begun."
        self._renamed[notice] = None
