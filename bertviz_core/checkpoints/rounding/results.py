"""Results about a model whose weights are rounded to fewer bits: errors and bytes, and what a list of texts keeps."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int


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
    """Number of tensors."""
    rounded: int
    """How many of them are rounded; the others stay as they are."""
    numel: int
    """Number of values."""
    difference_norm: float
    """Norm of the rounded values minus the values."""
    norm: float
    """Norm of the values."""
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
    """Return several parts as one: counts and bytes added, norms as the root of the sum of squares.

    Args:
        parts: the parts.
        component: component of the result.
        layer: its layer.
        block: its block.
    """
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
class NumberFormats:
    """A model beside copies of itself with weights of fewer bits."""

    model: str
    """Name of the model."""
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
    notices: tuple[str, ...] = field(default=())
    """Remarks, one sentence each."""
