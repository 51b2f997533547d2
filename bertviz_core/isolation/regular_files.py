"""Open the files of a checkpoint safely: only regular files inside the folder of the model.

In an untrusted folder a name may be a link to any file of this machine, a pipe that never ends, or a device. Files are
checked before they are opened and again afterwards.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from bertviz_core.errors import CheckpointError, ModelNotFoundError, TextError
from bertviz_core.settings import Settings
from bertviz_core.text import LFS_NBYTES, escape_controls, pointer_message, quoted

CONFIG_FILE, ADAPTER_CONFIG, MODULES_FILE = "config.json", "adapter_config.json", "modules.json"
GLINER_CONFIG = "gliner_config.json"
TRAINER_FOLDER = re.compile(r"checkpoint-\d{1,15}")
"""Name that a trainer gives to the folder of a checkpoint."""
MOST_ENTRIES, MOST_OFFERED = 100_000, 20
"""Maximum number of entries of a folder that are looked at, and of checkpoints of a run in a list of models."""
CONFIG_NBYTES = 8 * 1024**2
"""Maximum size of a config; sufficient for a million labels."""
MAX_VALUES = 500_000
"""Maximum number of values of a small JSON file; in memory they take ten times the size of the file."""
INDEX_NBYTES = 64 * 1024**2
"""Maximum size of a list of shards."""
VOCABULARY_NBYTES = 64 * 1024**2
"""Maximum size of a tokenizer file; the largest known ones, with 250,000 words, have half of it."""
DENSE_NBYTES = 512 * 1024**2
"""Maximum size of a dense layer after pooling."""
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Without O_NONBLOCK, opening a pipe would wait for a writer."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Do not follow a file that was replaced by a link after the check."""
_LINKS: dict[Path, frozenset[Path]] = {}
"""Folder of this process -> files outside of it that its links may lead to."""


def present(folder: Path, name: str) -> bool:
    """Whether a folder has an entry of this name, of any kind; own_file checks whether it may be read."""
    return os.path.lexists(folder / name)


def own_file(folder: Path, name: str) -> Path:
    """The path of a file of a model, with links resolved.

    Args:
        name: the name of the file in it, with "/" between the parts.
    """
    path = _own_path(folder, name)
    try:
        if path.stat().st_size <= LFS_NBYTES:
            with open_regular(path) as file:
                if message := pointer_message(name, file.read(LFS_NBYTES)):
                    raise CheckpointError(message)
    except OSError as error:
        raise _unreadable(name, error) from error
    return path


def _own_path(folder: Path, name: str) -> Path:
    parts = PurePosixPath(name)
    if not name.isprintable() or "\\" in name or parts.is_absolute() or ".." in parts.parts:
        raise CheckpointError(f"{quoted(name)} is outside the checkpoint's folder; name a file inside it.")
    if len(parts.parts) == 1 and _is_regular(folder / name):
        return folder / name  # not a link
    try:
        root = folder.resolve(strict=True)
        target = (root / name).resolve(strict=True)
        mode = target.stat().st_mode
    except (OSError, RuntimeError) as error:  # RuntimeError: a link to itself
        raise _unreadable(name, error) from error
    inside = any(target.is_relative_to(allowed) for allowed in _allowed_folders(root))
    if not inside and target not in _LINKS.get(root, ()):
        raise CheckpointError(f"{quoted(name)} is a link out of the model's own folder; copy the file itself there.")
    _check_regular(name, mode)
    return target


def allow_links(folder: Path, targets: Iterable[Path]) -> None:
    """Allow links out of a folder that this process has made, to files that it has checked.

    Args:
        targets: the files, with links resolved.
    """
    _LINKS[folder.resolve()] = frozenset(targets)


def has_links(folder: Path) -> bool:
    """Whether links out of a folder are allowed."""
    return folder in _LINKS or folder.resolve() in _LINKS


def is_own_file(folder: Path, name: str) -> bool:
    """Whether own_file accepts a file, or would but for its content."""
    try:
        _own_path(folder, name)
    except CheckpointError:
        return False
    return True


