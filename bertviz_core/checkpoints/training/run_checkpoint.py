"""A checkpoint of a training run, and where its weights are: in its own files, or in those of a base and an adapter."""

import math
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace as replace_entry

from bertviz_core.checkpoints.values import Checkpoint, TensorSlice, open_checkpoint, tensor_slices
from bertviz_core.models.local_files import base_class
from bertviz_core.models.safetensors.adapters.contents import fitted, read_adapter
from bertviz_core.models.safetensors.adapters.merging import merged_matrices
from bertviz_core.models.safetensors.adapters.results import FittedAdapter
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.models.sources import folder_source
from bertviz_core.parameters.adapters.rows import merged_header
from bertviz_core.settings import Settings

MERGED_DTYPE, MERGED_NBYTES = "float32", 4
"""Number format of a matrix with its update, as peft's merge_and_unload computes it, and bytes of a number."""


@dataclass(frozen=True, slots=True, eq=False)
class MergedWeights:
    """The weights of an adapter merged into its base; nothing is written, and updated matrices are computed."""

    base: Checkpoint
    """The base."""
    adapter: FittedAdapter
    """The adapter, matched to the base."""

    @property
    def header(self) -> CheckpointHeader:
        """The tensors of the merged model."""
        whole = merged_header(self.base.header, self.adapter)
        updated = {stored.name for stored, _ in self.adapter.updates}
        tensors = tuple(_as_merged(each) if each.name in updated else each for each in whole.tensors)
        return replace(whole, tensors=tensors)

    @property
    def at_start(self) -> "MergedWeights":
        """The base by itself, with those saved tensors of the adapter that it lacks or has in another shape."""
        shapes = {tensor.name: tensor.shape for tensor in self.base.header.tensors}
        new = tuple((name, each) for name, each in self.adapter.saved if shapes.get(name) != each.stored.shape)
        return MergedWeights(self.base, replace(self.adapter, updates=(), saved=new))

    def slices(self) -> dict[str, TensorSlice]:
        """Name -> location of the values, or what computes them, for every tensor of the merged model.

        Raises:
            CheckpointError: a file can no longer be read.
        """
        found = tensor_slices(self.base)
        for matrix in merged_matrices(self.adapter, self.base.folder):
            place = found[matrix.stored.name]
            tensor = replace_entry(matrix.update.table or matrix.stored, name=matrix.stored.name)
            found[matrix.stored.name] = place._replace(tensor=_as_merged(tensor), merged=matrix)
        folder = self.adapter.adapter.folder
        listed = CheckpointHeader(tuple(each.stored for _, each in self.adapter.saved), (), 0)
        own = tensor_slices(replace(self.base, folder=folder, header=listed))
        for name, each in self.adapter.saved:
            found[name] = own[each.stored.name]._replace(tensor=replace_entry(each.stored, name=name))
        return found


class RunCheckpoint(NamedTuple):
    """A whole checkpoint of a run."""

    name: str
    """Name of its folder, or FINAL."""
    step: int
    """Steps of the optimizer before it was saved."""
    checkpoint: Checkpoint
    """Its files; the revision changes with their names, sizes and modification times. The header of an adapter is that
    of the merged model."""
    merged: MergedWeights | None = None
    """Its weights, if it is an adapter."""

    def slices(self) -> dict[str, TensorSlice]:
        """Name -> location of the values, for every tensor; those of an adapter are the merged ones.

        Raises:
            CheckpointError: a file can no longer be read.
        """
        return tensor_slices(self.checkpoint) if self.merged is None else self.merged.slices()


def read_checkpoint(
    name: str, folder: Path, settings: Settings, bases: MutableMapping[str, Checkpoint]
) -> tuple[Checkpoint, MergedWeights | None]:
    """Open a checkpoint of a run: a model, or an adapter with its base; headers are checked, no value is read.

    Args:
        name: its name.
        folder: its folder.
        settings: limits for its config.
        bases: the bases that were opened before, by name; one that is opened is added.

    Raises:
        CheckpointError: it is not whole, or in a format that is not read.
        ModelNotFoundError: there is an adapter, but not its base.
        MissingFilesError: the weights of the base are not on this machine.
    """
    source = folder_source(name, folder, settings)
    if source.adapter is None:
        return Checkpoint(name, source.revision, source.config, folder, read_header(folder)), None
    part = source.adapter
    base = bases.get(part.base.name)
    if base is None:
        base = bases[part.base.name] = open_checkpoint(part.base, settings)
    adapter = fitted(read_adapter(name, folder), base.name, base.header, base_class(part))
    merged = MergedWeights(base, adapter)
    return Checkpoint(name, source.revision, source.config, folder, merged.header), merged


def start_of(first: RunCheckpoint) -> RunCheckpoint | None:
    """What a run of adapters starts from: the base, with the new head of an adapter; None for a whole model.

    peft begins with B = 0, so the base is the state before the first step.
    """
    if first.merged is None:
        return None
    merged = first.merged.at_start
    revision = f"{first.merged.base.revision} {first.checkpoint.revision}"
    checkpoint = replace(first.checkpoint, name=merged.base.name, revision=revision, header=merged.header)
    return RunCheckpoint(merged.base.name, 0, checkpoint, merged)


def _as_merged(tensor: StoredTensor) -> StoredTensor:
    return replace_entry(tensor, dtype=MERGED_DTYPE, nbytes=MERGED_NBYTES * math.prod(tensor.shape))
