"""The vectors of a list of sentences while they come together, from the store and from runs."""

import hashlib
from typing import Any

import numpy as np

from bertviz_core.sentence_database import StoredVector
from bertviz_core.sentence_store import SentenceStore

KEPT_AT_ONCE = 256
"""Vectors that are written to the store together; a kill loses at most so many."""
READ_AT_ONCE = 4096
"""Vectors that are read from the store together, so that they are never in memory twice."""


class KeptVectors:
    """The vectors of all different texts in one array, filled from the store and by runs."""

    def __init__(self, texts: list[str], way: bytes, store: SentenceStore | None) -> None:
        self.texts, self._store = texts, store
        self._keys = [hashlib.blake2b(_bytes(text), digest_size=16, key=way).digest() for text in texts]
        self._vectors: Any = None
        self._counts, self._truncated = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)
        self._new: dict[bytes, StoredVector] = {}

    def read(self) -> list[int]:
        """Take what the store has; the places that it has not."""
        missing = []
        for start in range(0, len(self.texts), READ_AT_ONCE):
            keys = self._keys[start : start + READ_AT_ONCE]
            known = self._store.get(keys) if self._store is not None else {}
            for place, key in enumerate(keys, start):
                if key not in known or not self._put(place, known[key]):
                    missing.append(place)
        return missing

    def add(self, place: int, stored: StoredVector) -> None:
        """Take a new vector."""
        self._put(place, stored)
        if self._store is not None:
            self._new[self._keys[place]] = stored
            if len(self._new) >= KEPT_AT_ONCE:
                self.write()

    def write(self) -> None:
        """Hand the new vectors to the store."""
        if self._store is not None:
            self._store.put(self._new)
        self._new = {}

    def arrays(self, places: list[int]) -> tuple[Any, Any, Any]:
        """Vectors, token counts and cuts at some places; arrays that cannot be written to."""
        found = [self._vectors, self._counts, self._truncated]
        if len(places) != len(self.texts):
            found = [array[places] for array in found]
        for array in found:
            array.setflags(write=False)
        return found[0], found[1], found[2]

    def _put(self, place: int, stored: StoredVector) -> bool:
        if self._vectors is None:
            self._vectors = np.empty((len(self.texts), len(stored.vector)), dtype=np.float32)
        if len(stored.vector) != self._vectors.shape[1]:
            return False
        self._vectors[place], self._counts[place], self._truncated[place] = stored
        return True


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
