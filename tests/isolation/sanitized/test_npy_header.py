"""Headers of npy files are those that NumPy writes; what is no array of numbers is refused before NumPy reads it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertviz_core.isolation.regular_files import open_regular
from bertviz_core.isolation.sanitized.npy_header import HEADER_NBYTES, npy_header

VALUES = np.arange(12, dtype="<i2").reshape(3, 4)


def read(path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any], bytes]:
    with open_regular(path) as file:
        return *npy_header(file), file.read()


@pytest.mark.parametrize("values", [VALUES, np.asfortranarray(VALUES), np.zeros((0, 2), "<f2"), np.float64(3.5)])
def test_shape_order_dtype_and_place_are_those_of_what_numpy_saved(values: Any, tmp_path: Path) -> None:
    path = tmp_path / "values.npy"
    np.save(path, values)
    shape, fortran_order, dtype, raw = read(path)
    assert (shape, dtype) == (np.shape(values), values.dtype)
    order = "F" if fortran_order else "C"
    np.testing.assert_array_equal(np.frombuffer(raw, dtype).reshape(shape, order=order), values)


def test_python_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "objects.npy"
    np.save(path, np.array([{}, {}]))
    with pytest.raises(ValueError, match="objects"):
        read(path)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "its shape is none"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % 2**60, "its shape is none"),
        (b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"(" * 5000, "its header cannot be read"),
        (b" " * (HEADER_NBYTES + 1), "its header is too long"),
    ],
)
def test_a_crafted_header_is_refused(header: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "crafted.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(ValueError, match=reason):
        read(path)


@pytest.mark.parametrize("raw", [b"", b"\x93NUMPY", b"PK\x03\x04 an archive", b"\x93NUMPY\x03\x00" + bytes(100)])
def test_what_is_no_such_file_is_refused(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "values.npy"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"."):
        read(path)
