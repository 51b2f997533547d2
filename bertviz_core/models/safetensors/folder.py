"""Folders of safetensors files: their header and their values."""

import hashlib
import math
import os
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import (
    CONFIG_FILE,
    CONFIG_NBYTES,
    INDEX_NBYTES,
    check_values,
    has_links,
    json_object,
    opened,
    own_file,
    present,
    read_file,
    saved_checkpoints,
)
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
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
    """The tensors of a safetensors file, in the order of their values, and the number of bytes read."""
    with opened(path.parent, path.name) as file:
        size = os.fstat(file.fileno()).st_size
        length = _header_length(path.name, file.read(8), size)
        raw = file.read(length)
    return listed_tensors(path.name, raw, size - 8 - length), 8 + length


def listed_tensors(file: str, raw: bytes, payload: int | None) -> list[StoredTensor]:
    """The entries of a header, checked, in the order of their values.

    Args:
        payload: bytes after the header; None if unknown.
    """
    _check_signs(file, raw)
    tensors = []
    position = 0
    entries = _entries(file, raw)
    check_count(file, len(entries))
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
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
    """Check the number of tensors."""
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


SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
MAX_FILES = 2_000
PIECE_NBYTES = 2**20
"""Bytes that are compared at once."""
ONNX, GGUF = ".onnx", ".gguf"
ONNX_FOLDER = "onnx"
"""Folder in which exporters put ONNX files beside a checkpoint."""
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
KERAS_SUFFIXES = (".h5", ".keras", ".msgpack")
"""Endings of files of TensorFlow, and of Flax."""
PICKLED = re.compile(r"pytorch_model(-\d+-of-\d+)?\.bin")
"""The files of pickled weights that from_pretrained finds."""
MAX_CLASS = 80


def read_header(folder: Path) -> CheckpointHeader:
    """The headers of the safetensors files in a folder.

    In a folder with links to the files of a base model, a tensor of a later file replaces that of an earlier one.
    """
    names = weight_files(folder)
    tensors: list[StoredTensor] = []
    header_nbytes = 0
    for name in names:
        listed, read = read_file_header(folder / name)
        tensors += listed
        check_count(folder.name, len(tensors))
        header_nbytes += read
    if has_links(folder):
        tensors = list({tensor.name: tensor for tensor in tensors}.values())
    elif len(names) > 1:
        _refuse_repeats(tensors)
    return CheckpointHeader(tuple(tensors), names, header_nbytes)


def read_json(folder: Path, name: str, limit: int = CONFIG_NBYTES) -> dict[str, Any]:
    """The JSON object in a small file of a checkpoint folder."""
    raw = read_file(folder, name, limit)
    check_values(name, raw)
    return json_object(name, raw)


def weight_files(folder: Path) -> tuple[str, ...]:
    """Names of the safetensors files of the checkpoint in a folder."""
    if present(folder, SINGLE_FILE):
        own_file(folder, SINGLE_FILE)
        return (SINGLE_FILE,)
    if present(folder, INDEX_FILE):
        return _indexed_files(folder)
    try:
        names = _names(folder)
    except OSError as error:
        raise CheckpointError(f"The folder {folder.name!r} cannot be read ({error.strerror}).") from error
    unindexed = [name for name in names if name.endswith(".safetensors") and not name.startswith("adapter")]
    if len(unindexed) == 1:
        own_file(folder, unindexed[0])
        return (unindexed[0],)
    if (other := other_format(names, _model_class(folder))) and not unindexed:
        raise CheckpointError(f"{folder.name!r} holds its weights only as {other}")
    description = f"{len(unindexed)} safetensors files and no {INDEX_FILE}" if unindexed else "no safetensors file"
    raise CheckpointError(
        f"{folder.name!r} has {description}; expected {SINGLE_FILE}, or {INDEX_FILE} with its shards."
    )


def other_format(names: Sequence[str], model_class: str = "AutoModel") -> str:
    """The first file of weights in a format that is not opened, why not, and how to convert it; "" if there is none.

    Args:
        names: names of the files of a checkpoint, with the folder of those in one.
    """
    listed = [name for name in names if name not in ("training_args.bin", "optimizer.pt", "scheduler.pt")]
    kinds = (PICKLE_SUFFIXES, KERAS_SUFFIXES, (ONNX,), (GGUF,))
    name = next((name for ends in kinds for name in listed if name.endswith(ends)), "")
    shown = quoted(name, 80)[1:-1]
    if name.endswith(PICKLE_SUFFIXES):
        first = "" if PICKLED.fullmatch(name) else "rename it to pytorch_model.bin if it is a state_dict, and "
        return (
            f"{shown}, a format that can run code when opened, so it is not opened here; {first}convert it where you "
            f"trust it, with {model_class}.from_pretrained(FOLDER).save_pretrained(FOLDER), which writes {SINGLE_FILE}."
        )
    if name.endswith(KERAS_SUFFIXES):
        source, package = ("from_tf", "tensorflow") if name.endswith(KERAS_SUFFIXES[:2]) else ("from_flax", "flax")
        return (
            f"{shown}, weights of {'TensorFlow' if package == 'tensorflow' else 'Flax'}, which transformers 5 does not "
            f'read; convert them with an older one (pip install "transformers<5" torch {package}) and '
            f"{model_class}.from_pretrained(FOLDER, {source}=True).save_pretrained(FOLDER), which writes {SINGLE_FILE}."
        )
    if not name:
        return ""
    what = "an exported graph" if name.endswith(ONNX) else "a file for llama.cpp"
    return (
        f"{shown}, {what} without the modules of transformers, which is not opened here; convert the checkpoint that "
        f"it was made from, with {model_class}.from_pretrained(CHECKPOINT).save_pretrained(FOLDER), which writes "
        f"{SINGLE_FILE}."
    )


