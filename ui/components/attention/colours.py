"""Measures of heads and colours of the attention view."""

from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.tables import MEASURE_NAMES
from bertviz_core.figures.base.style import HUES, LIGHT, Theme, diverging, sequential

MEASURES = {
    "entropy": ("entropy", 1.0, 2, " nats"),
    "distance": ("mean distance", 1.0, 1, " tokens"),
    "special_share": ("on special tokens", 100.0, 1, "%"),
    "diagonal_share": ("diagonal", 100.0, 1, "%"),
}
"""Field of HeadMeasures -> name before a number, factor, decimals, unit."""


def colours(theme: Theme) -> dict[str, Any]:
    """All colours of the view in this theme."""
    own = {colour: theme.colours[part] for part, colour in LIGHT.colours.items()}
    warm = [[2 * float(place) - 1, colour] for place, colour in diverging(theme) if float(place) >= 0.5]
    return {
        "name": theme.name,
        "paper": theme.paper,
        "text": theme.text,
        "muted": theme.muted,
        "grid": theme.grid,
        "neutral": theme.neutral,
        "scale": sequential(theme),
        "tint": warm,
        "hues": [own.get(hue, hue) for hue in HUES],
    }


def measure(name: str, values: Float[np.ndarray, "layers heads"]) -> dict[str, Any]:
    """One number per head, layer by layer, and its format; None for a number that is not finite."""
    short, factor, digits, unit = MEASURES[name]
    shown = (values * factor).astype(np.float64).ravel()
    listed = [round(float(value), digits + 2) if np.isfinite(value) else None for value in shown]
    return {"name": MEASURE_NAMES[name], "short": short, "digits": digits, "unit": unit, "values": listed}
