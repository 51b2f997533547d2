"""Read a checkpoint's values tensor by tensor, in pieces and without torch.

Pieces are read, not memory-mapped: if a mapped file is truncated under a running server, the next access ends the
whole process, whereas a short read can be reported as an error.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.checkpoints.rounding import SCALED, Rounding, copy_name, format_of, groups_of, rounded
from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import opened
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.adapters.merging import MergedMatrix
from bertviz_core.models.safetensors.folder import DTYPE_NBYTES, read_header
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.models.sources import ModelSource
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

Bytes = bytes | memoryview
PIECE_NUMBERS, BEGINNING = 2**16, 64
"""Numbers in memory at once: 0.5 MiB as float64, of which several fit into a processor's cache; bytes of a piece that
are compared first."""
PLAIN = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "bool": "?", "int8": "i1", "uint8": "u1"}
PLAIN |= {f"{sign}int{bits}": f"<{sign or 'i'}{bits // 8}" for bits in (16, 32, 64) for sign in ("", "u")}
SMALL = {
    "float8_e4m3fn": (4, 3, 7, "all ones"),
    "float8_e5m2": (5, 2, 15, "IEEE"),
    "float8_e4m3fnuz": (4, 3, 8, "minus zero"),
    "float8_e5m2fnuz": (5, 2, 16, "minus zero"),
    "float4_e2m1fn_x2": (2, 1, 1, ""),
}
"""Formats of at most eight bits: exponent bits, mantissa bits, bias, and codes of NaN (OCP 8-bit floating point
specification, table 1; the fnuz formats as in Noune et al. 2022; OCP microscaling formats, section 5.3)."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A model's local files, ready to be read."""

    name: str
    """Name under which the model was requested."""
    revision: str
    """Identifier that changes with its files."""
    config: Mapping[str, Any]
    folder: Path
    header: CheckpointHeader
    rounding: Rounding = ""
    """Format that its numbers are rounded to as they are read."""

    @property
    def model_type(self) -> str:
        """model_type of the family."""
        return str(self.config.get("model_type", ""))

    @property
    def nbytes(self) -> int:
        """Size of all values in bytes."""
        return sum(tensor.nbytes for tensor in self.header.tensors)


class TensorSlice(NamedTuple):
    """Location of the values of one tensor."""

    tensor: StoredTensor
    path: Path
    start: int
    """Offset of the first byte in the file."""
    rounding: Rounding = ""
    merged: MergedMatrix | None = None
    """What computes the values, for a matrix that an adapter updates; None for values in the file."""

    @property
    def dtype(self) -> str:
        """Name of the value format in torch."""
        return self.rounding or self.tensor.dtype


def open_checkpoint(source: ModelSource, settings: Settings) -> Checkpoint:
    """Open a model's checkpoint, single file or sharded; headers are checked, no value is read."""
    folder = weights_folder(source, settings)
    revision = source.revision if source.folder is not None else folder.name
    return Checkpoint(source.name, revision, source.config, folder, read_header(folder))


def rounded_copy(checkpoint: Checkpoint, rounding: Rounding) -> Checkpoint:
    """Return the same checkpoint with real numbers rounded to a format when read."""
    name, revision = copy_name(checkpoint.name, rounding), f"{checkpoint.revision} {rounding}"
    return replace(checkpoint, name=name, revision=revision, rounding=rounding)


def tensor_slices(checkpoint: Checkpoint) -> dict[str, TensorSlice]:
    """Return stored name -> location of its values, for every tensor, in the order of the files."""
    starts: dict[str, int] = {}
    slices = {}
    for tensor in checkpoint.header.tensors:
        path = checkpoint.folder / tensor.file
        if tensor.file not in starts:
            starts[tensor.file] = 8 + int.from_bytes(_read(path, 0, 8), "little")
        rounding = format_of(checkpoint.rounding, tensor.dtype, len(tensor.shape))
        slices[tensor.name] = TensorSlice(tensor, path, starts[tensor.file] + tensor.begin, rounding)
    return slices


def is_readable(dtype: str) -> bool:
    """Return whether values of this format can be decoded: real numbers in whole or half bytes."""
    return dtype in PLAIN or dtype in SMALL or dtype in ("bfloat16", "float8_e8m0fnu")


