"""Clenshaw-Curtis quadrature on [0, 1], whose nodes stay nodes when the intervals are doubled.

The nodes (1 - cos(pi k / n)) / 2, k = 0 ... n, contain those of n / 2, so a doubling evaluates the function between
them only: half the runs of Gauss-Legendre quadrature, whose nodes are new each time, at nearly the same accuracy for
smooth functions (Trefethen 2008, "Is Gauss quadrature better than Clenshaw-Curtis?").
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Progress


def clenshaw_curtis(intervals: int) -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Return the nodes in ascending order and their weights, which sum to 1; intervals + 1 of each.

    Exact for polynomials up to degree `intervals` (Trefethen 2000, Spectral Methods in MATLAB, chapter 12).

    Args:
        intervals: a positive even number.
    """
    angles = np.pi * np.arange(intervals + 1) / intervals
    orders = np.arange(1, intervals // 2 + 1)
    terms = np.where(orders < intervals // 2, 2.0, 1.0) / (4.0 * orders**2 - 1)
    weights = (1 - np.cos(2 * np.outer(angles, orders)) @ terms) / intervals
    weights[[0, -1]] /= 2
    return (1 - np.cos(angles)) / 2, weights


def refined(
    known: Float[np.ndarray, "half ..."] | None,
    intervals: int,
    evaluate: Callable[[Float[np.ndarray, " points"], Progress | None], Float[np.ndarray, "points ..."]],
    progress: Progress | None = None,
) -> Float[np.ndarray, "nodes ..."]:
    """Return the values of a function at all nodes.

    Args:
        known: its values at the nodes of half as many intervals, which are not evaluated again; None for none.
        intervals: a positive even number.
        evaluate: called as evaluate(points, progress), returns the values at these points.
        progress: called as progress(nodes done, nodes), those known included; may raise to cancel.
    """
    points, _ = clenshaw_curtis(intervals)
    done = 0 if known is None else len(known)

    def further(count: int, _: int) -> None:
        if progress is not None:
            progress(done + count, len(points))

    if known is None:
        return evaluate(points, further)
    between = evaluate(points[1::2], further)
    values = np.empty((len(points), *between.shape[1:]), between.dtype)
    values[::2], values[1::2] = known, between
    return values
