"""Number formats of fewer bits, the names of copies rounded to them, and the rounding to floating-point formats.

A rounded copy provides a second checkpoint to compare with, and shows the error of a storage format. Nothing is written
to disk.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

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

    Args:
        rounding: format of the copy.
        dtype: name of the tensor's own format in torch.
        axes: number of its axes.
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
