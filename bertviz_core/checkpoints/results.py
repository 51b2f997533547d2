"""Results of reading a checkpoint's values: statistics, health findings, maps, histograms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from jaxtyping import Float, Int

from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.trace.results import Tokens

Problem = Literal["never trained", "NaN", "infinity", "all zero", "identical layers"]

BUFFER = "buffer"
"""Component of a stored tensor that is no parameter."""


class TensorLocation(msgspec.Struct, frozen=True):
    """Where a stored tensor stands in the model."""

    name: str
    """Name in the checkpoint file."""
    module_name: str
    """Name in the PyTorch module; the file's where one stored tensor is cut into several."""
    component: str
    """"embeddings", "encoder", "decoder", "pooler" or "task head"; "buffer" for what is no parameter."""
    layer: int | None
    """Zero-based index of its layer; None outside the layers."""
    inside: str
    """Its name inside the layer, such as "output.dense.weight"; the module's name outside the layers."""
    part: str
    """Its job in the layer, such as "query"; "other" outside."""

    @property
    def is_buffer(self) -> bool:
        """Whether it is a buffer, such as a table of position ids, and no parameter."""
        return self.component == BUFFER


class TensorStatistics(msgspec.Struct, frozen=True):
    """Numbers about the values of one stored tensor; mean, std, minimum, maximum and moments are of the finite ones."""

    location: TensorLocation
    """Where it stands."""
    shape: tuple[int, ...]
    """Size of every axis."""
    dtype: str
    """Torch's name of the number format."""
    numel: int
    """Count of its numbers."""
    mean: float
    """Sum over count; NaN where no value is finite."""
    std: float
    """Root of the mean squared distance to the mean (divided by the count)."""
    minimum: float
    """Smallest value."""
    maximum: float
    """Largest value."""
    zeros: int
    """Count of exact zeros."""
    nan: int
    """Count of values that are no number."""
    infinite: int
    """Count of values that are infinite."""
    second_moment: float
    """Sum of the squares, not centred, over the count of values that are not zero; 0 where there are none."""
    fourth_moment: float
    """The same of the fourth powers."""
    digest: bytes
    """BLAKE2b of format, shape and bytes: equal for equal tensors."""

    @property
    def name(self) -> str:
        """Name in the checkpoint file."""
        return self.location.name

    @property
    def finite(self) -> int:
        """Number of finite values."""
        return self.numel - self.nan - self.infinite

    @property
    def largest(self) -> float:
        """Largest magnitude of a finite value."""
        return max(abs(self.minimum), abs(self.maximum))


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointStatistics:
    """Statistics of every tensor of one checkpoint."""

    model: str
    """Name of the model."""
    revision: str
    """State of its files."""
    tensors: tuple[TensorStatistics, ...]
    """Every tensor of a readable format, in the order of the data flow."""
    unread: tuple[str, ...]
    """Names of the tensors in a format without real numbers that could be read."""
    nbytes: int
    """Bytes of the values in the files."""
    standard_deviations: tuple[float, ...]
    """What the config says of the spread of newly made weights, such as its initializer_range."""

    def by_name(self) -> Mapping[str, TensorStatistics]:
        """Stored name -> statistics."""
        return {tensor.name: tensor for tensor in self.tensors}


@dataclass(frozen=True, slots=True)
class Finding:
    """A sign that weights were never trained or are broken."""

    problem: Problem
    """What kind of sign it is."""
    sentence: str
    """What was found and what to do, one or two sentences."""
    tensors: tuple[str, ...]
    """Stored names of the tensors that it is about."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How often values fall between the edges; counts and values left out add up to the count of numbers."""

    edges: Float[np.ndarray, " edges"]
    """Ends of the bins, ascending; the last bin holds its right end too."""
    counts: Int[np.ndarray, " bins"]
    """Values in every bin."""
    left_out: int
    """Values that are NaN, infinite or outside the edges."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorGrid:
    """One number per tensor as a map: places inside a layer by layers, and a list of what stands outside."""

    places: tuple[str, ...]
    """Name inside the layer of every row, in the way of the data."""
    layers: tuple[str, ...]
    """Label of every column: the layer's number, with its stack where there are two."""
    values: Float[np.ndarray, "places layers"]
    """The number of every cell; NaN where there is no such tensor or it has no number."""
    names: tuple[tuple[str, ...], ...]
    """The tensor of every cell, "" for none; where several share a cell, the one with the largest number."""
    outside: tuple[str, ...]
    """Tensors outside the layers."""
    outside_values: Float[np.ndarray, " outside"]
    """Their numbers."""
    left_out: int
    """Tensors that the map has no room for."""

    def tensor_at(self, row: int, column: int) -> str:
        """The tensor of a cell, "" for none; column -1 is the list of those outside."""
        if column == -1:
            return self.outside[row] if 0 <= row < len(self.outside) else ""
        inside = 0 <= row < len(self.places) and 0 <= column < len(self.layers)
        return self.names[row][column] if inside else ""


class TensorChange(msgspec.Struct, frozen=True):
    """The change of one tensor between two checkpoints."""

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


class ResizedTensor(msgspec.Struct, frozen=True):
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
    """Names of tensors in formats that cannot be decoded."""
    relative_change: float
    """The same ratio of all parameters together that both hold; buffers are left out."""


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
    """Comparison of two models on one text, layer by layer."""

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
