"""Add an adapter to its base: W + scale · B · A in float32, as peft's merge_and_unload.

The merged model is a folder with links to the files of the base and one further file with the tensors that the adapter
changes, so that all that reads checkpoints reads it as any other.
"""

import atexit
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import orjson
from jaxtyping import Float

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import allow_links, is_own_file, own_file
from bertviz_core.models.safetensors.adapters.contents import fitted
from bertviz_core.models.safetensors.adapters.results import Adapter, BaseClass, FittedAdapter, LowRankUpdate
from bertviz_core.models.safetensors.folder import INDEX_FILE
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.models.safetensors.values import TensorReader, write_tensors
from bertviz_core.resources import one_blas_thread
from bertviz_core.text import quoted

MODULES = "modules.json"
SENTENCE_FILES = (MODULES, "sentence_bert_config.json", "config_sentence_transformers.json")
"""Files about the vectors of a sentence model, of the adapter's folder or else of the base's."""
MODULE_FOLDER = re.compile(r"\d{1,2}_[A-Za-z]{1,40}")
MODULE_FILES = ("config.json", "model.safetensors")
_merged: dict[tuple[str, ...], Path] = {}
_merging = threading.Lock()
"""Held for a moment, never while a file is read or written."""
_writing: dict[tuple[str, str], threading.Lock] = {}
"""Folders of an adapter and of its base -> the lock of who writes the merged model."""
_short_lived: ContextVar[list[tuple[str, ...]] | None] = ContextVar("short_lived", default=None)
"""Keys of the merged models that this context deletes when it ends."""


@np.errstate(over="ignore", invalid="ignore")  # numbers that are not finite are named once the model is loaded
def product(update: LowRankUpdate, reader: TensorReader, fan_in_fan_out: bool) -> Float[np.ndarray, "rows columns"]:
    """What an update adds to its matrix, in the orientation in which the matrix is stored.

    Args:
        fan_in_fan_out: whether matrices are stored as inputs × outputs.
    """
    second, first = reader.read(update.second), reader.read(update.first)
    with one_blas_thread():
        whole = second @ (first * np.float32(update.scale))
    added: np.ndarray = whole.T if update.is_embedding or fan_in_fan_out else whole
    return added


@dataclass(frozen=True, slots=True)
class MergedMatrix:
    """A matrix of a base with its update, which is computed each time it is read."""

    stored: StoredTensor
    """Tensor of the base's files."""
    update: LowRankUpdate
    base_folder: Path
    adapter_folder: Path
    fan_in_fan_out: bool
    """Whether matrices are stored as inputs × outputs."""

    def values(self) -> Float[np.ndarray, "rows columns"]:
        """The merged matrix in float32, in the orientation in which that of the base is stored."""
        with TensorReader(self.adapter_folder) as own, TensorReader(self.base_folder) as base:
            return self.read(own, base)

    def read(self, own: TensorReader, base: TensorReader) -> Float[np.ndarray, "rows columns"]:
        """The same with the readers of the adapter's and of the base's files, for many matrices."""
        merged = product(self.update, own, self.fan_in_fan_out)
        merged += base.read(self.stored) if self.update.table is None else own.read(self.update.table)
        return merged


def merged_matrices(adapter: FittedAdapter, base_folder: Path) -> tuple[MergedMatrix, ...]:
    """The matrices that an adapter updates, in the order of its file."""
    folder, is_turned = adapter.adapter.folder, adapter.adapter.settings.fan_in_fan_out
    return tuple(MergedMatrix(stored, update, base_folder, folder, is_turned) for stored, update in adapter.updates)


