"""Cut the rows of an input into shards with limits of rows and bytes."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from bertviz_core.corpus.results import InputRange, ShardRows


class Cut:
    """Cuts rows into shards; a shard ends where another row would exceed the limits.

    The cuts depend only on the rows, not on the chunks in which they arrive.
    """

    def __init__(self, most_rows: int, most_nbytes: int) -> None:
        """Start without rows.

        Args:
            most_rows: maximum number of rows of a shard.
            most_nbytes: maximum size of a shard in bytes; a larger row is a shard of its own.
        """
        self._most_rows, self._most_nbytes = most_rows, most_nbytes
        self._done: list[ShardRows] = []
        self._ranges: list[InputRange] = []
        self._rows = self._nbytes = 0

    def take(self, file: int, positions: Sequence[int], sizes: Int[np.ndarray, " rows"]) -> None:
        """Add consecutive rows.

        Args:
            file: index of their file.
            positions: start of each row, and the end of the last.
            sizes: size of each row in bytes.
        """
        ends, place = np.cumsum(sizes), 0
        while place < len(sizes):
            before = int(ends[place - 1]) if place else 0
            room = self._most_nbytes - self._nbytes
            count = int(np.searchsorted(ends[place:] - before, room, side="right"))
            count = min(count, self._most_rows - self._rows, len(sizes) - place)
            if not count and not self._rows:
                count = 1
            if count:
                self._extend(file, positions[place], positions[place + count])
                self._rows += count
                self._nbytes += int(ends[place + count - 1]) - before
                place += count
            if place < len(sizes):
                self._end()

    def shards(self) -> tuple[ShardRows, ...]:
        """Return all shards, the last with the remaining rows."""
        if self._rows:
            self._end()
        return tuple(self._done)

    def _extend(self, file: int, start: int, stop: int) -> None:
        last = self._ranges[-1] if self._ranges else None
        if last is not None and last.file == file and last.stop == start:
            self._ranges[-1] = InputRange(file, last.start, stop)
        else:
            self._ranges.append(InputRange(file, start, stop))

    def _end(self) -> None:
        self._done.append(ShardRows(len(self._done), tuple(self._ranges), self._rows))
        self._ranges, self._rows, self._nbytes = [], 0, 0
