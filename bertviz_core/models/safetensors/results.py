"""Results about safetensors headers.

Tensors are msgspec structs, which are created faster than dataclasses; there may be 100,000 of them.
"""

from dataclasses import dataclass

import msgspec


class StoredTensor(msgspec.Struct, frozen=True, gc=False):
    """A tensor in a safetensors header."""

    name: str
    """Name in the file."""
    shape: tuple[int, ...]
    """Size of every axis; () for a single number."""
    dtype: str
    """Number format in torch, such as "float32"."""
    nbytes: int
    file: str
    """Name of its file (shard)."""
    begin: int = 0
    """Offset of its first byte after the header of the file."""


@dataclass(frozen=True, slots=True)
class CheckpointHeader:
    """The headers of all safetensors files of a checkpoint."""

    tensors: tuple[StoredTensor, ...]
    """All tensors, in the order of the files and of their values."""
    files: tuple[str, ...]
    """Names of the files read."""
    header_nbytes: int
    """Bytes read: length fields and headers."""
