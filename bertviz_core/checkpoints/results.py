"""Results computed from the values of a checkpoint: statistics, health findings, maps, histograms."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal

import msgspec
import numpy as np
from jaxtyping import Float, Int

from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.text import tensors_not_finite
from bertviz_core.trace.results import OfModel, OfTwoModels, Tokens

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
    shape: tuple[int, ...]
    dtype: str
    """Name of the format in torch."""
    numel: int
    mean: float
    """Mean; NaN if no value is finite."""
    std: float
    """Population standard deviation."""
    minimum: float
    maximum: float
    zeros: int
    nan: int
    infinite: int
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
    revision: str
    tensors: tuple[TensorStatistics, ...]
    """Statistics of every tensor of a readable format, in the order of the data flow."""
    unread: tuple[str, ...]
    """Names of the tensors in a format that cannot be decoded."""
    nbytes: int
    standard_deviations: tuple[float, ...]
    """Standard deviations of new weights in the config, such as initializer_range."""

    def by_name(self) -> Mapping[str, TensorStatistics]:
        """Stored name -> statistics."""
        return {tensor.name: tensor for tensor in self.tensors}


@dataclass(frozen=True, slots=True)
class Finding:
    """A sign of untrained or broken weights."""

    problem: Problem
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
    second_dtype: str
    relative_change: float
    """||second - first|| / ||first||, Frobenius norms; 0 for equal values, infinity if the first is all zero."""
    difference_norm: float
    first_norm: float
    second_norm: float
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
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointComparison:
    """Differences between two checkpoints."""

    first: str
    second: str
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


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour(OfTwoModels):
    """Comparison of two models on one text, layer by layer."""

    tokens: Tokens
    """Tokens of both models, as the first spells them."""
    cosines: Float[np.ndarray, "states seq"] | None
    """Cosine of every token's vectors in the two models at every entry of hidden_states, -1 to 1; None if unknown."""
    divergences: Float[np.ndarray, "layers heads"] | None
    """Jensen-Shannon divergence of the two attentions, mean over the queries, in nats, 0 to ln 2; None if unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerSimilarity(OfTwoModels):
    """How alike the layers of two models see the same texts; each text is the mean of its tokens' vectors."""

    texts: int
    cka: Float[np.ndarray, "first_states second_states"]
    """Unbiased linear CKA of every pair of hidden states, at most 1; NaN where a state does not tell texts apart."""
    neighbours: int
    """Number of nearest texts that are compared."""
    shared_neighbours: Float[np.ndarray, "first_states second_states"]
    """Mean share of a text's nearest texts that are the same in both states, 0 to 1."""
    first_cosine: Float[np.ndarray, " first_states"]
    """Mean cosine of two different texts at every hidden state of the first model, -1 to 1."""
    second_cosine: Float[np.ndarray, " second_states"]


@dataclass(frozen=True, slots=True)
class RoundedPart:
    """Tensors of a model in one number format: those of one block of a layer, or all of a component or a model."""

    component: str
    """"embeddings", "encoder", "decoder", "pooler" or "task head"; "" for several."""
    layer: int | None
    """Zero-based index of the layer; None outside the layers, or for several."""
    block: str
    """In a layer: "attention", "feed-forward", "layer norm" or "other"; "" outside, or for several."""
    tensors: int
    rounded: int
    """How many of them are rounded; the others stay as they are."""
    numel: int
    difference_norm: float
    """Norm of the rounded values minus the values."""
    norm: float
    largest_error: float
    """Largest magnitude of the difference of one value."""
    nbytes: int
    """Bytes in the file."""
    rounded_nbytes: int
    """Bytes after rounding, with the scales."""

    @property
    def relative_error(self) -> float:
        """Norm of the difference over the norm of the values; 0 if nothing differs."""
        if self.difference_norm == 0:
            return 0.0
        return self.difference_norm / self.norm if self.norm else math.inf

    @property
    def saved_nbytes(self) -> int:
        """Bytes saved; below 0 where the format has more than the file."""
        return self.nbytes - self.rounded_nbytes

    @property
    def name(self) -> str:
        """Name of its place, such as "layer 3 attention" or "feed-forward"."""
        stack = "decoder " if self.component == "decoder" else ""
        if self.layer is None:
            return f"{stack}{self.block}" if self.block else self.component
        return f"{stack}layer {self.layer} {self.block}".rstrip()


