"""Read the bytes of all tensors of a checkpoint, one after another, so that no value is in memory twice."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import opened
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.text import quoted


def raw_values(folder: Path) -> Iterator[tuple[StoredTensor, UInt8[np.ndarray, " nbytes"]]]:
    """Every tensor of the safetensors files of a folder, and its bytes in memory of its own.

    The files are read, not memory-mapped: overwriting a mapped file would crash the process.

    Raises:
        CheckpointError: there are no safetensors files, or one is damaged or became shorter.
    """
    header = read_header(folder)
    for file in header.files:
        with opened(folder, file) as stream:
            start = 8 + int.from_bytes(stream.read(8), "little")
            for tensor in (each for each in header.tensors if each.file == file):
                values = np.empty(tensor.nbytes, dtype=np.uint8)
                stream.seek(start + tensor.begin)
                if stream.readinto(values.data) != tensor.nbytes:
                    raise CheckpointError(f"{quoted(file)} became shorter while it was read; open it again when whole.")
                yield tensor, values
