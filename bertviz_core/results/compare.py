"""Results of comparing two checkpoints: their names, their values, and what they do with one text."""

from dataclasses import dataclass

import msgspec
import numpy as np
from jaxtyping import Float

from bertviz_core.results import StoredTensor
from bertviz_core.results.trace import Tokens
from bertviz_core.results.weights import Histogram, TensorLocation


class TensorChange(msgspec.Struct, frozen=True, gc=False):
    """How far one tensor that both checkpoints hold is from the first to the second."""

    location: TensorLocation
    """Where it stands in the first model."""
    second_name: str
    """Name in the second file."""
    shape: tuple[int, ...]
    """Size of every axis, the same in both."""
    dtype: str
    """Number format in the first file."""
    second_dtype: str
    """Number format in the second file."""
    relative_change: float
    """||second - first|| / ||first||, Frobenius norms; 0 for equal values, infinity where the first is all zero."""
    difference_norm: float
    """||second - first||."""
    first_norm: float
    """||first||."""
    second_norm: float
    """||second||."""
    largest_difference: float
    """Largest magnitude of second - first."""
    changed: int
    """Count of numbers that differ."""

    @property
    def name(self) -> str:
        """Name in the first file."""
        return self.location.name


class ResizedTensor(msgspec.Struct, frozen=True, gc=False):
    """A tensor that both checkpoints hold with different shapes."""

    name: str
    """Name in the first file."""
    first: tuple[int, ...]
    """Shape there."""
    second: tuple[int, ...]
    """Shape in the second file."""


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointComparison:
    """What changed from a first checkpoint to a second."""

    first: str
    """Name of the first model."""
    second: str
    """Name of the second model."""
    prefixes: tuple[str, str]
    """What was taken off in front of the names of each, "" for nothing, so that they meet."""
    added: tuple[StoredTensor, ...]
    """Tensors that only the second holds."""
    removed: tuple[StoredTensor, ...]
    """Tensors that only the first holds."""
    resized: tuple[ResizedTensor, ...]
    """Tensors whose shapes differ."""
    tensors: tuple[TensorChange, ...]
    """Tensors that both hold with one shape, in the way of the data; tables of ids are the last."""
    unread: tuple[str, ...]
    """Names of tensors in formats whose numbers cannot be told."""
    relative_change: float
    """The same ratio of all numbers together that both hold."""


@dataclass(frozen=True, slots=True, eq=False)
class ChangeHistograms:
    """One tensor's values in both checkpoints over the same bins, and their differences."""

    name: str
    """Name in the first file."""
    first: Histogram
    """Values of the first."""
    second: Histogram
    """Values of the second, over the same edges."""
    difference: Histogram
    """Second minus first."""


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour:
    """What two models make of one text, layer by layer."""

    first: str
    """Name of the first model."""
    second: str
    """Name of the second model."""
    tokens: Tokens
    """What both read."""
    cosines: Float[np.ndarray, "states seq"] | None
    """Cosine of every token's vectors in the two models at every entry of hidden_states, -1 to 1; None if not known."""
    divergences: Float[np.ndarray, "layers heads"] | None
    """Jensen-Shannon divergence of the two attentions, mean over the queries, in nats, 0 to ln 2; None if not known."""
    notices: tuple[str, ...]
    """What could not be compared, one sentence each."""
