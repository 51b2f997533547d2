"""Cache drawn figures for all sessions: drawing one takes longer than the rest of a page."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.trace.results import Trace
from ui.cache.memoize import results

MOST_BYTES = 8 * 1024**2
"""Most bytes of arrays and texts that are hashed; hashing more takes longer than drawing the figure."""
MOST_VALUES = 20_000
"""Most single values that are hashed."""
PER_BYTE = 4
"""Estimated bytes of a figure in memory per byte of its JSON."""


def cached_figure(figure: Any, theme: Theme) -> Any:
    """Return the drawn figure of a specification in a theme and width; a finished figure is returned unchanged."""
    if not isinstance(figure, FigureSpec):
        return figure
    look = (theme.name, theme.pixels, theme.tall)
    if look not in figure.cache:
        digest = key_digest(figure.key) if figure.key else None
        if digest is None:
            return figure.drawn(theme)
        cached = results().get_or_compute((__name__, *look, digest), lambda: figure.drawn(theme), _nbytes)
        figure.cache[look] = cached
    return figure.cache[look]


def key_digest(key: tuple[object, ...]) -> bytes | None:
    """Hash a figure's name and the values of its inputs; None if there are too many of them.

    Inputs are compared by value and not by identity, so that recomputed results find the figure drawn before.
    """
    digest = _Digest()
    try:
        digest.add(key)
    except _TooMuch:
        return None
    return digest.value


class _TooMuch(Exception):  # noqa: N818  # no error: it ends the walk
    """The inputs are too large to hash, or of a type that cannot be hashed by value."""


class _Digest:
    """Hashes plain values, arrays, collections and frozen results, each with its type."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._bytes, self._values = MOST_BYTES, MOST_VALUES

    @property
    def value(self) -> bytes:
        return self._hash.digest()

    def add(self, value: object) -> None:
        self._values -= 1
        if self._values < 0:
            raise _TooMuch
        if isinstance(value, Trace):  # large, but identical for the same model, revision, number format and text
            self.add((value.model, value.revision, value.dtype, value.attention_source, value.tokens))
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
            self._write(type(value), f"{value.dtype.str}{value.shape}", value.nbytes)
            self._hash.update(np.ascontiguousarray(value).data)
        elif value is None or isinstance(value, str | bool | int | float | np.generic):
            text = repr(value)
            self._write(type(value), text, len(text))
        elif isinstance(value, Mapping):
            self._collection(value, [part for pair in value.items() for part in pair])
        elif isinstance(value, Sequence):
            self._collection(value, value)
        elif isinstance(value, msgspec.Struct):
            self._struct(value)
        elif dataclasses.is_dataclass(value):
            self._collection(value, [getattr(value, field.name) for field in dataclasses.fields(value)])
        else:
            raise _TooMuch

    def _collection(self, whole: object, parts: Sequence[object]) -> None:
        if len(parts) > self._values:
            raise _TooMuch
        self._write(type(whole), str(len(parts)), 0)
        for part in parts:
            self.add(part)

    def _struct(self, value: msgspec.Struct) -> None:
        """Hash all fields at once, since a ledger has thousands of rows."""
        try:
            raw = msgspec.msgpack.encode(value)
        except (TypeError, ValueError, OverflowError) as error:  # an object, a lone surrogate, a very large number
            raise _TooMuch from error
        self._write(type(value), str(len(raw)), len(raw))
        self._hash.update(raw)

    def _write(self, kind: type, text: str, nbytes: int) -> None:
        self._bytes -= nbytes
        if self._bytes < 0:
            raise _TooMuch
        self._hash.update(
            f"{kind.__module__}.{kind.__qualname__} {len(text)} {text} ".encode("utf-8", "backslashreplace")
        )


def _nbytes(figure: Any) -> int:
    return PER_BYTE * len(figure.to_json())
