"""The one door to a checkpoint's files: regular files inside a model's own folder, and no others.

A folder comes from a stranger: a name in it may be a link to any file of this machine, a pipe that never ends or a
device. What is opened is looked at before (where it really is, how large) and once more when it is open.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path, PurePosixPath
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import orjson

from bertviz_core.errors import CheckpointError, ModelNotFoundError
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

if TYPE_CHECKING:
    import numpy as np

CONFIG_FILE = "config.json"
CONFIG_NBYTES = 8 * 1024**2
"""Most bytes of a config: a million labels fit, and nothing that fills the memory when it is parsed."""
MAX_VALUES = 500_000
"""Most values of a small JSON file: each takes ten times its bytes in memory, and empty lists need two."""
INDEX_NBYTES = 64 * 1024**2
"""Most bytes of a list of shards."""
VOCABULARY_NBYTES = 64 * 1024**2
"""Most bytes of one file of a tokenizer; the largest known, of a quarter of a million words, have half of it."""
DENSE_NBYTES = 512 * 1024**2
"""Most bytes of a dense layer behind the pooling."""
HEADER_NBYTES = 10_000
"""Most bytes of the header of an array, as of NumPy, which reads all that it announces before it compares."""
MOST_NUMBERS = 2**48
"""Most numbers along an axis of an array."""
HEADER_ERRORS = (TokenError, SyntaxError, TypeError, RecursionError, MemoryError)
"""What NumPy raises besides ValueError for a header, which it reads as words of Python."""
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Opening a pipe would wait for one who writes."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""What became a link since it was looked at is not followed."""


def present(folder: Path, name: str) -> bool:
    """Whether a folder has an entry of this name, of whatever kind; own_file says whether it may be read."""
    return os.path.lexists(folder / name)


def own_file(folder: Path, name: str) -> Path:
    """Where a file of a model's folder may be opened: no link, or what a link leads to.

    Args:
        folder: the model's folder.
        name: the file's name in it, with "/" between the parts.

    Raises:
        CheckpointError: it is not there, is no regular file, or lies outside the model's own folder.
    """
    parts = PurePosixPath(name)
    if not name.isprintable() or "\\" in name or parts.is_absolute() or ".." in parts.parts:
        raise CheckpointError(f"{quoted(name)} is outside the checkpoint's folder; name a file inside it.")
    if len(parts.parts) == 1 and _is_regular(folder / name):
        return folder / name  # no link, so it lies where its name says
    try:
        root = folder.resolve(strict=True)
        target = (root / name).resolve(strict=True)
        mode = target.stat().st_mode
    except (OSError, RuntimeError) as error:  # a link that leads to itself
        raise _unreadable(name, error) from error
    if not any(target.is_relative_to(allowed) for allowed in _allowed_folders(root)):
        raise CheckpointError(f"{quoted(name)} is a link out of the model's own folder; copy the file itself there.")
    _check_regular(name, mode)
    return target


def is_own_file(folder: Path, name: str) -> bool:
    """Whether a folder has a file of this name that own_file would give."""
    try:
        own_file(folder, name)
    except CheckpointError:
        return False
    return True


