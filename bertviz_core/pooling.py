"""Large maps as small pictures: the largest value of each block of cells, so that no strong cell is lost."""

import numpy as np
from jaxtyping import Float, Int


def pool_starts(length: int, side: int) -> Int[np.ndarray, " blocks"]:
    """First index of every block when length entries are cut into at most side blocks, the longer blocks first.

    The cut of np.array_split: sizes differ by at most 1.

    Raises:
        ValueError: no block to cut into.
    """
    if side < 1:
        raise ValueError(f"a picture of {side} cells a side")
    count = min(length, side)
    small, longer = divmod(length, max(count, 1))
    blocks = np.arange(count)
    return blocks * small + np.minimum(blocks, longer)


def max_pool(cells: Float[np.ndarray, "rows columns"], side: int, axis: int) -> Float[np.ndarray, "fewer cells"]:
    """The largest value of every block of rows (axis 0) or columns (axis 1); the cells themselves where they are few.

    NaN stays NaN.
    """
    length = cells.shape[axis]
    starts = pool_starts(length, side)
    if len(starts) == length:
        return cells
    last = np.append(starts[1:], length) - 1
    pooled: np.ndarray = cells.take(starts, axis=axis)
    for step in range(1, int((last - starts).max()) + 1):
        np.maximum(pooled, cells.take(np.minimum(starts + step, last), axis=axis), out=pooled)
    return pooled