def together(
    parts: Iterable[RoundedPart], component: str = "", layer: int | None = None, block: str = ""
) -> RoundedPart:
    """Return several parts as one: counts and bytes added, norms as the root of the sum of squares."""
    rows = list(parts)
    return RoundedPart(
        component,
        layer,
        block,
        tensors=sum(each.tensors for each in rows),
        rounded=sum(each.rounded for each in rows),
        numel=sum(each.numel for each in rows),
        difference_norm=math.hypot(*(each.difference_norm for each in rows)),
        norm=math.hypot(*(each.norm for each in rows)),
        largest_error=float(np.max([each.largest_error for each in rows], initial=0.0)),
        nbytes=sum(each.nbytes for each in rows),
        rounded_nbytes=sum(each.rounded_nbytes for each in rows),
    )


@dataclass(frozen=True, slots=True, eq=False)
class TextAgreement:
    """How far the vectors and answers of texts stay the same when the weights are rounded."""

    cosines: Float[np.ndarray, " texts"]
    """Cosine of the pooled vector of each text before and after rounding, -1 to 1."""
    neighbours: int | None
    """Number of nearest texts that are compared; None for fewer than 3 texts."""
    shared: Float[np.ndarray, " texts"] | None
    """Share of the nearest texts of each that are the same, 0 to 1; None for fewer than 3 texts."""
    changed: Int[np.ndarray, " changed"] | None
    """Indices of the texts whose answer changes; None for a model whose head does not classify texts."""


@dataclass(frozen=True, slots=True, eq=False)
class RoundedFormat:
    """A model whose weights are rounded to one number format."""

    name: str
    """Name of the format, such as "int8 per channel"."""
    bits: int
    """Bits of a value, without its scale."""
    parts: tuple[RoundedPart, ...]
    """Errors and bytes by component, layer and block, in the order of the data flow."""
    uneven: tuple[str, ...] = ()
    """Names of the rounded matrices whose last group of a row, or of the tensor, is smaller than the others."""
    agreement: TextAgreement | None = None
    """Agreement of the texts before and after rounding; None without texts."""

    @property
    def whole(self) -> RoundedPart:
        """All tensors together."""
        return together(self.parts)

    def with_texts(self, agreement: TextAgreement) -> "RoundedFormat":
        """Return the same format with the agreement of texts."""
        return replace(self, agreement=agreement)

    def by_layer(self) -> tuple[RoundedPart, ...]:
        """The parts by component and layer."""
        return self._by(lambda part: (part.component, part.layer, ""))

    def by_component(self) -> tuple[RoundedPart, ...]:
        """The parts by component, those of layers by block over all layers."""
        return self._by(lambda part: (part.component, None, part.block))

    def _by(self, place: Callable[[RoundedPart], tuple[str, int | None, str]]) -> tuple[RoundedPart, ...]:
        groups: dict[tuple[str, int | None, str], list[RoundedPart]] = {}
        for part in self.parts:
            groups.setdefault(place(part), []).append(part)
        return tuple(together(parts, *each) for each, parts in groups.items())


@dataclass(frozen=True, slots=True, eq=False)
class NumberFormats(OfModel):
    """A model beside copies of itself with weights of fewer bits."""

    formats: tuple[RoundedFormat, ...]
    """The copies."""
    texts: tuple[str, ...] = ()
    """Texts that were run; () if only the weights are compared."""
    pooling: str = ""
    """Pooling of the vectors; "" without texts."""
    copy_nbytes: int = 0
    """Memory of one copy, in bytes; there is one at a time beside the model. 0 without texts."""
    unread: tuple[str, ...] = ()
    """Names of tensors in a format without plain numbers, which are left out."""