def merged_folder(
    adapter: Adapter, base: str, base_folder: Path, header: CheckpointHeader, base_class: BaseClass, state: str
) -> Path:
    """The folder of a merged model; it is written once, and deleted when its files change or the process ends.

    Only readers of the same adapter on the same base wait for each other.

    Args:
        state: changes with the files of the adapter and of the base.
    """
    files = (str(adapter.folder), str(base_folder))
    key = (*files, state)
    with _merging:
        waiting = _writing.setdefault(files, threading.Lock())
    with waiting:
        folder = _merged.get(key)
        if folder is not None and folder.is_dir():
            return folder
        try:
            folder = _write(fitted(adapter, base, header, base_class), base_folder, header)
        finally:
            with _merging:
                _writing.pop(files, None)
        with _merging:
            old = [_merged.pop(each) for each in list(_merged) if each[:2] == files]
            _merged[key] = folder
    for each in old:
        shutil.rmtree(each, ignore_errors=True)
    written = _short_lived.get()
    if written is not None:
        written.append(key)
    return folder


@contextmanager
def short_lived_merges() -> Iterator[None]:
    """Delete the folders of merged models that are written inside, for many adapters that are run one by one."""
    written: list[tuple[str, ...]] = []
    token = _short_lived.set(written)
    try:
        yield
    finally:
        _short_lived.reset(token)
        with _merging:
            folders = [_merged.pop(key, None) for key in written]
        for folder in filter(None, folders):
            shutil.rmtree(folder, ignore_errors=True)


def _write(adapter: FittedAdapter, base_folder: Path, header: CheckpointHeader) -> Path:
    try:
        folder = Path(mkdtemp(prefix="inside-bert-merged-"))
    except OSError as error:
        raise _no_room(adapter.adapter.name, error) from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        _fill(folder, adapter, base_folder, header)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _no_room(adapter.adapter.name, error) from error
    except CheckpointError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _fill(folder: Path, adapter: FittedAdapter, base_folder: Path, header: CheckpointHeader) -> None:
    """Link the files of the base, and write the changed tensors."""
    names = header.files
    parts = [f"model-{place:05}-of-{len(names) + 1:05}.safetensors" for place in range(1, len(names) + 2)]
    targets = [own_file(base_folder, name).resolve() for name in names]
    for part, target in zip(parts, targets, strict=False):
        (folder / part).symlink_to(target)
    shapes = {stored.name: (update.table or stored).shape for stored, update in adapter.updates}
    shapes |= {name: saved.stored.shape for name, saved in adapter.saved}
    write_tensors(folder / parts[-1], shapes, _changed(adapter, base_folder))
    part_of = dict(zip(names, parts, strict=False))
    weight_map = {tensor.name: part_of[tensor.file] for tensor in header.tensors}
    index = {"metadata": {}, "weight_map": weight_map | dict.fromkeys(shapes, parts[-1])}
    (folder / INDEX_FILE).write_bytes(orjson.dumps(index))
    allow_links(folder, [*targets, *_link_sentence_files(folder, adapter.adapter.folder, base_folder)])


def _changed(adapter: FittedAdapter, base_folder: Path) -> Iterator[Float[np.ndarray, "..."]]:
    """The tensors that differ from the base's, one at a time."""
    with TensorReader(adapter.adapter.folder) as own, TensorReader(base_folder) as base:
        for matrix in merged_matrices(adapter, base_folder):
            yield matrix.read(own, base)
        for _, saved in adapter.saved:
            yield own.read(saved.stored)


def _link_sentence_files(folder: Path, adapter_folder: Path, base_folder: Path) -> list[Path]:
    """Link the files about sentence vectors; returns those files."""
    owner = adapter_folder if is_own_file(adapter_folder, MODULES) else base_folder
    names = list(SENTENCE_FILES)
    if is_own_file(owner, MODULES):
        modules = [entry.name for entry in owner.iterdir() if MODULE_FOLDER.fullmatch(entry.name)]
        names += [f"{module}/{file}" for module in sorted(modules) for file in MODULE_FILES]
    targets = []
    for name in names:
        if is_own_file(owner, name):
            target = own_file(owner, name).resolve()
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).symlink_to(target)
            targets.append(target)
    return targets


def _no_room(name: str, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"The tensors that the adapter {quoted(name)} changes cannot be written to the temporary folder "
        f"({error.strerror}); free some space there."
    )
