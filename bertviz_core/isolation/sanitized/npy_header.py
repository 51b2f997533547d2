"""Read the header of an npy file: which numbers follow, and that no Python object does."""

from io import BufferedReader
from tokenize import TokenError
from typing import Any

import numpy as np

HEADER_NBYTES = 10_000
"""Maximum size of the header of an array, as in NumPy, which reads it completely before checking the size."""
MOST_NUMBERS = 2**48
"""Maximum size of an axis of an array."""
HEADER_ERRORS = (TokenError, SyntaxError, TypeError, RecursionError, MemoryError)
"""Exceptions of NumPy for an invalid header besides ValueError, since it is parsed as Python code."""


def npy_header(file: BufferedReader) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and dtype of an npy file; the file position is then at its values."""
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
