"""Round a checkpoint's values to fewer bits as they are read; nothing is written to disk.

This provides a second checkpoint to compare with, and shows the error of a storage format.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel

Rounding = Literal["", "float16", "bfloat16", "float8_e4m3fn"]
"""Target format of rounding; "" for none."""


class FloatFormat(NamedTuple):
    """A binary floating-point format."""

    mantissa_bits: int
    least_exponent: int
    """Smallest exponent of a normal number."""
    largest: float
    beyond: float
    """Result for larger numbers."""


FORMATS: Mapping[Rounding, FloatFormat] = {
    "float8_e4m3fn": FloatFormat(3, -6, 448.0, 448.0),
    "bfloat16": FloatFormat(7, -126, (2 - 2**-7) * 2.0**127, np.inf),
    "float16": FloatFormat(10, -14, 65504.0, np.inf),
}
"""IEEE 754 half precision, bfloat16, and OCP 8-bit floating point (specification, table 1)."""
COPIES: Mapping[str, Rounding] = {f"itself, rounded to {name}": name for name in FORMATS}
"""Name of a rounded copy of the first checkpoint -> format of rounding."""


def rounded(values: Float[np.ndarray, " numbers"], rounding: Rounding) -> Float[np.ndarray, " numbers"]:
    """Round to the nearest number of a format, ties to even, as tensor.to(dtype) does."""
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


def round_weights(loaded: LoadedModel, rounding: Rounding) -> LoadedModel:
    """Round the weights of the model in place; computation stays in the original format."""
    round_parameters(loaded.model, rounding)
    named = copy_name(loaded.name, rounding)
    return replace(loaded, name=named, revision=f"{loaded.revision} {rounding}")


def round_parameters(model: "torch.nn.Module", rounding: Rounding) -> None:
    """Round the parameters of a module in place; those that are rounded already stay the same."""
    target = getattr(torch, rounding)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(weight.cpu().to(target).to(weight.dtype))
