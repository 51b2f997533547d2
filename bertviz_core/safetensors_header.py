"""The header of one safetensors file, parsed and checked; no weight is read, torch is not imported.

The format (huggingface/safetensors, README, "Format"): eight bytes, little-endian, with the length of the header;
the header, a JSON object that maps each tensor's name to dtype, shape and its range in the rest; then the values,
without gaps and without overlaps. Every one of these rules is checked, since a header is a stranger's word.
"""

import math
import os
import stat
import struct
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from bertviz_core.errors import CheckpointError
from bertviz_core.results import StoredTensor

MAX_HEADER_NBYTES = 100_000_000
"""The limit of the safetensors library itself."""
MAX_AXES = 32
INT_ONLY = frozenset((int,))
"""The types of sizes; bool, which is an int in Python, is not among them."""

DTYPE_BITS: Mapping[str, tuple[str, int]] = {
    "BOOL": ("bool", 8),
    "F4": ("float4_e2m1fn_x2", 4),
    "F6_E2M3": ("float6_e2m3", 6),
    "F6_E3M2": ("float6_e3m2", 6),
    "U8": ("uint8", 8),
    "I8": ("int8", 8),
    "F8_E5M2": ("float8_e5m2", 8),
    "F8_E4M3": ("float8_e4m3fn", 8),
    "F8_E8M0": ("float8_e8m0fnu", 8),
    "F8_E4M3FNUZ": ("float8_e4m3fnuz", 8),
    "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8),
    "I16": ("int16", 16),
    "U16": ("uint16", 16),
    "F16": ("float16", 16),
    "BF16": ("bfloat16", 16),
    "I32": ("int32", 32),
    "U32": ("uint32", 32),
    "F32": ("float32", 32),
    "C64": ("complex64", 64),
    "F64": ("float64", 64),
    "I64": ("int64", 64),
    "U64": ("uint64", 64),
}
"""safetensors' name of a dtype -> torch's name and the bits of one number."""

DTYPE_NBYTES: Mapping[str, float] = {name: bits / 8 for name, bits in DTYPE_BITS.values()}


def read_file_header(path: Path) -> tuple[list[StoredTensor], int]:
    """The tensors that one safetensors file lists, in the order of their values, and the bytes read for that.

    Raises:
        CheckpointError: the file cannot be read or breaks a rule of the format.
    """
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise CheckpointError(f"{path.name} is not an ordinary file; put the checkpoint's own file there.")
            size = status.st_size
            start = file.read(8)
            length = _header_length(path.name, start, size)
            raw = file.read(length)
    except IsADirectoryError as error:
        raise CheckpointError(f"{path.name} is a folder where a safetensors file was expected.") from error
    except OSError as error:
        raise CheckpointError(
            f"{path.name} cannot be read ({error.strerror}); check that it is there and readable."
        ) from error
    return listed_tensors(path.name, json_object(path.name, raw), size - 8 - length), 8 + length


def listed_tensors(file: str, header: Mapping[str, Any], payload: int | None) -> list[StoredTensor]:
    """The entries of a parsed header, checked and put into the order of their values.

    Args:
        file: name of the file, for messages.
        header: the JSON object.
        payload: bytes behind the header; None where they are not known (a header fetched alone).

    Raises:
        CheckpointError: an entry is not well formed, or the ranges overlap, leave gaps or miss the file's end.
    """
    entries = _entries(file, header)
    entries.sort(key=itemgetter(0, 1))
    position = 0
    for begin, end, tensor in entries:
        if begin != position:
            fault = "overlaps the values before it" if begin < position else "leaves a gap before it"
            raise CheckpointError(
                f"{file} is damaged: {shown(tensor.name)} starts at byte {begin:,} and {fault} "
                f"(expected {position:,}); fetch or save the file again."
            )
        position = end
    if payload is not None and position != payload:
        raise CheckpointError(
            f"{file} is {'cut off' if position > payload else 'longer than its header says'}: its tensors take "
            f"{position:,} bytes, {payload:,} are there; fetch or save the file again."
        )
    return [tensor for _, _, tensor in entries]


def shown(name: str, limit: int = 120) -> str:
    """A stranger's name, quoted, with control characters escaped and cut to a readable length."""
    quoted = repr(name if len(name) <= limit else f"{name[:limit]}...")
    return quoted.encode("utf-8", "backslashreplace").decode("utf-8")


def _header_length(file: str, start: bytes, size: int) -> int:
    if len(start) < 8:
        raise CheckpointError(f"{file} is {size} bytes long, too short for a safetensors file; fetch it again.")
    length: int = struct.unpack("<Q", start)[0]
    if length > size - 8 or length > MAX_HEADER_NBYTES:
        raise CheckpointError(
            f"{file} is cut off or not a safetensors file: it announces a header of {length:,} bytes, "
            f"the file has {size:,} (and a header at most {MAX_HEADER_NBYTES:,})."
        )
    return length


def json_object(file: str, raw: bytes) -> dict[str, Any]:
    """The JSON object in some bytes of a file.

    Raises:
        CheckpointError: it is no JSON, or no object.
    """
    try:
        parsed = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise CheckpointError(f"{file} is damaged or of another format: its JSON cannot be read ({error}).") from error
    if not isinstance(parsed, dict):
        raise CheckpointError(f"{file} is of another format: its JSON is not an object of names.")
    return parsed


def _entries(file: str, header: Mapping[str, Any]) -> list[tuple[int, int, StoredTensor]]:
    """(begin, end, tensor) of every entry, each checked by itself; one loop, since there may be 100,000."""
    found = []
    sizes: dict[tuple[Any, ...], int] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        try:
            dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        except (TypeError, KeyError, ValueError) as error:
            raise CheckpointError(f"{file} is damaged: {shown(name)} has not a dtype, a shape and a range.") from error
        if type(shape) is not list or not INT_ONLY.issuperset(map(type, [begin, end, *shape])):
            raise CheckpointError(f"{file} is damaged: shape or range of {shown(name)} are not counts.")
        axes, nbytes = tuple(shape), end - begin
        if type(dtype) is not str or begin < 0 or sizes.get((dtype, axes)) != nbytes:
            sizes[dtype, axes] = _checked_nbytes(file, name, dtype, axes, begin, nbytes)
        found.append((begin, end, StoredTensor(name, axes, DTYPE_BITS[dtype][0], nbytes, file)))
    return found


def _checked_nbytes(file: str, name: str, dtype: object, shape: tuple[int, ...], begin: int, given: int) -> int:
    """The bytes that a shape takes, if they are those that its range has."""
    if begin < 0 or min(shape, default=0) < 0 or len(shape) > MAX_AXES:
        raise CheckpointError(f"{file} is damaged: shape or range of {shown(name)} are not counts.")
    known = DTYPE_BITS.get(dtype) if isinstance(dtype, str) else None
    if known is None:
        raise CheckpointError(f"{file}: {shown(name)} has the dtype {shown(str(dtype))}, which safetensors has not.")
    bits = math.prod(shape) * known[1]
    if bits % 8 or given != bits // 8:
        raise CheckpointError(
            f"{file} is damaged: {shown(name)} of shape {shape} and dtype {dtype} needs {math.ceil(bits / 8):,} "
            f"bytes, its range has {given:,}."
        )
    return given
