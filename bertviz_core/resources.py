"""A cache by bytes, and the threads of BLAS."""

import dataclasses
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np

from bertviz_core.errors import SupersededError

T = TypeVar("T")
LOOKED_AT = 64
"""Number of entries of a long collection that are measured; the size of the others is extrapolated."""


class _Making:
    """A value that is being computed, and those who wait for it."""

    def __init__(self) -> None:
        self.lock, self.callers = Lock(), 0
        self.error: Exception | None = None


class ByteCache:
    """A thread-safe LRU cache with a budget in bytes.

    A value larger than the budget is kept until the next one is added, so that it is not recomputed on every access.
    """

    def __init__(self, max_nbytes: int) -> None:
        """Create an empty cache with a budget in bytes."""
        if max_nbytes <= 0:
            raise ValueError(f"max_nbytes is {max_nbytes}")
        self._max_nbytes = max_nbytes
        self._held: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()
        self._nbytes = 0
        self._making: dict[Hashable, _Making] = {}
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of the cached values."""
        with self._lock:
            return self._nbytes

    def __len__(self) -> int:
        """Number of cached values."""
        with self._lock:
            return len(self._held)

    @property
    def max_nbytes(self) -> int:
        """The budget in bytes."""
        return self._max_nbytes

    def get(self, key: Hashable) -> Any:
        """Return the value of a key; None if it is not cached."""
        entry = self._get(key)
        return None if entry is None else entry[1]

    def put(self, key: Hashable, value: object, nbytes: int | None = None) -> None:
        """Add a value; nbytes is its size, by default retained_nbytes."""
        self._put(key, value, retained_nbytes(value) if nbytes is None else nbytes)

    def pop(self, key: Hashable, value: object = None) -> None:
        """Remove the value of a key, if it is cached; with a value, only that one and none put in its place since."""
        with self._lock:
            if value is None or self._held.get(key, (0, None))[1] is value:
                self._nbytes -= self._held.pop(key, (0, None))[0]

    def get_or_compute(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int] | None = None) -> T:
        """Return the cached value of a key, or compute it; concurrent callers wait for a single computation.

        They share its error, too, unless it was superseded for the caller that made it.

        Args:
            key: identifies everything that the value depends on.
            make: computes the value; its exceptions are propagated, and nothing is cached.
            size: size of a value in bytes; defaults to retained_nbytes.
        """
        cached = self._get(key)
        if cached is not None:
            return cast(T, cached[1])
        with self._lock:
            making = self._making.setdefault(key, _Making())
            making.callers += 1
        try:
            with making.lock:
                return self._made(key, make, size or retained_nbytes, making)
        finally:
            with self._lock:
                making.callers -= 1
                if not making.callers:
                    del self._making[key]

    def _made(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int], making: _Making) -> T:
        """The value or the error of whoever was first, or the value computed now."""
        cached = self._get(key)
        if cached is not None:
            return cast(T, cached[1])
        if making.error is not None:
            raise making.error
        try:
            value = make()
        except SupersededError:
            raise
        except Exception as error:
            making.error = error
            raise
        self._put(key, value, size(value))
        return value

    def make_room(self, nbytes: int) -> int:
        """Evict the least recently used values until nbytes more fit into the budget; return their number."""
        with self._lock:
            before = len(self._held)
            while self._held and self._nbytes + nbytes > self._max_nbytes:
                self._nbytes -= self._held.popitem(last=False)[1][0]
            return before - len(self._held)

    def _get(self, key: Hashable) -> tuple[int, Any] | None:
        with self._lock:
            value = self._held.get(key)
            if value is not None:
                self._held.move_to_end(key)
            return value

    def _put(self, key: Hashable, value: object, nbytes: int) -> None:
        self.make_room(nbytes)
        with self._lock:
            if key in self._held:
                self._nbytes -= self._held.pop(key)[0]
            self._held[key] = nbytes, value
            self._nbytes += nbytes


def retained_nbytes(value: object) -> int:
    """Estimate the size of a result in bytes: exact for arrays and texts, by a sample of the rows for long tables.

    Data that two results share, such as a common array, count for each; a text that occurs repeatedly in a collection
    counts once.
    """
    if isinstance(value, np.ndarray):
        owner = _owner(value)
        texts = _texts_nbytes(owner.ravel().tolist()) if owner.dtype.hasobject else 0
        return max(owner.nbytes, sys.getsizeof(owner)) + texts
    if hasattr(value, "data_ptr"):  # a tensor; torch is not imported here
        return int(cast(Any, value).nbytes)
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        return _frame_nbytes(value)
    if isinstance(value, Mapping):
        return sys.getsizeof(value) + _sampled(value.keys()) + _sampled(value.values())
    if isinstance(value, (tuple, list, set, frozenset)):
        return sys.getsizeof(value) + _sampled(value)
    fields = _fields(value)
    return sys.getsizeof(value) + sum(retained_nbytes(getattr(value, name)) for name in fields)


def _owner(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _fields(value: object) -> tuple[str, ...]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(field.name for field in dataclasses.fields(value))
    return tuple(getattr(value, "__struct_fields__", ()))  # a msgspec struct


def _sampled(values: Collection[object]) -> int:
    """Bytes of all entries: exact for texts, extrapolated from evenly spaced entries for others."""
    if any(isinstance(each, str) for each in values):
        others = [each for each in values if not isinstance(each, str)]
        return _texts_nbytes(values) + (_sampled(others) if others else 0)
    step = max(1, len(values) // LOOKED_AT)
    looked_at = [retained_nbytes(each) for index, each in enumerate(values) if index % step == 0]
    return sum(looked_at) * len(values) // max(1, len(looked_at))


def _texts_nbytes(values: Collection[object]) -> int:
    """Bytes of all distinct texts among the values."""
    return sum({id(each): sys.getsizeof(each) for each in values if isinstance(each, (str, bytes))}.values())


def _frame_nbytes(frame: Any) -> int:
    """Bytes of a pandas table (pandas is not imported here); values shared by rows count once."""
    arrays = [column.to_numpy() for _, column in frame.items()]  # views, possibly of one array
    texts = sum(_texts_nbytes(array.tolist()) for array in arrays if array.dtype.hasobject)
    return sum(int(array.nbytes) for array in arrays) + texts + _sampled(list(frame.columns))


BLAS_LOCK = Lock()
"""Held while the number of BLAS threads, a setting of the process, is changed."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit NumPy's BLAS to one thread.

    Each of several threads waits for all others, and is busy while it waits. On two busy cores a product of
    (384, 8) and (8, 384) took up to 190 ms with two threads and 0.1 ms with one (median).
    """
    with BLAS_LOCK, _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> Any:
    """The BLAS libraries of NumPy; finding them takes longer than a command has that only lists parameters."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
