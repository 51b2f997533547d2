"""Colour bars whose ticks are round numbers, whatever the cells are coded as."""

import math
from collections.abc import Sequence
from typing import Any

LIMITS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Round numbers of one power of ten, whose halves are round too."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Round steps of one power of ten."""
THICKNESS = 14
"""Pixels."""


def round_limit(limit: float) -> float:
    """The least round number that is not smaller: where a scale may end, so that its end is a round tick.

    Args:
        limit: largest magnitude; 1 stands for it where it is 0 or no number.
    """
    if not math.isfinite(limit) or limit <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(limit))
    return next((_exact(each * power) for each in LIMITS if each * power >= limit * (1 - 1e-9)), _exact(10 * power))


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Multiples of one round number from low to high, as many as there is room for.

    Args:
        low: lower end of the scale.
        high: upper end.
        most: ticks that may stand on it.
    """
    if not low < high:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (each * power * more for more in (1, 10, 100) for each in STEPS):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [_exact(place * step) for place in range(first, last + 1)]
    return [low, high]


def tick_words(ticks: Sequence[float]) -> list[str]:
    """The ticks as they are written: all with the digits that the finest of them needs, a real minus in front."""
    if not ticks:
        return []
    if (
        max(abs(tick) for tick in ticks) >= 10_000
        or 0 < min(abs(tick) for tick in ticks if tick or len(ticks) == 1) < 1e-4
    ):
        return [f"{tick:.3g}".replace("-", "−") for tick in ticks]
    digits = max(len(f"{tick:.6f}".rstrip("0").partition(".")[2]) for tick in ticks)
    return [f"{tick:,.{digits}f}".replace("-", "−") for tick in ticks]


def colour_bar(
    unit: str, low: float, high: float, drawn: tuple[float, float] | None = None, most: int = 5
) -> dict[str, Any]:
    """Settings of a colour bar with round ticks.

    Args:
        unit: what the colours mean, for its title.
        low: lower end of the scale.
        high: upper end.
        drawn: what stands for the two ends where cells are drawn as steps; None where they are drawn as they are.
        most: ticks that may stand on it.
    """
    ticks = round_ticks(low, high, most)
    start, stop = drawn or (low, high)
    share = (stop - start) / (high - low) if high > low else 0.0
    return {
        "title": {"text": unit, "side": "right"},
        "thickness": THICKNESS,
        "ticklabeloverflow": "allow",
        "tickvals": [start + (tick - low) * share for tick in ticks],
        "ticktext": tick_words(ticks),
    }


def _exact(number: float) -> float:
    """The number without what multiplication adds behind its twelfth digit."""
    return float(f"{number:.12g}")