def open_regular(path: Path, flags: int = 0) -> BufferedReader:
    """An ordinary file, open for reading: no pipe that waits for one who writes, no device that never ends.

    Args:
        path: where it is.
        flags: further flags of os.open.

    Raises:
        OSError: it cannot be opened, or is no ordinary file.
    """
    descriptor = os.open(path, OPEN_FLAGS | flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
    return os.fdopen(descriptor, "rb")


def npy_header(file: BufferedReader) -> "tuple[tuple[int, ...], bool, np.dtype[Any]]":
    """Shape, order (whether Fortran's) and type of the array that np.save wrote; the file stands before its values.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such file, holds Python objects, or is of a version that is for names in records alone.
    """
    import numpy as np

    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in readers:
        raise ValueError(f"version {version}")
    begin = file.tell()
    if int.from_bytes(file.read(2 * version[0]), "little") > HEADER_NBYTES:
        raise ValueError("its header is too long")
    file.seek(begin)
    try:
        shape, fortran_order, dtype = readers[version](file)
    except HEADER_ERRORS as error:
        raise ValueError("its header cannot be read") from error
    if not all(type(size) is int and 0 <= size < MOST_NUMBERS for size in shape):
        raise ValueError("its shape is none")
    if dtype.hasobject:
        raise ValueError("objects")
    return shape, fortran_order, dtype


@contextmanager
def opened(folder: Path, name: str) -> Iterator[BufferedReader]:
    """A file of a model's folder, open for reading.

    Raises:
        CheckpointError: as own_file; or it cannot be read.
    """
    path = own_file(folder, name)
    try:
        with open_regular(path, NO_LINK) as file:
            yield file
    except OSError as error:
        raise _unreadable(name, error) from error


def read_file(folder: Path, name: str, limit: int) -> bytes:
    """The bytes of a small file of a model's folder.

    Raises:
        CheckpointError: as opened; or it has more bytes than the limit.
    """
    with opened(folder, name) as file:
        size = os.fstat(file.fileno()).st_size
        check_size(name, size, limit)
        raw = file.read(limit + 1)
    check_size(name, len(raw), limit)
    return raw


def check_size(name: str, size: int, limit: int) -> None:
    """Refuse a file that is larger than its kind ever is.

    Raises:
        CheckpointError: with both sizes.
    """
    if size > limit:
        raise CheckpointError(
            f"{quoted(name)} has {size:,} bytes; the limit for this kind of file is {limit:,}. Use a smaller file."
        )


def check_values(name: str, raw: bytes, most: int = MAX_VALUES) -> None:
    """Refuse JSON of more values than a small file ever has, before any of it is parsed.

    Raises:
        CheckpointError: with both counts; signs inside texts count too.
    """
    count = sum(map(raw.count, (b",", b"[", b"{")))
    if count > most:
        raise CheckpointError(
            f"{quoted(name)} lists about {count:,} values; the limit for this kind of file is {most:,}. "
            "Use a smaller file."
        )


def parsed_json(name: str, raw: bytes, most: int | None = None) -> Any:
    """What some JSON means, read as transformers reads it: whole numbers of any length.

    Args:
        name: the file's name, for messages.
        raw: its bytes.
        most: how many values it may list; None for any.

    Raises:
        CheckpointError: it is no JSON, or lists more values.
    """
    if most is not None:
        check_values(name, raw, most)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{quoted(name)} is damaged or in another format: its JSON cannot be read ({str(error)[:80]})."
        ) from error


def json_object(file: str, raw: bytes) -> dict[str, Any]:
    """The JSON object in some bytes of a file.

    Raises:
        CheckpointError: it is no JSON, or no object.
    """
    try:
        parsed = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise CheckpointError(f"{file} is damaged or in another format: its JSON cannot be read ({error}).") from error
    if not isinstance(parsed, dict):
        raise CheckpointError(f"{file} is in another format: its JSON is not an object.")
    return parsed


def local_folder(name: str, settings: Settings) -> Path | None:
    """The folder that a name means; None where there is none. A name cannot lead out of the models folder."""
    try:
        return _named_folder(name, settings)
    except (OSError, RuntimeError):  # a name too long for a file, a link to itself, the home of a user who is not there
        return None


def _named_folder(name: str, settings: Settings) -> Path | None:
    if settings.any_folder:
        folder = Path(name).expanduser().absolute()  # it is linked to from elsewhere, and a notebook may change its own
        if folder.is_dir():
            return folder
        if name.startswith(("/", "./", "../", "~")):
            raise ModelNotFoundError(f"No folder {quoted(name)} found; give the folder that holds {CONFIG_FILE}.")
    root = settings.models_dir.resolve()
    relative = name.removeprefix(f"{settings.models_dir.name}/")
    if "\\" in relative or ".." in relative.split("/") or relative.startswith(("/", "~")):
        raise ModelNotFoundError(
            f"{quoted(name)} is outside the models folder; name a folder inside {settings.models_dir.name}."
        )
    candidate = (root / relative).resolve()
    if not candidate.is_dir() or candidate == root:
        return None
    if not candidate.is_relative_to(root):
        raise ModelNotFoundError(
            f"{quoted(name)} is a link out of the models folder; copy the files themselves into it."
        )
    return candidate


def _allowed_folders(root: Path) -> tuple[Path, ...]:
    """The folder itself; a snapshot in the Hub's cache is links into the blobs of its own repository."""
    repository = root.parent.parent
    if root.parent.name == "snapshots" and repository.name.startswith("models--"):
        return root, repository / "blobs"
    return (root,)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _check_regular(name: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise CheckpointError(f"{quoted(name)} is a folder where a file was expected; put the checkpoint's file there.")
    if not stat.S_ISREG(mode):
        raise CheckpointError(f"{quoted(name)} is not an ordinary file; put the checkpoint's own file there.")


def _unreadable(name: str, error: Exception) -> CheckpointError:
    why = getattr(error, "strerror", None) or "its link is broken"
    return CheckpointError(f"{quoted(name)} cannot be read ({why}); check that it is there and readable.")
