"""Files that are there whole or not at all, and a folder that one process at a time may write to."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bertviz_core.errors import CorpusError
from bertviz_core.sentences.store import files
from bertviz_core.text import quoted

if TYPE_CHECKING:
    import pyarrow as pa

LOCK_FILE = "writer.lock"
remove_parts = files.remove_parts
"""Removes what writers that were killed left behind."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_whole(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file, whole (bertviz_core.sentences.store.files.write_whole).

    Raises:
        CorpusError: the disk is full, or refuses for another reason.
    """
    try:
        files.write_whole(path, write)
    except OSError as error:
        raise refusal(path, error) from error


def write_table(path: Path, table: "pa.Table") -> None:
    """Write a table as a Parquet file, whole (bertviz_core.sentences.store.files.write_table).

    Raises:
        CorpusError: as write_whole.
    """
    try:
        files.write_table(path, table)
    except OSError as error:
        raise refusal(path, error) from error


def refusal(path: Path, error: OSError) -> CorpusError:
    """The error for a file that could not be written."""
    name = quoted(f"{path.parent.name}/{path.name}")
    if error.errno in NO_ROOM:
        return CorpusError(
            f"There is no room for {name} ({error.strerror}). What was written stays; make room, and the same command "
            "goes on from there."
        )
    return CorpusError(f"{name} cannot be written ({error.strerror or error}).")


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; it ends with the process that holds it, however that ends.

    Raises:
        CorpusError: another process holds it, or the folder cannot be written to.
    """
    import fcntl

    path = folder / LOCK_FILE
    try:
        file = path.open("a")
    except OSError as error:
        raise refusal(path, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CorpusError(
                f"Another process is writing to {quoted(str(folder))}; wait until it has ended, or give another folder."
            ) from error
        yield
