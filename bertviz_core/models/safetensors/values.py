"""Read the values of stored tensors."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import open_own, opened
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.text import quoted

FLOATS: Mapping[str, str] = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "bfloat16": "<u2"}
"""dtype in torch -> that of the stored bytes."""


class TensorReader:
    """Reads tensors of the safetensors files of a folder: a context manager, which opens each file once and closes it.

    Args:
        folder: the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, tuple[BufferedReader, int]] = {}

    def __enter__(self) -> "TensorReader":
        return self

    def __exit__(self, *_: object) -> None:
        for file, _start in self._files.values():
            file.close()
        self._files.clear()

    def read(self, tensor: StoredTensor) -> Float[np.ndarray, "..."]:
        """The values of a tensor as float32, not to be written to."""
        if tensor.dtype not in FLOATS:
            raise CheckpointError(
                f"{quoted(tensor.name)} is stored as {tensor.dtype}; here floating-point numbers of 16 bits or more "
                "are needed."
            )
        if tensor.file not in self._files:
            opened_file = open_own(self._folder, tensor.file)
            self._files[tensor.file] = (opened_file, 8 + int.from_bytes(opened_file.read(8), "little"))
        file, start = self._files[tensor.file]
        file.seek(start + tensor.begin)
        raw = file.read(tensor.nbytes)
        if len(raw) != tensor.nbytes:
            raise CheckpointError(f"{quoted(tensor.file)} became shorter while it was read; open it again when whole.")
        stored = np.frombuffer(raw, FLOATS[tensor.dtype])
        if tensor.dtype == "bfloat16":  # the upper half of a float32
            stored = (stored.astype(np.uint32) << 16).view(np.float32)
        values: np.ndarray = stored.astype(np.float32, copy=False).reshape(tensor.shape)
        return values


def raw_values(folder: Path) -> Iterator[tuple[StoredTensor, UInt8[np.ndarray, " nbytes"]]]:
    """Every tensor of the safetensors files of a folder, and its bytes in memory of its own.

    No value is in memory twice. The files are read, not memory-mapped: overwriting a mapped file would crash the
    process.
    """
    header = read_header(folder)
    by_file: dict[str, list[StoredTensor]] = {file: [] for file in header.files}
    for tensor in header.tensors:
        by_file[tensor.file].append(tensor)
    for file, tensors in by_file.items():
        with opened(folder, file) as stream:
            start = 8 + int.from_bytes(stream.read(8), "little")
            for tensor in tensors:
                values = np.empty(tensor.nbytes, dtype=np.uint8)
                stream.seek(start + tensor.begin)
                if stream.readinto(values.data) != tensor.nbytes:
                    raise CheckpointError(f"{quoted(file)} became shorter while it was read; open it again when whole.")
                yield tensor, values


def write_tensors(path: Path, shapes: Mapping[str, Sequence[int]], values: Iterator[Float[np.ndarray, "..."]]) -> None:
    """Write a safetensors file of float32, one tensor at a time."""
    entries, begin = {}, 0
    for name, shape in shapes.items():
        end = begin + 4 * math.prod(shape)
        entries[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
        begin = end
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for each in values:
            file.write(np.ascontiguousarray(each, "<f4").data)
