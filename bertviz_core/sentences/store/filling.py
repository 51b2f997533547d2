"""Fill the array of a list's vectors from the store and by running the model."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.sentences.store.keys import text_key
from bertviz_core.sentences.store.shards import StoredVectors
from bertviz_core.sentences.store.vectors import SentenceStore

WRITE_BATCH_VECTORS = 256
"""Number of vectors written to the store at once; a kill loses at most these and one batch."""


class ListVectors:
    """Vectors of all distinct texts of a list, in the order of the texts."""

    def __init__(self, texts: list[str], fingerprint: bytes, store: SentenceStore | None) -> None:
        """Start without vectors.

        Args:
            texts: distinct texts.
            fingerprint: identifier of the computation of the vectors.
            store: cache of vectors; None for no cache.
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
        """Return vectors, token counts and truncation flags at some indices; read-only.

        Raises:
            ValueError: no text has a vector yet.
        """
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
