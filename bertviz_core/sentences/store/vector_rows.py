"""Read the vectors of a corpus lazily from their file.

The file is not memory-mapped: truncating a mapped file would end the whole process.
"""

import os
import weakref
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.errors import CorpusError
from bertviz_core.isolation.regular_files import open_regular
from bertviz_core.isolation.sanitized.npy_header import npy_header
from bertviz_core.text import quoted

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
        """Open a file.

        Raises:
            OSError: the file cannot be opened, or is not a regular file.
            ValueError: the file is no complete two-dimensional array in row order.
        """
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
        """Read a row by its number, or several by a slice, a mask or an array of numbers.

        Raises:
            CorpusError: the file was truncated after it was opened.
            IndexError: there is no such row.
        """
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
        """Fill an array with consecutive rows of the file, from a row on.

        Raises:
            CorpusError: the file was truncated after it was opened.
        """
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
