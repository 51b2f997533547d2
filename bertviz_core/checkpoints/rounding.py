"""Round weights to another number format."""

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int, UInt8

from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel

Rounding = Literal[
    "",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "int8",
    "int8 per channel",
    "int4 groups of 32",
    "int4 groups of 64",
    "int4 groups of 128",
    "nf4",
]
"""Target format of rounding; "" for none."""


class FloatFormat(NamedTuple):
    """A binary floating-point format."""

    bits: int
    mantissa_bits: int
    least_exponent: int
    """Smallest exponent of a normal number."""
    largest: float
    beyond: float
    """Result for larger numbers."""


class ScaledFormat(NamedTuple):
    """A format of whole numbers, or of levels between -1 and 1, that are multiplied by one scale for each group."""

    bits: int
    group: int | None
    """Numbers of a group; None for the whole row."""
    by_row: bool
    """Whether groups end with a row, that is with an output channel; else the tensor is read as one long row."""
    largest: int = 0
    """Largest whole number; 0 for the levels of NormalFloat."""


FORMATS: Mapping[Rounding, FloatFormat] = {
    "float8_e4m3fn": FloatFormat(8, 3, -6, 448.0, 448.0),
    "bfloat16": FloatFormat(16, 7, -126, (2 - 2**-7) * 2.0**127, np.inf),
    "float16": FloatFormat(16, 10, -14, 65504.0, np.inf),
}
"""IEEE 754 half precision, bfloat16, and OCP 8-bit floating point (specification, table 1)."""
SCALED: Mapping[Rounding, ScaledFormat] = {
    "int8": ScaledFormat(8, None, False, 127),
    "int8 per channel": ScaledFormat(8, None, True, 127),
    "int4 groups of 32": ScaledFormat(4, 32, True, 7),
    "int4 groups of 64": ScaledFormat(4, 64, True, 7),
    "int4 groups of 128": ScaledFormat(4, 128, True, 7),
    "nf4": ScaledFormat(4, 64, False),
}
"""Symmetric absmax quantization to whole numbers, and 4-bit NormalFloat (Dettmers et al. 2023, QLoRA)."""
COPIES: Mapping[str, Rounding] = {f"itself, rounded to {name}": name for name in (*FORMATS, *SCALED)}
"""Name of a rounded copy of the first checkpoint -> format of rounding."""
PLAIN = {"float8_e4m3fn": "8-bit float, e4m3", "nf4": "4-bit NormalFloat"}
LABELS = {copy: copy.replace(name, f"{PLAIN[name]} ({name})") for copy, name in COPIES.items() if name in PLAIN}
"""Name of a copy -> its label among options, where it differs."""
SCALE_NBYTES = 4
"""Bytes of a scale, a float32."""


def rounded(values: Float[np.ndarray, " numbers"], rounding: Rounding) -> Float[np.ndarray, " numbers"]:
    """Round to the nearest number of a floating-point format, ties to even, as tensor.to(dtype) does."""
    if not rounding:
        return values
    target = FORMATS[rounding]
    exponents = np.maximum(np.frexp(values)[1] - 1, target.least_exponent)
    steps = np.ldexp(1.0, exponents - target.mantissa_bits)
    near: np.ndarray = np.round(values / steps) * steps
    return np.asarray(np.where(np.abs(near) > target.largest, np.copysign(target.beyond, near), near))


def copy_name(name: str, rounding: Rounding) -> str:
    """Return the name of the rounded copy of a checkpoint."""
    return f"{name} in {rounding}"


def format_of(rounding: Rounding, dtype: str, axes: int) -> Rounding:
    """Return the format that a tensor of a copy has; "" for one that stays as it is.

    Floating-point formats round all real numbers. Formats with scales round weight matrices, tensors of at least two
    axes; biases and the weights of layer norms stay as they are.
    """
    return rounding if "float" in dtype and (rounding not in SCALED or axes > 1) else ""


