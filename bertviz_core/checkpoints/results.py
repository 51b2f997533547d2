"""Results computed from the values of a checkpoint: statistics, health findings, maps, histograms."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import msgspec
import numpy as np
from jaxtyping import Float, Int

from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.text import tensors_not_finite
from bertviz_core.trace.results import Tokens

Problem = Literal["never trained", "NaN", "infinity", "all zero", "identical layers"]

BUFFER = "buffer"
"""Component of a stored buffer."""


class TensorLocation(msgspec.Struct, frozen=True):
    """Location of a stored tensor in the model."""

    name: str
    """Name in the checkpoint file."""
    module_name: str
    """Name in the PyTorch module; the stored name if the tensor is split into several."""
    component: str
    """"embeddings", "encoder", "decoder", "pooler", "task head" or "buffer"."""
    layer: int | None
    """Zero-based index of its layer; None outside the layers."""
    inside: str
    """Its name inside the layer, such as "output.dense.weight"; the module's name outside the layers."""
    part: str
    """Role in the layer, such as "query"; "other" outside the layers."""
    repeats: bool = False
    """Whether it stores the values of a parameter again that is tied to it."""

    @property
    def is_buffer(self) -> bool:
        """Whether it is a buffer, such as a table of position ids, and not a parameter."""
        return self.component == BUFFER


class TensorStatistics(msgspec.Struct, frozen=True):
    """Statistics of the values of one stored tensor; mean, std, minimum, maximum and moments use finite values only."""

    location: TensorLocation
    """Location in the model."""
    shape: tuple[int, ...]
    """Size of every axis."""
    dtype: str
    """Name of the format in torch."""
    numel: int
    """Number of values."""
    mean: float
    """Mean; NaN if no value is finite."""
    std: float
    """Population standard deviation."""
    minimum: float
    """Smallest value."""
    maximum: float
    """Largest value."""
    zeros: int
    """Number of exact zeros."""
    nan: int
    """Number of NaN values."""
    infinite: int
    """Number of infinite values."""
    second_moment: float
    """Mean square (not centred) of the nonzero values; 0 if there are none."""
    fourth_moment: float
    """Mean fourth power of the nonzero values."""
    digest: bytes
    """BLAKE2b of format, shape and bytes; equal for equal tensors."""

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
    """Revision of its files."""
    tensors: tuple[TensorStatistics, ...]
    """Statistics of every tensor of a readable format, in the order of the data flow."""
    unread: tuple[str, ...]
    """Names of the tensors in a format that cannot be decoded."""
    nbytes: int
    """Size of the values in bytes."""
    standard_deviations: tuple[float, ...]
    """Standard deviations of new weights in the config, such as initializer_range."""

    def by_name(self) -> Mapping[str, TensorStatistics]:
        """Stored name -> statistics."""
        return {tensor.name: tensor for tensor in self.tensors}


