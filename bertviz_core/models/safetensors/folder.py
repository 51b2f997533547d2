"""Read the safetensors headers and JSON files of a checkpoint folder, without torch."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
from bertviz_core.models.safetensors.header import check_count, read_file_header
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.text import quoted

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

    Raises:
        CheckpointError: there is no safetensors file, or one is damaged.
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
    """The JSON object in a small file of a checkpoint folder.

    Raises:
        CheckpointError: it is not a regular file of the folder, too large, or not a JSON object.
    """
    raw = read_file(folder, name, limit)
    check_values(name, raw)
    return json_object(name, raw)


def weight_files(folder: Path) -> tuple[str, ...]:
    """Names of the safetensors files of the checkpoint in a folder.

    Raises:
        CheckpointError: there are none or only files of other formats, or a shard is missing or not a regular file.
    """
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
        model_class: class of the model, with its head.
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
    if other:
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
    """Whether two tensors of the files of one folder, or of two, are of one shape and format, and equal bit by bit.

    Raises:
        CheckpointError: a file cannot be read.
    """
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
    """SHA-256 of the weights: of the single file, or of the digests of the shards in the order of their names.

    Raises:
        CheckpointError: there are no valid weights, or a file cannot be read.
    """
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