def raw_pieces(place: TensorSlice) -> Iterator[memoryview]:
    """Yield the bytes of one tensor, PIECE_NUMBERS numbers at a time; a piece is overwritten by the next."""
    nbytes = place.tensor.nbytes
    step = max(1, int(PIECE_NUMBERS * DTYPE_NBYTES[place.tensor.dtype]))
    if place.merged is not None:
        whole = np.ascontiguousarray(place.merged.values(), "<f4").reshape(-1).view(np.uint8).data
        yield from (whole[begin : begin + step] for begin in range(0, nbytes, step))
        return
    buffer = memoryview(bytearray(min(step, nbytes)))
    with opened(place.path.parent, place.path.name) as file:
        file.seek(place.start)
        for begin in range(0, nbytes, step):
            piece = buffer[: min(step, nbytes - begin)]
            if file.readinto(piece) != len(piece):
                raise _truncated(place.path)
            yield piece


def same_bytes(first: Bytes, second: Bytes) -> bool:
    """Return whether two pieces are equal; Python compares views byte by byte, so only their beginnings."""
    if first[:BEGINNING] != second[:BEGINNING]:
        return False
    return np.array_equal(np.frombuffer(first, np.uint8), np.frombuffer(second, np.uint8))


def number_pieces(place: TensorSlice) -> Iterator[Float[np.ndarray, " numbers"]]:
    """Yield the numbers of one tensor, PIECE_NUMBERS at a time, for any format."""
    decode, at = decoder(place), 0
    for raw in raw_pieces(place):
        values = decode(raw, at)
        at += len(values)
        yield values


def numbers(raw: Bytes, place: TensorSlice) -> Float[np.ndarray, " numbers"]:
    """Decode a piece of one tensor to float64, rounded for a copy in a floating-point format."""
    return rounded(decoded(raw, place.tensor.dtype), place.rounding)


def decoder(place: TensorSlice) -> Callable[[Bytes, int], Float[np.ndarray, " numbers"]]:
    """Return a function that decodes a piece of one tensor to float64, rounded for a rounded copy.

    The function takes the bytes of the piece and the place of its first number. For a format with scales, the tensor is
    read once before.
    """
    if place.rounding not in SCALED:
        return lambda raw, _: numbers(raw, place)
    dtype = place.tensor.dtype
    groups = groups_of((decoded(raw, dtype) for raw in raw_pieces(place)), place.tensor.shape, place.rounding)
    return lambda raw, at: groups.rounded(decoded(raw, dtype), at)


@np.errstate(invalid="ignore")  # signalling NaNs stay NaN
def decoded(raw: Bytes, dtype: str) -> Float[np.ndarray, " numbers"]:
    """Decode stored numbers to float64 exactly; whole numbers beyond 2^53 are rounded to the nearest."""
    if dtype in PLAIN:
        return np.frombuffer(raw, PLAIN[dtype]).astype(np.float64)
    if dtype == "bfloat16":
        # A bfloat16 is the upper half of a float32.
        return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    codes = np.frombuffer(raw, np.uint8)
    if dtype == "float4_e2m1fn_x2":
        return _small_floats(dtype)[np.stack([codes & 15, codes >> 4], axis=1).reshape(-1)]
    if dtype not in SMALL and dtype != "float8_e8m0fnu":
        raise ValueError(f"numbers of {dtype} cannot be decoded")
    return _small_floats(dtype)[codes]


@cache
def _small_floats(dtype: str) -> Float[np.ndarray, " codes"]:
    if dtype == "float8_e8m0fnu":
        return np.append(np.exp2(np.arange(255) - 127.0), np.nan)
    exponent_bits, mantissa_bits, bias, nan = SMALL[dtype]
    codes: Int[np.ndarray, " codes"] = np.arange(2 ** (1 + exponent_bits + mantissa_bits))
    mantissa, exponent = codes % 2**mantissa_bits, codes // 2**mantissa_bits % 2**exponent_bits
    sign = np.where(codes // 2 ** (exponent_bits + mantissa_bits), -1.0, 1.0)
    significand = np.where(exponent, 2**mantissa_bits + mantissa, mantissa)
    numbers: np.ndarray = sign * significand * np.exp2(np.maximum(exponent, 1) - float(bias + mantissa_bits))
    top_exponent = exponent == 2**exponent_bits - 1
    if nan == "IEEE":
        numbers[top_exponent] = np.where(mantissa[top_exponent] == 0, sign[top_exponent] * np.inf, np.nan)
    elif nan == "all ones":
        numbers[top_exponent & (mantissa == 2**mantissa_bits - 1)] = np.nan
    elif nan == "minus zero":
        numbers[len(codes) // 2] = np.nan
    return numbers


def _read(path: Path, start: int, count: int) -> bytes:
    with opened(path.parent, path.name) as file:
        file.seek(start)
        raw = file.read(count)
    if len(raw) != count:
        raise _truncated(path)
    return raw


def _truncated(path: Path) -> CheckpointError:
    return CheckpointError(f"{quoted(path.name)} became shorter while it was read; open it again when it is whole.")
