"""Results about a training run: the trainer's log, and the movement of the weights from checkpoint to checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from jaxtyping import Float, Int

from bertviz_core.checkpoints.results import TensorLocation

Fault = Literal["NaN", "infinity", "blew up"]
FINAL = "final model"
"""Name of the model in the run's own folder."""
ALL_PARTS = "all"
MOVED_PARTS = (ALL_PARTS, "attention", "feed-forward", "layer norm")
"""Parts of a layer whose movement is computed; the first is the whole layer."""
GROWTH = 10
"""A tensor blew up where the root mean square of its values is more than this many times that at the start."""
BLOWN_UP = (
    f"A tensor blew up at the first step where the root mean square of its values is more than {GROWTH} times that at "
    "the start; a start below the spread of new weights (initializer_range in the config) counts as that spread."
)


class LogEntry(msgspec.Struct, frozen=True):
    """Numbers that the trainer logged at one step."""

    step: int
    """Step of the optimizer."""
    epoch: float | None
    """Passes over the training data; None if it was not logged."""
    values: Mapping[str, float]
    """Name -> number, such as "loss" or "eval_accuracy"; NaN and infinity are what was logged."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLog:
    """The log of a training run."""

    run: str
    """Name of the folder."""
    source: str
    """File that it was read from, relative to the folder."""
    entries: tuple[LogEntry, ...]
    """Logged numbers, by step."""
    metrics: tuple[str, ...]
    """Names of all logged numbers, in the order in which they first occur."""
    checkpoints: tuple[str, ...]
    """Names of the whole checkpoints in the folder."""
    steps: Int[np.ndarray, " checkpoints"]
    """Step of each checkpoint, ascending."""
    notices: tuple[str, ...]
    """Remarks, one sentence each."""


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointSums:
    """Sums over the values of each parameter tensor of one checkpoint, in the order of the data flow."""

    from_start: Float[np.ndarray, " tensors"]
    """Sum of the squared differences to the first checkpoint."""
    from_before: Float[np.ndarray, " tensors"]
    """Sum of the squared differences to the checkpoint before."""
    squares: Float[np.ndarray, " tensors"]
    """Sum of squares."""
    nan: Int[np.ndarray, " tensors"]
    """Number of NaN values."""
    infinite: Int[np.ndarray, " tensors"]
    """Number of infinite values."""


class BrokenTensor(msgspec.Struct, frozen=True):
    """A tensor that holds NaN or infinity, or whose values blew up, and where this was first so."""

    checkpoint: str
    """Name of the first such checkpoint."""
    step: int
    """Its step."""
    name: str
    """Name in the checkpoint file."""
    place: str
    """Layer or component of the model."""
    what: Fault
    """The fault."""
    numel: int
    """Number of values with NaN or infinity; all values of a tensor that blew up."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingMovement:
    """How far the weights moved in a training run; buffers are left out.

    A movement is ||now - then|| / ||then|| with Frobenius norms over all values of a place, as in the comparison of two
    checkpoints: 0 for equal values, infinity if all values were zero before, NaN if a value is not finite.
    """

    run: str
    """Name of the folder."""
    checkpoints: tuple[str, ...]
    """Names of the checkpoints."""
    steps: Int[np.ndarray, " checkpoints"]
    """Step of each checkpoint, ascending."""
    places: tuple[str, ...]
    """Layers and components of the model, in the order of the data flow: "embeddings", "layer 0", ..."""
    parts: tuple[str, ...]
    """MOVED_PARTS."""
    from_start: Float[np.ndarray, "checkpoints places parts"]
    """Movement from the first checkpoint; NaN also where a place has no such part."""
    from_before: Float[np.ndarray, "checkpoints places parts"]
    """Movement from the checkpoint before; 0 for the first."""
    whole_from_start: Float[np.ndarray, " checkpoints"]
    """Movement of all parameters from the first checkpoint."""
    whole_from_before: Float[np.ndarray, " checkpoints"]
    """Movement of all parameters from the checkpoint before."""
    tensors: tuple[TensorLocation, ...]
    """Parameter tensors, in the order of the data flow."""
    shapes: tuple[tuple[int, ...], ...]
    """Shape of each tensor."""
    tensor_places: tuple[str, ...]
    """Place of each tensor."""
    tensor_from_start: Float[np.ndarray, "checkpoints tensors"]
    """Movement of each tensor from the first checkpoint."""
    tensor_from_before: Float[np.ndarray, "checkpoints tensors"]
    """Movement of each tensor from the checkpoint before."""
    frozen: tuple[str, ...]
    """Names of the tensors that have the same values in all checkpoints."""
    broken: tuple[BrokenTensor, ...]
    """Tensors with NaN or infinity, or that blew up (see BLOWN_UP), by step."""
    unread: tuple[str, ...]
    """Names of the tensors in formats that cannot be decoded."""
    notices: tuple[str, ...]
    """Remarks, one sentence each."""