def rounded_nbytes(shape: Sequence[int], rounding: Rounding) -> int:
    """Return the bytes of a tensor in a format, with the scales of its groups."""
    if rounding in FORMATS:
        return math.prod(shape) * FORMATS[rounding].bits // 8
    scaled = SCALED[rounding]
    rows, columns, size = group_layout(shape, rounding)
    return -(-rows * columns * scaled.bits // 8) + SCALE_NBYTES * rows * -(-columns // size)


def group_layout(shape: Sequence[int], rounding: Rounding) -> tuple[int, int, int]:
    """Return rows, numbers of a row, and numbers of a group of a tensor in a format with scales.

    A row is an output channel: the first axis of the matrix of a linear layer in PyTorch; all other axes are its
    inputs. The last group of a row is smaller where the row is no multiple of a group.
    """
    scaled = SCALED[rounding]
    rows = shape[0] if scaled.by_row and shape else 1
    columns = math.prod(shape[1:]) if scaled.by_row else math.prod(shape)
    return rows, columns, max(columns if scaled.group is None else scaled.group, 1)


NF4_LEVELS = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
"""Levels of 4-bit NormalFloat: quantiles of the normal distribution, scaled to -1 and 1 (Dettmers et al. 2023, QLoRA,
appendix E)."""
MIDDLES = tuple((low + high) / 2 for low, high in itertools.pairwise(NF4_LEVELS))
"""Numbers halfway between two levels, which become the lower one."""
MOST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of a tensor in a format with scales."""

    rounding: Rounding
    rows: int
    columns: int
    """Numbers of a row."""
    size: int
    """Numbers of a group, but for the last of a row."""
    scales: Float[np.ndarray, " groups"]
    """Scale of each group; 0 for a group of zeros."""

    def rounded(self, values: Float[np.ndarray, " numbers"], start: int) -> Float[np.ndarray, " numbers"]:
        """Round a piece of the tensor.

        Args:
            start: place of the first of them in the tensor.
        """
        first, starts = _group_starts(self.rows, self.columns, self.size, start, len(values))
        lengths = np.diff(np.append(starts, len(values)))
        scale = np.repeat(self.scales[first : first + len(starts)], lengths)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shares = np.where(scale > 0, values / scale, 0.0)
            largest = SCALED[self.rounding].largest
            if largest:
                codes = np.clip(np.rint(shares), -largest, largest)
            else:
                codes = np.asarray(NF4_LEVELS)[_level_numbers(shares)]
            near = np.clip(codes * scale, -MOST, MOST).astype(np.float32).astype(np.float64)
        return np.where(np.isfinite(values), near, values)


def groups_of(pieces: Iterable[Float[np.ndarray, " _"]], shape: Sequence[int], rounding: Rounding) -> Groups:
    """Compute the scales of a tensor."""
    rows, columns, size = group_layout(shape, rounding)
    largest: Float[np.ndarray, " groups"] = np.zeros(rows * -(-columns // size))
    at = 0
    for values in pieces:
        if len(values):
            sizes = np.where(np.isfinite(values), np.abs(values), 0.0)
            first, starts = _group_starts(rows, columns, size, at, len(values))
            inside = largest[first : first + len(starts)]
            np.maximum(inside, np.maximum.reduceat(sizes, starts), out=inside)
        at += len(values)
    scales = np.minimum(largest / (SCALED[rounding].largest or 1), MOST).astype(np.float32).astype(np.float64)
    return Groups(rounding, rows, columns, size, scales)


def rounded_pieces(
    values: Float[np.ndarray, " numbers"], shape: Sequence[int], rounding: Rounding, piece: int
) -> Iterator[tuple[int, Float[np.ndarray, " _"]]]:
    """Round a tensor that is in memory, yielding the place of each piece and its numbers.

    Args:
        piece: numbers of a piece, in float64.
    """
    starts = range(0, len(values), piece)
    groups = groups_of((values[at : at + piece].astype(np.float64) for at in starts), shape, rounding)
    return ((at, groups.rounded(values[at : at + piece].astype(np.float64), at)) for at in starts)


def _level_numbers(shares: Float[np.ndarray, " numbers"]) -> UInt8[np.ndarray, " numbers"]:
    """Return the number of the nearest level; a comparison with each middle is faster than a search in them."""
    numbers = np.zeros(len(shares), dtype=np.uint8)
    for middle in MIDDLES:
        numbers += shares > middle
    return numbers


def _group_starts(rows: int, columns: int, size: int, start: int, count: int) -> tuple[int, Int[np.ndarray, " groups"]]:
    """Return the number of the first group of a piece, and where in the piece each of its groups begins."""
    if not count:
        return 0, np.zeros(0, dtype=np.int64)
    of_row = -(-columns // size)
    first, last = (place // columns * of_row + place % columns // size for place in (start, start + count - 1))
    numbers = np.arange(first, last + 1)
    begins = numbers // of_row * columns + numbers % of_row * size
    return first, np.maximum(begins - start, 0)


PIECE_NUMBERS = 2**15
"""Numbers that are rounded at once, as float64, so that they stay in the processor's cache."""


def round_weights(loaded: LoadedModel, rounding: Rounding) -> LoadedModel:
    """Round the weights of the model in place."""
    round_parameters(loaded.model, rounding)
    named = copy_name(loaded.name, rounding)
    return replace(loaded, name=named, revision=f"{loaded.revision} {rounding}")


def round_parameters(model: "torch.nn.Module", rounding: Rounding, done: Collection["torch.Tensor"] = ()) -> None:
    """Round the parameters of a module in place.

    Args:
        done: parameters that are rounded already, such as those of the base model of a head.
    """
    places = {weight.data_ptr() for weight in done}
    with torch.no_grad():
        for weight in model.parameters():
            if weight.data_ptr() in places or not format_of(rounding, str(weight.dtype), weight.ndim):
                continue
            if rounding in SCALED:
                _round_with_scales(weight, rounding)
            else:
                weight.copy_(weight.cpu().to(getattr(torch, rounding)).to(weight.dtype))


def _round_with_scales(weight: "torch.Tensor", rounding: Rounding) -> None:
    flat = weight.detach().cpu().reshape(-1)
    values = (flat if flat.dtype == torch.float64 else flat.float()).numpy().copy()
    for at, piece in rounded_pieces(values, tuple(weight.shape), rounding, PIECE_NUMBERS):
        values[at : at + len(piece)] = piece
    weight.copy_(torch.from_numpy(values).reshape(weight.shape))
