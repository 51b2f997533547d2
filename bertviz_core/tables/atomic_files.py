"""Files that are there whole or not at all, tables of vectors among them."""

import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import pyarrow as pa

PART = re.compile(r".+\.[0-9a-f]{16}\.part")
"""Names under which files are written before they get their own."""
ROW_GROUP_ROWS = 512
"""Rows that are read together when one of them is wanted."""


def write_whole(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file under another name, have the disk keep it, and then give it its own.

    A kill at any moment leaves the file as it was before, or as it is meant to be.

    Args:
        path: where it will be.
        write: writes to the open file.

    Raises:
        OSError: the disk is full, or refuses for another reason.
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


def write_table(path: Path, table: "pa.Table") -> None:
    """Write a table as a Parquet file, whole, every page with its checksum; lists of numbers, and keys, as they are.

    Raises:
        OSError: as write_whole.
    """
    import pyarrow.types as kinds
    from pyarrow.parquet import write_table as write_parquet

    vectors = [field.name for field in table.schema if kinds.is_fixed_size_list(field.type)]
    keys = [field.name for field in table.schema if kinds.is_fixed_size_binary(field.type)]
    others = [name for name in table.column_names if name not in (*vectors, *keys)]
    plain = dict.fromkeys([*keys, *(f"{name}.list.element" for name in vectors)], "none")
    options = {
        "use_dictionary": others,
        "compression": {**dict.fromkeys(others, "zstd"), **plain},
        "write_page_checksum": True,
    }
    write_whole(path, lambda file: write_parquet(table, file, row_group_size=ROW_GROUP_ROWS, **options))


def remove_leftovers(folder: Path) -> None:
    """Remove what writers that were killed left behind; only for one who holds the folder's lock."""
    for path in folder.iterdir():
        if PART.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _keep_name(folder: Path) -> None:
    """Have the disk keep a folder's list of names, where its file system can be asked to."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
