"""Quadrature: exact for polynomials, SciPy's value for smooth functions, and no point is evaluated twice."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from bertviz_core.attribution.gradients import clenshaw_curtis, refined
from bertviz_core.errors import SupersededError


@pytest.mark.parametrize("intervals", [2, 4, 8, 64, 512])
def test_polynomials_up_to_the_number_of_intervals_are_exact(intervals: int) -> None:
    points, weights = clenshaw_curtis(intervals)
    assert len(points) == len(weights) == intervals + 1
    assert (np.diff(points) > 0).all()
    assert (points[0], points[-1]) == (0, 1)
    assert (weights > 0).all()
    for degree in range(min(intervals, 64) + 1):
        assert weights @ points**degree == pytest.approx(1 / (degree + 1), abs=1e-13)
    missed = weights @ np.polynomial.chebyshev.chebval(2 * points - 1, [0] * (2 * intervals) + [1])
    assert abs(missed - 1 / (1 - 4 * intervals**2)) > 1e-3 / intervals  # a polynomial of twice the degree is not


def test_nodes_stay_and_only_those_between_are_evaluated() -> None:
    recorded: list[float] = []
    calls: list[tuple[int, int]] = []

    def evaluate(points: np.ndarray, progress: Any) -> np.ndarray:
        recorded.extend(points)
        progress(len(points), len(points))
        return np.stack([np.exp(-((4 * points - 1) ** 2)), np.sin(9 * points)], axis=1)

    values = None
    for intervals in (4, 8, 16, 32):
        values = refined(values, intervals, evaluate, lambda *at: calls.append(at))
    points, weights = clenshaw_curtis(32)
    np.testing.assert_allclose(sorted(recorded), points, atol=1e-15)
    assert calls == [(5, 5), (9, 9), (17, 17), (33, 33)]
    expected = [quad(lambda at: np.exp(-((4 * at - 1) ** 2)), 0, 1)[0], quad(lambda at: np.sin(9 * at), 0, 1)[0]]
    np.testing.assert_allclose(weights @ values, expected, atol=1e-12)


def test_progress_may_cancel() -> None:
    def superseded(done: int, total: int) -> None:
        raise SupersededError

    def evaluate(points: np.ndarray, progress: Any) -> np.ndarray:
        progress(1, len(points))
        return points

    with pytest.raises(SupersededError):
        refined(None, 4, evaluate, superseded)
