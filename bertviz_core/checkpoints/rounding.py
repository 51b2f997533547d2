"""Round a checkpoint's values to fewer bits as they are read; nothing is written to disk.

Two checkpoints that differ are then at hand wherever there is one, and what a storage format costs is seen.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel

Rounding = Literal["", "float16", "bfloat16", "float8_e4m3fn"]
"""Format that numbers are rounded to; "" for none."""


class FloatFormat(NamedTuple):
    """A binary floating-point format."""

    mantissa_bits: int
    least_exponent: int
    """Of a number that is not subnormal."""
    largest: float
    beyond: float
    """What a larger number becomes."""


FORMATS: Mapping[Rounding, FloatFormat] = {
    "float8_e4m3fn": FloatFormat(3, -6, 448.0, 448.0),
    "bfloat16": FloatFormat(7, -126, (2 - 2**-7) * 2.0**127, np.inf),
    "float16": FloatFormat(10, -14, 65504.0, np.inf),
}
"""IEEE 754 half precision, bfloat16, and the OCP 8-bit floating point specification (table 1)."""
COPIES: Mapping[str, Rounding] = {f"itself, rounded to {name}": name for name in FORMATS}
"""How a reader asks for a copy of the first checkpoint -> format that it is rounded to."""


def rounded(values: Float[np.ndarray, " numbers"], rounding: Rounding) -> Float[np.ndarray, " numbers"]:
    """The nearest numbers of a format, of two equally near ones the even one, as tensor.to(dtype) gives them."""
    if not rounding:
        return values
    target = FORMATS[rounding]
    exponents = np.maximum(np.frexp(values)[1] - 1, target.least_exponent)
    steps = np.ldexp(1.0, exponents - target.mantissa_bits)
    near: np.ndarray = np.round(values / steps) * steps
    return np.asarray(np.where(np.abs(near) > target.largest, np.copysign(target.beyond, near), near))


def copy_name(name: str, rounding: Rounding) -> str:
    """Name of the copy of a checkpoint."""
    return f"{name} in {rounding}"


def round_weights(loaded: LoadedModel, rounding: Rounding) -> LoadedModel:
    """The model with its weights rounded, in place; they are multiplied in the format of before."""
    target = getattr(torch, rounding)
    with torch.no_grad():
        for weight in loaded.model.parameters():
            weight.copy_(weight.cpu().to(target).to(weight.dtype))
    named = copy_name(loaded.name, rounding)
    return replace(loaded, name=named, revision=f"{loaded.revision} {rounding}")
