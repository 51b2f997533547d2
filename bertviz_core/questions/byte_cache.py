"""Values kept while there is room, by bytes and not by count: one large one pushes out many small ones."""

import dataclasses
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np

T = TypeVar("T")
LOOKED_AT = 64
"""Entries of a long collection that are measured; the others are taken to be like them."""


class ByteCache:
    """The most recently used values up to a budget of bytes; may be used from many threads.

    Only the value made last may alone be larger than the budget: it would otherwise be made anew at every look.
    """

    def __init__(self, max_nbytes: int) -> None:
        """A cache whose values together take at most max_nbytes bytes."""
        if max_nbytes <= 0:
            raise ValueError(f"max_nbytes is {max_nbytes}")
        self._max_nbytes = max_nbytes
        self._held: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()
        self._nbytes = 0
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of the values held."""
        with self._lock:
            return self._nbytes

    def __len__(self) -> int:
        """Count of values held."""
        with self._lock:
            return len(self._held)

    @property
    def max_nbytes(self) -> int:
        """The budget."""
        return self._max_nbytes

    def get(self, key: Hashable) -> Any:
        """The value of a key; None where it is not at hand."""
        entry = self._get(key)
        return None if entry is None else entry[1]

    def put(self, key: Hashable, value: object, nbytes: int | None = None) -> None:
        """Keep a value that was made elsewhere; nbytes are its bytes, retained_nbytes where they are not given."""
        self._put(key, value, retained_nbytes(value) if nbytes is None else nbytes)

    def pop(self, key: Hashable) -> None:
        """Let go of a key's value, if it is at hand."""
        with self._lock:
            self._nbytes -= self._held.pop(key, (0, None))[0]

    def made(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int] | None = None) -> T:
        """The value of a key: the one at hand, or a new one, made once however many ask for it at the same time.

        Args:
            key: what the value depends on.
            make: makes the value; what it raises is passed on, and nothing is kept.
            size: bytes of a value; retained_nbytes where it is not given.
        """
        held = self._get(key)
        if held is not None:
            return cast(T, held[1])
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            held = self._get(key)
            if held is not None:
                return cast(T, held[1])
            try:
                value = make()
                self._put(key, value, (size or retained_nbytes)(value))
                return value
            finally:
                with self._lock:
                    self._making.pop(key, None)

    def make_room(self, nbytes: int) -> int:
        """Let go of the values used longest ago until so many bytes more fit into the budget; how many those were."""
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
    """About how many bytes a result takes: its arrays and texts to the byte, its long tables by a sample of their rows.

    What two results share, such as an array that both view, is counted in each; a text that stands in a collection more
    than once is counted once.
    """
    if isinstance(value, np.ndarray):
        owner = _owner(value)
        texts = _texts_nbytes(owner.ravel().tolist()) if owner.dtype.hasobject else 0
        return max(owner.nbytes, sys.getsizeof(owner)) + texts
    if hasattr(value, "data_ptr"):  # of a tensor of torch, which is not imported here
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
    """The array whose memory a view keeps alive."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _fields(value: object) -> tuple[str, ...]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(field.name for field in dataclasses.fields(value))
    return tuple(getattr(value, "__struct_fields__", ()))  # of a msgspec struct


def _sampled(values: Collection[object]) -> int:
    """Bytes of all entries: of every text, of the others from evenly spaced ones where there are many."""
    if any(isinstance(each, str) for each in values):
        others = [each for each in values if not isinstance(each, str)]
        return _texts_nbytes(values) + (_sampled(others) if others else 0)
    step = max(1, len(values) // LOOKED_AT)
    looked_at = [retained_nbytes(each) for index, each in enumerate(values) if index % step == 0]
    return sum(looked_at) * len(values) // max(1, len(looked_at))


def _texts_nbytes(values: Collection[object]) -> int:
    """Bytes of all texts among the values, each counted once, however long one of many is."""
    return sum({id(each): sys.getsizeof(each) for each in values if isinstance(each, (str, bytes))}.values())


def _frame_nbytes(frame: Any) -> int:
    """Bytes of a table of pandas, which is not imported here: what many of its rows share is counted once."""
    arrays = [column.to_numpy() for _, column in frame.items()]  # views of one array, of which each is a part
    texts = sum(_texts_nbytes(array.tolist()) for array in arrays if array.dtype.hasobject)
    return sum(int(array.nbytes) for array in arrays) + texts + _sampled(list(frame.columns))
