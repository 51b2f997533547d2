"""Growth of a measured quantity with its size, as a line whose two numbers are fitted to the measurements."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import nnls

Law = Literal["constant", "n", "n log n", "log n", "n²"]
LAWS: Mapping[Law, Callable[[float], float]] = {
    "constant": lambda size: 0.0,
    "n": float,
    "n log n": lambda size: size * math.log2(size),
    "log n": math.log2,
    "n²": lambda size: float(size) ** 2,
}
"""Law -> what the quantity grows with, beside a constant."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Measurements of a quantity at several sizes, ascending."""

    law: Law
    """How the work has to grow by its algorithm; the measurements say how fast."""
    of: Literal["rows", "shards"]
    """What the sizes count."""
    sizes: tuple[int, ...]
    """Sizes that were measured."""
    values: tuple[float, ...]
    """Seconds or bytes at these sizes."""

    def line(self) -> tuple[float, float]:
        """Return the constant and the factor of the law, none below 0, that fit best.

        Errors count relative to the measured values, so that the small sizes are fitted as well as the large ones. What
        does not grow is as large as its largest measurement: a work of few rows may fill less than one block. What
        grows with a logarithm has no constant, which a few sizes cannot tell from it.
        """
        if self.law == "constant":
            return max(self.values), 0.0
        values = np.array(self.values, dtype=np.float64)
        scale = np.where(values > 0, values, 1.0)
        laws = np.array([LAWS[self.law](size) for size in self.sizes])
        ones = np.full(len(laws), 0.0 if "log" in self.law else 1.0)
        terms = np.stack([ones, laws], axis=1) / scale[:, None]
        lengths = np.maximum(np.linalg.norm(terms, axis=0), np.finfo(np.float64).tiny)
        (constant, factor), _ = nnls(terms / lengths, values / scale)
        return float(constant / lengths[0]), float(factor / lengths[1])

    def at(self, size: float) -> float:
        """Return the quantity at a size, by the line."""
        constant, factor = self.line()
        return constant + factor * LAWS[self.law](size)

    def error(self) -> float:
        """Return how far the line misses a measurement at most, as a share of the measured value."""
        pairs = [(self.at(size), value) for size, value in zip(self.sizes, self.values, strict=True) if value > 0]
        return max((abs(fitted - value) / value for fitted, value in pairs), default=0.0)

    def exponent(self) -> float:
        """Return p of size^p between the two largest sizes: 1 for a work twice as long for twice the size."""
        (first, last), (low, high) = self.sizes[-2:], self.values[-2:]
        return math.log(high / low) / math.log(last / first) if low > 0 and high > 0 else 0.0
