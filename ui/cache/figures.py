"""Figures kept for all sessions by what they were drawn from: to draw one takes longer than all else of a page."""

import hashlib
import pickle  # only written, for a digest; nothing is ever read back
from types import FunctionType
from typing import Any

from bertviz_core.figures.base.picture import FigureSpec
from bertviz_core.figures.base.style import Theme
from ui.cache.decorator import results

MOST_BYTES = 8 * 1024**2
"""Of what a figure is drawn from; more takes longer to look through than a figure to draw."""
PER_BYTE = 4
"""Bytes of a figure in memory for one of its text, about."""


def cached_figure(figure: Any, look: Theme) -> Any:
    """The figure of a picture in a theme, the one drawn before where it was drawn from the same; a figure as it is."""
    if not isinstance(figure, FigureSpec):
        return figure
    if look.name not in figure.kept:
        digest = content_digest(figure.draw)
        if digest is None:
            return figure.drawn(look)
        made = results().made((__name__, look.name, digest), lambda: figure.drawn(look), _nbytes)
        figure.kept[look.name] = made
    return figure.kept[look.name]


def content_digest(draw: Any) -> bytes | None:
    """What a function is and all that it has at hand, as a digest; None where that is too much or cannot be written.

    Equal digests mean equal code and equal contents. The reverse need not hold: then a figure is drawn once more.
    """
    found = _Digest()
    try:
        _Contents(found, protocol=5).dump(draw)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError):
        return None
    return found.digest


class _Digest:
    """A file that keeps only the digest of what is written."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._room = MOST_BYTES

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._room -= size
        if self._room < 0:
            raise ValueError(f"more than {MOST_BYTES} bytes")
        self._hash.update(data)
        return size

    @property
    def digest(self) -> bytes:
        return self._hash.digest()


class _Contents(pickle.Pickler):
    """Writes functions made within others too, by their code and what they hold."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FunctionType) and "<" in value.__qualname__:
            held = tuple(cell.cell_contents for cell in value.__closure__ or ())
            return _function, (value.__module__, hash(value.__code__), held, value.__defaults__, value.__kwdefaults__)
        return NotImplemented


def _function(*parts: Any) -> None:
    """Stands for a function in a digest."""


def _nbytes(figure: Any) -> int:
    return PER_BYTE * len(figure.to_json())
