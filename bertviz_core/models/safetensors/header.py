"""Parse and check the header of a safetensors file, without torch and without reading weights.

The format (huggingface/safetensors, README, "Format"): eight bytes, little-endian, with the length of the header;
the header, a JSON object that maps each tensor's name to dtype, shape and its range in the rest; then the values,
without gaps and without overlaps. All of these rules are checked, since a header is untrusted.
"""

import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import json_object, opened
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.text import quoted

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
"""dtype in safetensors -> dtype in torch and its number of bits."""

DTYPE_NBYTES: Mapping[str, float] = {name: bits / 8 for name, bits in DTYPE_BITS.values()}

REAL_NUMBERS = frozenset(("float64", "float32", "float16", "bfloat16"))
"""Formats of weights that need no scale."""

MAX_HEADER_NBYTES = 100_000_000
"""The limit of the safetensors library itself."""
MAX_TENSORS = 200_000
"""Maximum tensors of a checkpoint; the largest mixtures of experts have half as many."""
MAX_SIGNS: Mapping[bytes, int] = {b"{": MAX_TENSORS + 50_000, b":": 6 * MAX_TENSORS, b",": 10 * MAX_TENSORS}
"""Maximum of some characters in a header; a tensor has 1 of the first, 4 of the second, 5 to 8 of the third."""
MAX_AXES, MAX_NAME, MAX_PARTS = 32, 1_000, 48
"""Maximum axes of a tensor, length of its name, and modules in it; the deepest of transformers are in 16."""
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
ABSENT = (-1, -1)
"""Placeholder for a missing shape or range."""


class StoredEntry(msgspec.Struct, gc=False):
    """The entry of a tensor in a header."""

    dtype: str = ""
    shape: tuple[Count, ...] = ABSENT
    data_offsets: tuple[Count, Count] = ABSENT


ENTRIES = msgspec.json.Decoder(dict[str, StoredEntry])


def read_file_header(path: Path) -> tuple[list[StoredTensor], int]:
    """The tensors of a safetensors file, in the order of their values, and the number of bytes read.

    Raises:
        CheckpointError: the file cannot be read or is invalid.
    """
    with opened(path.parent, path.name) as file:
        size = os.fstat(file.fileno()).st_size
        length = _header_length(path.name, file.read(8), size)
        raw = file.read(length)
    return listed_tensors(path.name, raw, size - 8 - length), 8 + length


def listed_tensors(file: str, raw: bytes, payload: int | None) -> list[StoredTensor]:
    """The entries of a header, checked, in the order of their values.

    Args:
        file: name of the file, for error messages.
        raw: the JSON of the header.
        payload: bytes after the header; None if unknown.

    Raises:
        CheckpointError: an entry is invalid, or the ranges overlap, have gaps or do not match the size of the file.
    """
    _check_signs(file, raw)
    tensors = []
    position = 0
    entries = _entries(file, raw)
    check_count(file, len(entries))
    for name, entry in _in_order(entries):
        _check_entry(file, name, entry)
        begin, end = entry.data_offsets
        if begin != position:
            fault = "overlaps the values before it" if begin < position else "leaves a gap before it"
            raise CheckpointError(
                f"{file} is damaged: {quoted(name)} starts at byte {begin:,} and {fault} "
                f"(expected {position:,}); fetch or save the file again."
            )
        position = end
        tensors.append(StoredTensor(name, entry.shape, DTYPE_BITS[entry.dtype][0], end - begin, file, begin))
    if payload is not None and position != payload:
        raise CheckpointError(
            f"{file} is {'cut off' if position > payload else 'longer than its header says'}: its tensors take "
            f"{position:,} bytes, {payload:,} are there; fetch or save the file again."
        )
    return tensors


def check_count(what: str, count: int) -> None:
    """Check the number of tensors.

    Raises:
        CheckpointError: there are too many.
    """
    if count > MAX_TENSORS:
        raise CheckpointError(f"{what} lists about {count:,} tensors; at most {MAX_TENSORS:,} are read.")


def _check_signs(file: str, raw: bytes) -> None:
    """Refuse a header with too many entries, by its punctuation, before it is parsed."""
    for sign, most in MAX_SIGNS.items():
        count = raw.count(sign)
        if count > most:
            raise CheckpointError(
                f"{file} lists too much for a checkpoint of at most {MAX_TENSORS:,} tensors: its header has {count:,} "
                f"times the sign {sign.decode()!r}, at most {most:,} are read."
            )


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


def _entries(file: str, raw: bytes) -> dict[str, StoredEntry]:
    """The entries of a header by name, with their types checked."""
    try:
        entries = ENTRIES.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        entries = _entries_one_by_one(file, json_object(file, raw))
    entries.pop("__metadata__", None)
    return entries


def _entries_one_by_one(file: str, header: Mapping[str, Any]) -> dict[str, StoredEntry]:
    """Decode the entries one by one, to name the invalid one and to skip metadata."""
    entries = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        try:
            entries[name] = msgspec.convert(entry, StoredEntry)
        except msgspec.ValidationError as error:
            raise CheckpointError(_not_counts(file, name)) from error
    return entries


def _not_counts(file: str, name: str) -> str:
    return f"{file} is damaged: {quoted(name)} has no valid dtype, shape and byte range."


def _in_order(entries: Mapping[str, StoredEntry]) -> list[tuple[str, StoredEntry]]:
    """The entries in the order of their values."""
    return sorted(entries.items(), key=lambda item: item[1].data_offsets)


def _check_entry(file: str, name: str, entry: StoredEntry) -> None:
    """Refuse an invalid entry, or one whose range does not match its shape."""
    dtype, shape, (begin, end) = entry.dtype, entry.shape, entry.data_offsets
    if ABSENT in (shape, entry.data_offsets) or not dtype:
        raise CheckpointError(_not_counts(file, name))
    if len(name) > MAX_NAME:
        raise CheckpointError(
            f"{file} is damaged: a tensor's name, {quoted(name, 40)}, has {len(name):,} characters; at most "
            f"{MAX_NAME:,} are read."
        )
    if name.count(".") >= MAX_PARTS:
        raise CheckpointError(
            f"{file} is damaged: a tensor's name, {quoted(name, 40)}, has {name.count('.') + 1:,} parts; at most "
            f"{MAX_PARTS:,} are read."
        )
    if len(shape) > MAX_AXES:
        raise CheckpointError(
            f"{file} is damaged: {quoted(name)} has {len(shape)} axes; at most {MAX_AXES} are supported."
        )
    if dtype not in DTYPE_BITS:
        raise CheckpointError(
            f"{file}: {quoted(name)} has the dtype {quoted(dtype)}, which safetensors does not define."
        )
    bits = math.prod(shape) * DTYPE_BITS[dtype][1]
    needed = -(-bits // 8)  # integers, since the product of a shape may exceed any float
    if bits % 8 or end - begin != needed:
        words = f"{needed:,}" if needed < 2**63 else "more than 2**63"
        raise CheckpointError(
            f"{file} is damaged: {quoted(name)} of shape {shape} and dtype {dtype} needs {words} bytes, its range has "
            f"{end - begin:,}."
        )
