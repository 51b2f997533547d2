"""Write files atomically."""

import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

PART = re.compile(r".+\.[0-9a-f]{16}\.part")
"""Temporary names of unfinished files."""


def write_whole(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file atomically: under a temporary name, flushed to disk, then renamed.

    Args:
        write: writes to the open file.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _keep_name(path.parent)
    finally:
        part.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of killed writers; the caller holds the lock of the folder."""
    for path in folder.iterdir():
        if PART.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _keep_name(folder: Path) -> None:
    """Flush a folder to disk, if the file system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
