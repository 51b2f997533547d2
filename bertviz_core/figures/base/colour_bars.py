"""Colour bars with round ticks and labelled ends."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bertviz_core.text import digits

LIMITS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Round numbers of one power of ten with round halves."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Round steps of one power of ten."""
END_ROOM = 0.72
"""Distance of a round tick from an end that is labelled, in distances of the most ticks that a bar has."""
THICKNESS = 14
"""Thickness of a colour bar in pixels."""


def round_limit(limit: float) -> float:
    """Return the smallest round number that is at least the limit, as the end of a scale; 1 for 0 and NaN."""
    if not math.isfinite(limit) or limit <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(limit))
    return next((_exact(each * power) for each in LIMITS if each * power >= limit * (1 - 1e-9)), _exact(10 * power))


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return multiples of one round number from low to high, as many as allowed."""
    if not low < high:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (each * power * more for more in (1, 10, 100) for each in STEPS):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [_exact(place * step) for place in range(first, last + 1)]
    return [low, high]


def tick_words(ticks: Sequence[float]) -> list[str]:
    """Format ticks with the decimals that the finest needs."""
    if not ticks:
        return []
    if (
        max(abs(tick) for tick in ticks) >= 10_000
        or 0 < min(abs(tick) for tick in ticks if tick or len(ticks) == 1) < 1e-4
    ):
        return [digits(tick, 3) for tick in ticks]
    places = max(len(f"{tick:.6f}".rstrip("0").partition(".")[2]) for tick in ticks)
    return [f"{tick:,.{places}f}".replace("-", "−") for tick in ticks]


def bar_ticks(low: float, high: float, most: int = 5) -> tuple[list[float], list[str]]:
    """Return ticks of a scale and their labels: both ends, and round numbers between that leave the ends room.

    An end that is no round number is labelled to a ten-thousandth of the scale or finer.
    """
    ticks = round_ticks(low, high, most)
    near = 1e-6 * (high - low)
    if not low < high or (ticks[0] - low <= near and high - ticks[-1] <= near):
        return ticks, tick_words(ticks)
    room = END_ROOM * (high - low) / max(most - 1, 1)
    inner = [tick for tick in ticks if low + room <= tick <= high - room]
    if len(inner) >= most:
        inner = [tick for tick in round_ticks(low, high, most - 1) if low + room <= tick <= high - room]
    words = tick_words(inner)
    places = max((len(word.partition(".")[2]) for word in words if "e" not in word), default=0)
    return [low, *inner, high], [_end_words(low, high - low, places), *words, _end_words(high, high - low, places)]


def _end_words(end: float, length: float, places: int) -> str:
    """Format an end of a scale of some length, with at least as many decimals as the ticks between the ends."""
    if abs(end) >= 10_000 or length < 1e-4:
        return digits(end, 4)
    finest = max(3 - math.floor(math.log10(length)), places)
    whole, _, decimals = f"{end:,.{finest}f}".partition(".")
    decimals = decimals.rstrip("0").ljust(places, "0")
    return f"{whole}.{decimals}".removesuffix(".").replace("-", "−")


def colour_bar(
    unit: str, low: float, high: float, drawn: tuple[float, float] | None = None, most: int = 5
) -> dict[str, Any]:
    """Return settings of a colour bar with a tick at each end and round ticks between.

    `drawn` are the cell values of the two ends, for cells drawn as steps.
    """
    ticks, words = bar_ticks(low, high, most)
    start, stop = drawn or (low, high)
    share = (stop - start) / (high - low) if high > low else 0.0
    return {
        "title": {"text": unit, "side": "right"},
        "thickness": THICKNESS,
        "ticklabeloverflow": "allow",
        "tickvals": [start + (tick - low) * share for tick in ticks],
        "ticktext": words,
    }


def thin_ticks(bar: Any, each_takes: float, pixels: float) -> None:
    """Keep as many ticks of a bar as have room along it, evenly, with both ends."""
    words, places = list(bar.ticktext or ()), list(bar.tickvals or ())
    last = len(words) - 1
    if last > 1:
        least = min(max(1, math.ceil(each_takes * last / max(pixels, 1.0))), last)
        every = next(each for each in range(least, last + 1) if last % each == 0)
        bar.tickvals, bar.ticktext = places[::every], words[::every]


SPACINGS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "": (np.asarray, float),
    "logarithmic": (np.log10, lambda place: 10.0**place),
    "log(1 + x)": (np.log1p, np.expm1),
    "by the square root": (np.sqrt, np.square),
}
"""Spacing of the numbers of a bar -> its function and inverse."""


def tick_number(word: str) -> float | None:
    """Parse the number of a tick; None for other text."""
    try:
        return float(word.replace("−", "-").replace(",", ""))
    except ValueError:
        return None


def spacing(words: Sequence[str], places: Sequence[float]) -> tuple[str, Callable[[float], float]] | None:
    """Determine the spacing of a bar's ticks, one of SPACINGS, and the function from positions on the bar to numbers.

    A logarithmic bar may have a tick for 0 below all others. None for ticks that are not numbers or have another
    spacing.
    """
    numbers = [tick_number(word) for word in words]
    values = [number for number in numbers if number is not None]
    if len(values) != len(places) or len(values) < 2 or places[0] == places[-1]:
        return None
    if found := _spacing(values, places):
        return found
    behind_zero = _spacing(values[1:], places[1:]) if values[0] == 0 and len(values) > 3 else None
    if behind_zero is None or behind_zero[0] != "logarithmic":
        return None
    return behind_zero[0], lambda place: 0.0 if place <= places[0] else behind_zero[1](place)


def _spacing(values: Sequence[float], places: Sequence[float]) -> tuple[str, Callable[[float], float]] | None:
    for name, (forward, inverse) in SPACINGS.items():
        if name and (len(values) < 3 or min(values) < 0 or (name == "logarithmic" and min(values) == 0)):
            continue
        along = forward(np.array(values, dtype=np.float64))
        rise = (along[-1] - along[0]) / (places[-1] - places[0])
        even = along[0] + (np.array(places, dtype=np.float64) - places[0]) * rise
        if np.allclose(along, even, rtol=1e-4, atol=1e-4 * abs(along[-1] - along[0])):
            return name, partial(_number_at, origin=places[0], start=along[0], slope=rise, inverse=inverse)
    return None


def _number_at(place: float, origin: float, start: float, slope: float, inverse: Callable[[Any], Any]) -> float:
    return float(inverse(start + (place - origin) * slope))


def scale_words(unit: str, low: str, high: str, how: str = "") -> str:
    """Describe a scale, the same in a figure, its caption and its table: "weight, 0 to 0.946, logarithmic"."""
    return f"{unit}, {low} to {high}{f', {how}' if how else ''}"


def _exact(number: float) -> float:
    """Round the number to twelve digits."""
    return float(f"{number:.12g}")
