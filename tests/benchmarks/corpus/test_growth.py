"""The line of a growth is that of exact measurements, and it tells how far it misses others."""

import math

import pytest

from benchmarks.corpus.growth import LAWS, Growth, Law

SIZES = (1_000, 30_000, 1_000_000)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("constant", "factor"), [(3.0, 2e-6), (0.0, 5.0), (7.0, 0.0)])
def test_a_line_is_found_again(law: Law, constant: float, factor: float) -> None:
    if "log" in law:
        constant = 0.0
    values = tuple(constant + factor * LAWS[law](size) for size in SIZES)
    growth = Growth(law, "rows", SIZES, values)
    assert growth.at(10**9) == pytest.approx(constant + factor * LAWS[law](10**9), rel=1e-6)
    assert growth.error() == pytest.approx(0, abs=1e-6)


def test_no_line_falls() -> None:
    """A constant with noise that falls is extrapolated as a constant, never below 0."""
    growth = Growth("n", "rows", SIZES, (1.2, 1.1, 1.0))
    assert 1.0 <= growth.at(10**9) <= 1.2
    assert 0 < growth.error() <= 0.2


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_is_that_of_the_power(power: float) -> None:
    growth = Growth("n", "rows", SIZES, tuple(3 * size**power for size in SIZES))
    assert growth.exponent() == pytest.approx(power)


def test_a_work_that_grows_faster_than_its_law_is_seen() -> None:
    growth = Growth("n", "rows", SIZES, tuple(size**1.5 for size in SIZES))
    assert growth.exponent() == pytest.approx(1.5)
    assert growth.error() > 0.5
    assert math.isfinite(growth.at(10**9))


def test_nothing_measured_is_nothing() -> None:
    growth = Growth("n", "rows", SIZES, (0.0, 0.0, 0.0))
    assert (growth.at(10**9), growth.error(), growth.exponent()) == (0, 0, 0)
