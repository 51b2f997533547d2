"""Quantise large signed maps to steps of a symmetric range, with a quarter of the bytes of float32."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int8

from bertviz_core.figures.base.colour_bars import THICKNESS, round_limit, tick_words
from bertviz_core.figures.base.style import Theme, diverging

Matrix = Float[np.ndarray, "rows columns"]
MOST_CELLS = 650_000
"""Maximum number of cells; larger maps show the value of largest magnitude of each square of cells."""
SHARE_IN_RANGE = 99.8
"""Percentage of the cells within the scale, which limits the effect of outliers."""
STEPS = 127


def pool_step(cells: int, most: int = MOST_CELLS) -> int:
    """Return the side of the pooling squares for a map of this size; 1 for no pooling."""
    step = 1
    while cells / step**2 > most:
        step += 1
    return step


def pooled(matrix: Matrix, step: int) -> Float[np.ndarray, "squares_down squares_across"]:
    """Return the value of largest magnitude in each square, with its sign."""
    if step == 1:
        return matrix
    rows, columns = (-(-size // step) * step for size in matrix.shape)
    padded = np.zeros((rows, columns), dtype=np.float32)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    squares = padded.reshape(rows // step, step, columns // step, step)
    high, low = squares.max(axis=(1, 3)), squares.min(axis=(1, 3))
    extremes: np.ndarray = np.where(high >= -low, high, low)
    return extremes


def scale_limit(matrix: Matrix) -> float:
    """Return the round magnitude at which the colour scale ends."""
    sizes = np.abs(matrix[np.isfinite(matrix)])
    if not sizes.size:
        return 1.0
    return round_limit(float(np.percentile(sizes, SHARE_IN_RANGE)) or float(sizes.max()))


def steps(cells: Matrix, limit: float) -> Int8[np.ndarray, "rows columns"]:
    """Quantise cells to integer steps from -limit to limit; NaN as 0."""
    stepped: np.ndarray = (np.clip(np.nan_to_num(cells / limit), -1, 1) * STEPS).round().astype(np.int8)
    return stepped


def signed_axis(limit: float, title: str, theme: Theme) -> dict[str, Any]:
    """Return a colour axis for such steps, with ticks in real units."""
    shares = (-1, -0.5, 0, 0.5, 1)
    words = tick_words([share * limit for share in shares])
    words[0], words[-1] = f"≤ {words[0]}", f"≥ {words[-1]}"
    bar = {
        "title": {"text": title, "side": "right"},
        "thickness": THICKNESS,
        "ticklabeloverflow": "allow",
        "tickvals": [share * STEPS for share in shares],
        "ticktext": words,
    }
    return {"colorscale": diverging(theme), "cmin": -STEPS, "cmax": STEPS, "colorbar": bar}
