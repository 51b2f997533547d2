"""Results of the parameter ledger: which numbers a model consists of, where they stand and how they add up.

Rows of tables that can have 100,000 of them are msgspec structs, as frozen as a dataclass and far quicker to make.
"""

from dataclasses import dataclass

import msgspec


class StoredTensor(msgspec.Struct, frozen=True):
    """One tensor as a safetensors header lists it; its values are not read."""

    name: str
    """Name in the file."""
    shape: tuple[int, ...]
    """Size of every axis; () for a single number."""
    dtype: str
    """Torch's name of the number format, such as "float32"."""
    nbytes: int
    """Bytes of the values in the file."""
    file: str
    """Name of the file (the shard) that holds it."""


@dataclass(frozen=True, slots=True)
class CheckpointHeader:
    """What the headers of a checkpoint's safetensors files say, all shards together."""

    tensors: tuple[StoredTensor, ...]
    """Every stored tensor, in the order of the files and of the values in them."""
    files: tuple[str, ...]
    """Names of the files read."""
    header_nbytes: int
    """Bytes read: length fields and headers, nothing else."""