def open_regular(path: Path, flags: int = 0) -> BufferedReader:
    """Open a regular file for reading, but no pipe or device.

    Args:
        flags: further flags for os.open.
    """
    descriptor = os.open(path, OPEN_FLAGS | flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
    return os.fdopen(descriptor, "rb")


def open_own(folder: Path, name: str) -> BufferedReader:
    """Open a file of a model for reading; the caller closes it."""
    path = own_file(folder, name)
    try:
        return open_regular(path, NO_LINK)
    except OSError as error:
        raise _unreadable(name, error) from error


@contextmanager
def opened(folder: Path, name: str) -> Iterator[BufferedReader]:
    """Open a file of a model for reading."""
    try:
        with open_own(folder, name) as file:
            yield file
    except OSError as error:
        raise _unreadable(name, error) from error


def read_file(folder: Path, name: str, limit: int) -> bytes:
    """The bytes of a small file of a model."""
    with opened(folder, name) as file:
        size = os.fstat(file.fileno()).st_size
        check_size(name, size, limit)
        raw = file.read(limit + 1)
    check_size(name, len(raw), limit)
    return raw


def check_size(name: str, size: int, limit: int) -> None:
    """Check the size of a file."""
    if size > limit:
        raise CheckpointError(
            f"{quoted(name)} has {size:,} bytes; the limit for this kind of file is {limit:,}. Use a smaller file."
        )


def check_values(name: str, raw: bytes, most: int = MAX_VALUES) -> None:
    """Check the number of values of JSON before it is parsed, by its punctuation."""
    count = sum(map(raw.count, (b",", b"[", b"{")))
    if count > most:
        raise CheckpointError(
            f"{quoted(name)} lists about {count:,} values; the limit for this kind of file is {most:,}. "
            "Use a smaller file."
        )


def parsed_json(name: str, raw: bytes, most: int | None = None) -> Any:
    """Parse JSON like transformers, with integers of any size.

    Args:
        name: the name of the file, for error messages.
        most: maximum number of values; None for any.
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
    """Parse a JSON object."""
    try:
        parsed = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise CheckpointError(f"{file} is damaged or in another format: its JSON cannot be read ({error}).") from error
    if not isinstance(parsed, dict):
        raise CheckpointError(f"{file} is in another format: its JSON is not an object.")
    return parsed


def local_folder(name: str, settings: Settings) -> Path | None:
    """The folder with this name inside the models folder (or, if settings permit, any path); None if there is none."""
    try:
        return _named_folder(name, settings)
    except (OSError, RuntimeError):  # a name that is too long, a link to itself, an unknown user
        return None


def readable_path(path: Path, settings: Settings) -> Path:
    """The path of a file or folder in the models or corpora folder; as it is if the settings permit any path."""
    if settings.any_folder:
        return path
    roots = [each.resolve() for each in (settings.models_dir, settings.corpora_dir)]
    with suppress(OSError, RuntimeError, ValueError):  # too long, a link to itself, a null character
        inside = [place for root in roots if (place := (root / path).resolve()).is_relative_to(root)]
        if inside:
            return next((place for place in inside if place.exists()), inside[0])
    raise TextError(
        f"{quoted(escape_controls(str(path)), 60)} is outside the models folder and the corpora folder, the only ones "
        "that are read here; name a file or folder inside one of them."
    )


def local_names(settings: Settings) -> tuple[str, ...]:
    """Names of the folders in the models folder that contain a model, and of checkpoints in them.

    Names that cannot be shown, such as one that is not UTF-8, are left out: a single one would end every page.
    """
    try:
        folders = sorted(
            (path for path in settings.models_dir.iterdir() if path.name.isprintable()),
            key=lambda path: path.name.lower(),
        )
        names = [path.name for path in folders if _is_model(path)]
        return (*names, *(f"{path.name}/{each}" for path in folders for each in saved_checkpoints(path)))
    except OSError:
        return ()


def saved_checkpoints(folder: Path) -> tuple[str, ...]:
    """Names of the last checkpoints in the folder of a training run, the newest first; () for any other folder."""
    if folder.is_symlink() or not folder.is_dir():
        return ()
    with os.scandir(folder) as entries:
        steps = [entry.name for entry in islice(entries, MOST_ENTRIES) if TRAINER_FOLDER.fullmatch(entry.name)]
    newest = sorted(steps, key=lambda name: int(name.rpartition("-")[2]), reverse=True)[:MOST_OFFERED]
    return tuple(name for name in newest if not (folder / name).is_symlink() and _is_model(folder / name))


def _is_model(folder: Path) -> bool:
    return any(is_own_file(folder, name) for name in (CONFIG_FILE, ADAPTER_CONFIG, MODULES_FILE, GLINER_CONFIG))


def _named_folder(name: str, settings: Settings) -> Path | None:
    if settings.any_folder:
        folder = Path(name).expanduser().absolute()  # a notebook may change its working directory
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
    """The folder itself, and for a snapshot in the Hub cache, or a folder in one, the blobs that it links to."""
    for snapshot in (root, root.parent):
        repository = snapshot.parent.parent
        if snapshot.parent.name == "snapshots" and repository.name.startswith("models--"):
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