def _model_class(folder: Path) -> str:
    """The class that a config names, for advice; AutoModel if it names none."""
    try:
        named = read_json(folder, CONFIG_FILE).get("architectures")
    except CheckpointError:
        named = None
    first = named[0] if isinstance(named, list) and named else ""
    return first if isinstance(first, str) and first.isidentifier() and len(first) < MAX_CLASS else "AutoModel"


def no_model_folder(folder: Path) -> str:
    """The sentence about a folder without a config.json: what it holds, and what to do."""
    try:
        other = other_format(_names(folder))
    except OSError:
        other = ""
    if other and not any(present(folder, name) for name in (SINGLE_FILE, INDEX_FILE)):
        return f"The folder {folder.name!r} has no {CONFIG_FILE}, and holds its weights only as {other}"
    if checkpoints := saved_checkpoints(folder):
        return (
            f"The folder {folder.name!r} has no {CONFIG_FILE}: it is a training run; choose one of its checkpoints, "
            f"such as {folder.name}/{checkpoints[0]}, or see all of them on the page Checkpoint, view Training run."
        )
    return (
        f"The folder {folder.name!r} has no {CONFIG_FILE}, so it is not a model folder; "
        "give a folder written by save_pretrained."
    )


def _names(folder: Path) -> list[str]:
    """Names of the files in a folder, then of those in its folder of ONNX files."""
    names = sorted(entry.name for entry in folder.iterdir())
    inside = folder / ONNX_FOLDER
    if inside.is_dir() and not inside.is_symlink():
        names += sorted(f"{ONNX_FOLDER}/{entry.name}" for entry in inside.iterdir())
    return names


def same_bytes(folder: Path, first: StoredTensor, second: StoredTensor, other: Path | None = None) -> bool:
    """Whether two tensors of the files of one folder, or of two, are of one shape and format, and equal bit by bit."""
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        return False
    with opened(folder, first.file) as one, opened(other or folder, second.file) as two:
        for file, tensor in ((one, first), (two, second)):
            file.seek(8 + int.from_bytes(file.read(8), "little") + tensor.begin)
        for begin in range(0, first.nbytes, PIECE_NBYTES):
            count = min(PIECE_NBYTES, first.nbytes - begin)
            if one.read(count) != two.read(count):
                return False
    return True


def weights_sha256(folder: Path) -> str:
    """SHA-256 of the weights: of the single file, or of the digests of the shards in the order of their names."""
    digests = []
    for name in weight_files(folder):
        with opened(folder, name) as file:
            digests.append(hashlib.file_digest(file, "sha256"))
    if len(digests) == 1:
        return digests[0].hexdigest()
    return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()


def _indexed_files(folder: Path) -> tuple[str, ...]:
    weight_map = read_json(folder, INDEX_FILE, INDEX_NBYTES).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise CheckpointError(f"{INDEX_FILE} has no weight_map that says which file holds which tensor.")
    check_count(INDEX_FILE, len(weight_map))
    files = dict.fromkeys(weight_map.values())
    if len(files) > MAX_FILES:
        raise CheckpointError(f"{INDEX_FILE} names {len(files):,} files; at most {MAX_FILES:,} are read.")
    for name in files:
        if not isinstance(name, str) or not name.endswith(".safetensors") or name != Path(name).name:
            raise CheckpointError(
                f"{INDEX_FILE} names {quoted(str(name))}, which is not a .safetensors file of its own folder."
            )
        if not present(folder, name):
            raise CheckpointError(
                f"{INDEX_FILE} names the shard {quoted(name)}, which is missing; fetch all {len(files)} shards."
            )
        own_file(folder, name)
    return tuple(sorted(files))


def _refuse_repeats(tensors: list[StoredTensor]) -> None:
    if len({tensor.name for tensor in tensors}) == len(tensors):
        return
    file_of: dict[str, str] = {}
    for tensor in tensors:
        if tensor.name in file_of:
            raise CheckpointError(
                f"{quoted(tensor.name)} is stored in two shards, {file_of[tensor.name]} and {tensor.file}; "
                "remove the one that does not belong to this checkpoint."
            )
        file_of[tensor.name] = tensor.file


def readable_weights(folder: Path) -> bool:
    """Whether a folder has weights that are read here."""
    try:
        weight_files(folder)
    except CheckpointError:
        return False
    return True
