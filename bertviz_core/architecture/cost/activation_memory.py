"""Measure the memory of activations by batch and length, on runs without weights."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bertviz_core.architecture.cost.results import ActivationMemory, Holding
from bertviz_core.architecture.dry_run import DryModel, dry_model, plain_row
from bertviz_core.errors import TextError
from bertviz_core.lazy_imports import torch
from bertviz_core.models.torch_internals import dispatch_mode, storage_key, tree_leaves

NOT_RUN = -1


def activation_memory(
    name: str,
    config: Mapping[str, Any],
    holding: Holding,
    batches: Sequence[int],
    lengths: Sequence[int],
    task: str = "base",
) -> ActivationMemory:
    """Bytes of activations for every batch and length, in float32 with eager attention, without weights.

    The decoder of an encoder-decoder model has one token.

    "inference" is the peak of a forward pass without gradients. "training" is the memory of all tensors that autograd
    saves for the backward pass, without dropout.

    For a given length the memory at each moment is linear in the batch size, and its peak is convex: if the smallest,
    the second and the largest batch are on a line, so are all others, which are then not run.

    Raises:
        UnsupportedModelError: the family cannot be run without weights.
    """
    dry = dry_model(name, config, task)
    measure = peak_nbytes if holding == "inference" else saved_nbytes
    nbytes = np.array([_column(dry, measure, batches, seq) for seq in lengths], dtype=np.int64).T
    return ActivationMemory(name, holding, tuple(batches), tuple(lengths), nbytes)


def _column(dry: DryModel, measure: Callable[[DryModel, int, int], int], batches: Sequence[int], seq: int) -> list[int]:
    """The bytes of every batch for one length."""
    try:
        first, second, last = batches[0], batches[min(1, len(batches) - 1)], batches[-1]
        nbytes = {batch: measure(dry, batch, seq) for batch in (first, second, last)}
        if len(nbytes) == 3:
            slope = (nbytes[second] - nbytes[first]) / (second - first)
            if nbytes[first] + slope * (last - first) == nbytes[last]:
                return [round(nbytes[first] + slope * (batch - first)) for batch in batches]
        return [nbytes[batch] if batch in nbytes else measure(dry, batch, seq) for batch in batches]
    except TextError:  # too large for a run on the CPU
        return [NOT_RUN] * len(batches)


def peak_nbytes(dry: DryModel, batch: int, seq: int) -> int:
    """Peak memory of a forward pass without gradients, without weights and inputs."""
    inputs = dry.inputs([plain_row(dry.model, seq)] * batch)
    excluded = _storages(dry, inputs)

    reference: Any = torch.multiprocessing.reductions.StorageWeakRef
    mode: Any = dispatch_mode()

    class _Living(mode):  # type: ignore[misc]  # torch leaves the class without types
        """Tracks the storages that are in use."""

        def __init__(self) -> None:
            super().__init__()
            self.living: dict[int, tuple[Any, int]] = {}
            self.peak = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            self.living = {key: entry for key, entry in self.living.items() if not entry[0].expired()}
            for tensor in tree_leaves(out):
                if isinstance(tensor, torch.Tensor):
                    storage, key = tensor.untyped_storage(), storage_key(tensor)
                    if key not in excluded:
                        self.living[key] = reference(storage), storage.nbytes()
            self.peak = max(self.peak, sum(nbytes for _, nbytes in self.living.values()))
            return out

    with torch.no_grad(), _Living() as living:
        dry.run(inputs)
    return int(living.peak)


def saved_nbytes(dry: DryModel, batch: int, seq: int) -> int:
    """Memory that autograd saves for the backward pass, without weights and inputs."""
    inputs = dry.inputs([plain_row(dry.model, seq)] * batch)
    excluded = _storages(dry, inputs)
    storages: dict[int, Any] = {}

    def keep(tensor: "torch.Tensor") -> "torch.Tensor":
        if (key := storage_key(tensor)) not in excluded:
            storages[key] = tensor.untyped_storage()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        dry.run(inputs)
    return sum(storage.nbytes() for storage in storages.values())


def _storages(dry: DryModel, inputs: Mapping[str, Any]) -> set[int]:
    """Keys of the storages of weights, buffers and inputs."""
    tensors = (*dry.model.parameters(), *dry.model.buffers(), *inputs.values())
    return {storage_key(tensor) for tensor in tensors}