@dataclass(frozen=True, slots=True)
class Finding:
    """A sign of untrained or broken weights."""

    problem: Problem
    """Kind of problem."""
    sentence: str
    """The finding and advice, one or two sentences."""
    tensors: tuple[str, ...]
    """Stored names of the affected tensors."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts of values in bins; counts and left-out values sum to the number of values."""

    edges: Float[np.ndarray, " edges"]
    """Edges of the bins, ascending; the last bin includes its right edge."""
    counts: Int[np.ndarray, " bins"]
    """Number of values in every bin."""
    left_out: int
    """Number of values that are NaN, infinite or outside the edges."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorGrid:
    """One number per tensor as a map: names inside a layer by layers, and a list of tensors outside layers."""

    places: tuple[str, ...]
    """Name inside the layer of every row, in the order of the data flow."""
    layers: tuple[str, ...]
    """Label of every column: layer number, with its stack if there are two."""
    values: Float[np.ndarray, "places layers"]
    """Number of every cell; NaN if there is no such tensor or number."""
    names: tuple[tuple[str, ...], ...]
    """Tensor of every cell, "" for none; of several in a cell, the one with the largest number."""
    outside: tuple[str, ...]
    """Tensors outside the layers."""
    outside_values: Float[np.ndarray, " outside"]
    """Numbers of the tensors outside the layers."""
    left_out: int
    """Number of tensors beyond the size limit of the map."""

    def tensor_at(self, row: int, column: int) -> str:
        """Return the tensor of a cell, "" for none; column -1 is the list of those outside."""
        if column == -1:
            return self.outside[row] if 0 <= row < len(self.outside) else ""
        inside = 0 <= row < len(self.places) and 0 <= column < len(self.layers)
        return self.names[row][column] if inside else ""


class TensorChange(msgspec.Struct, frozen=True):
    """The change of one tensor between two checkpoints."""

    location: TensorLocation
    """Location in the first model."""
    second_name: str
    """Name in the second file."""
    shape: tuple[int, ...]
    """Common size of every axis."""
    dtype: str
    """Number format in the first file."""
    second_dtype: str
    """Number format in the second file."""
    relative_change: float
    """||second - first|| / ||first||, Frobenius norms; 0 for equal values, infinity if the first is all zero."""
    difference_norm: float
    """||second - first||."""
    first_norm: float
    """||first||."""
    second_norm: float
    """||second||."""
    largest_difference: float
    """Largest magnitude of second - first."""
    changed: int
    """Number of differing values."""

    @property
    def name(self) -> str:
        """Name in the first file."""
        return self.location.name


class ResizedTensor(msgspec.Struct, frozen=True):
    """A tensor with different shapes in two checkpoints."""

    name: str
    """Name in the first file."""
    first: tuple[int, ...]
    """Shape in the first file."""
    second: tuple[int, ...]
    """Shape in the second file."""


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointComparison:
    """Differences between two checkpoints."""

    first: str
    """Name of the first model."""
    second: str
    """Name of the second model."""
    prefixes: tuple[str, str]
    """Prefix stripped from the names of each side for matching; "" for none."""
    added: tuple[StoredTensor, ...]
    """Tensors only in the second checkpoint."""
    removed: tuple[StoredTensor, ...]
    """Tensors only in the first checkpoint."""
    resized: tuple[ResizedTensor, ...]
    """Tensors with different shapes."""
    tensors: tuple[TensorChange, ...]
    """Tensors with equal shape in both, in the order of the data flow; tables of ids last."""
    unread: tuple[str, ...]
    """Names of tensors in formats that cannot be decoded."""
    relative_change: float
    """Relative change over all common parameters; buffers are left out."""

    @property
    def not_finite(self) -> tuple[str, ...]:
        """Names of common tensors with NaN or infinity in either file."""
        return tuple(each.name for each in self.tensors if not isfinite(each.first_norm + each.second_norm))

    @property
    def notices(self) -> tuple[str, ...]:
        """Tensors that could not be read, and those without a finite change, one sentence each."""
        unread = [f"Not read: {name}, whose format has no plain numbers." for name in self.unread]
        if not self.not_finite:
            return tuple(unread)
        each = "it" if len(self.not_finite) == 1 else "them"
        broken = f"{tensors_not_finite(self.not_finite)} in one checkpoint or both, so no change of {each} is measured."
        return (*unread, broken)


@dataclass(frozen=True, slots=True, eq=False)
class ChangeHistograms:
    """Values of one tensor in both checkpoints over the same bins, and their differences."""

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
    """Tokens of both models, as the first spells them."""
    cosines: Float[np.ndarray, "states seq"] | None
    """Cosine of every token's vectors in the two models at every entry of hidden_states, -1 to 1; None if unknown."""
    divergences: Float[np.ndarray, "layers heads"] | None
    """Jensen-Shannon divergence of the two attentions, mean over the queries, in nats, 0 to ln 2; None if unknown."""
    notices: tuple[str, ...]
    """About the text, and parts that were not compared, one sentence each."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerSimilarity:
    """How alike the layers of two models see the same texts; each text is the mean of its tokens' vectors."""

    first: str
    """Name of the first model."""
    second: str
    """Name of the second model."""
    texts: int
    """Number of texts."""
    cka: Float[np.ndarray, "first_states second_states"]
    """Unbiased linear CKA of every pair of hidden states, at most 1; NaN where a state does not tell texts apart."""
    neighbours: int
    """Number of nearest texts that are compared."""
    shared_neighbours: Float[np.ndarray, "first_states second_states"]
    """Mean share of a text's nearest texts that are the same in both states, 0 to 1."""
    first_cosine: Float[np.ndarray, " first_states"]
    """Mean cosine of two different texts at every hidden state of the first model, -1 to 1."""
    second_cosine: Float[np.ndarray, " second_states"]
    """The same for the second model."""
    notices: tuple[str, ...]
    """Remarks, one sentence each."""
