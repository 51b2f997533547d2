"""Colour scales of number maps: linear or logarithmic, robust to outliers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from bertviz_core.figures.base.cells import colour_at
from bertviz_core.figures.base.colour_bars import colour_bar, round_limit, round_ticks, tick_words
from bertviz_core.figures.base.style import Theme, diverging, sequential
from bertviz_core.text import digits

DECADES = 4
"""Powers of ten that a logarithmic scale covers below the largest value."""
FAINTEST = 0.12
"""Position on a logarithmic scale of the smallest nonzero value, so that it is distinct from 0."""


@dataclass(frozen=True, slots=True)
class NumberScale:
    """Maps numbers to colours."""

    axis: dict[str, Any]
    """Settings of the colour axis."""
    largest: float
    """Largest finite magnitude, rounded on a logarithmic scale; infinity is drawn as this."""
    logarithmic: bool
    """Whether the scale is logarithmic."""

    def drawn(self, values: Float[np.ndarray, "rows columns"]) -> Float32[np.ndarray, "rows columns"]:
        """Return heatmap values: the numbers, or their positions on a logarithmic scale from 0 to 1."""
        if self.logarithmic:
            with np.errstate(divide="ignore"):
                places = 1 + np.log10(np.abs(values) / self.largest) / DECADES
            return np.where(values == 0, 0.0, np.clip(places, FAINTEST, 1)).astype(np.float32)
        return np.where(np.isinf(values), np.sign(values) * self.largest, values).astype(np.float32)

    def colours(self, values: Float[np.ndarray, "rows columns"]) -> list[list[str]]:
        """Return the colour of each cell."""
        low, high = self.axis["cmin"], self.axis["cmax"]
        shares = np.nan_to_num((self.drawn(values) - low) / (high - low))
        return [[colour_at(self.axis["colorscale"], share) for share in row] for row in shares.tolist()]


def number_scale(
    numbers: Sequence[float], unit: str, theme: Theme, signed: bool = False, logarithmic: bool = False
) -> NumberScale:
    """Choose the scale of some numbers.

    A linear scale ends at Tukey's fence, the third quartile plus one and a half times the interquartile range (1977,
    Exploratory Data Analysis), if a number lies far beyond; the bar then says "and more".

    Args:
        numbers: all drawn numbers.
        unit: unit of the numbers, for the colour bar.
        theme: theme of the figure.
        signed: whether the scale is symmetric around 0.
        logarithmic: whether the scale is logarithmic; for nonnegative numbers.
    """
    sizes = np.abs(np.array([number for number in numbers if np.isfinite(number)], dtype=np.float64))
    largest = float(sizes.max(initial=0)) or 1.0
    if logarithmic:
        largest = round_limit(largest)
        powers = list(reversed(range(DECADES)))
        bar = {**colour_bar(unit, 0.0, 1.0)}
        bar["tickvals"] = [0, *(1 - power / DECADES for power in powers)]
        bar["ticktext"] = ["0", *(digits(largest * 10.0**-power, 3) for power in powers)]
        return NumberScale(
            {"colorscale": sequential(theme), "cmin": 0, "cmax": 1, "colorbar": bar}, largest, logarithmic
        )
    top = round_limit(_fence(sizes))
    clipped = top < largest
    low = -top if signed else 0.0
    bar = {**colour_bar(unit, low, top)}
    if clipped:
        ticks = [tick for tick in round_ticks(low, top) if abs(tick) < 0.9 * top]
        ends = [-top, *ticks, top] if signed else [*ticks, top]
        end_words = tick_words(ends)
        end_words[-1] = f"≥ {end_words[-1]}"
        if signed:
            end_words[0] = f"≤ {end_words[0]}"
        bar |= {"tickvals": ends, "ticktext": end_words}
    colours = diverging(theme) if signed else sequential(theme)
    return NumberScale({"colorscale": colours, "cmin": low, "cmax": top, "colorbar": bar}, largest, logarithmic)


def _fence(sizes: Float[np.ndarray, " numbers"]) -> float:
    """Return the upper end of a linear scale: the maximum, or the outlier fence if that is far below."""
    largest = float(sizes.max(initial=0))
    some = sizes[sizes > 0]
    if len(some) < 4:
        return largest
    first, third = np.quantile(some, (0.25, 0.75))
    fence = float(third + 1.5 * (third - first))
    return fence if largest > 1.5 * fence else largest
