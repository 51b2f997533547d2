"""Ticks of colour bars are round, lie on the scale and are at their numbers."""

import math
from typing import Any

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_core.figures.base.style import (
    LIMITS,
    bar_ticks,
    colour_bar,
    round_limit,
    round_ticks,
    spacing,
    thin_ticks,
    tick_number,
    tick_words,
)

SIZES = st.floats(1e-6, 1e9)


@given(SIZES)
def test_a_round_limit_is_the_least_that_is_not_smaller(limit: float) -> None:
    rounded = round_limit(limit)
    assert limit <= rounded * (1 + 1e-9)
    assert rounded <= 1.51 * limit
    power = 10 ** math.floor(math.log10(rounded) + 1e-9)
    assert any(math.isclose(rounded / power, each) for each in LIMITS)


@pytest.mark.parametrize("limit", [0.0, -1.0, math.inf, math.nan])
def test_a_limit_that_is_none_is_one(limit: float) -> None:
    assert round_limit(limit) == 1.0


@given(st.floats(-1e6, 1e6), SIZES, st.integers(3, 8))
def test_ticks_are_multiples_of_one_round_number_inside_the_range(low: float, size: float, most: int) -> None:
    high = low + size
    if high - low < 1e-6 * max(abs(low), abs(high)):
        return
    ticks = round_ticks(low, high, most)
    assert 1 <= len(ticks) <= most
    slack = 1e-6 * (high - low)
    assert all(low - slack <= tick <= high + slack for tick in ticks)
    steps = [after - before for before, after in zip(ticks, ticks[1:], strict=False)]
    assert all(math.isclose(step, steps[0], rel_tol=1e-6, abs_tol=slack) for step in steps)
    if steps:
        digits = steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-6)
        assert min(abs(digits - each) for each in (1, 2, 2.5, 5, 10)) < 1e-3


def test_ticks_as_a_textbook_has_them() -> None:
    assert round_ticks(0, 0.946) == [0, 0.2, 0.4, 0.6, 0.8]
    assert round_ticks(-1, 1) == [-1, -0.5, 0, 0.5, 1]
    assert round_ticks(0, 0.00036) == [0, 0.0001, 0.0002, 0.0003]
    assert round_ticks(3, 3) == [3]
    assert tick_words([-0.5, 0, 0.5]) == ["−0.5", "0.0", "0.5"]
    assert tick_words([0, 1000, 2000]) == ["0", "1,000", "2,000"]


@given(st.floats(-1e5, 1e5), st.floats(1e-5, 1e6), st.integers(3, 8))
def test_both_ends_are_labelled_and_ticks_leave_them_room(low: float, size: float, most: int) -> None:
    high = low + size
    if high - low < 1e-3 * max(abs(low), abs(high)):
        return
    ticks, words = bar_ticks(low, high, most)
    near = 1e-6 * (high - low)
    assert abs(ticks[0] - low) <= near
    assert abs(ticks[-1] - high) <= near
    for tick, word in zip(ticks, words, strict=True):
        assert tick_number(word) == pytest.approx(tick, rel=1e-3, abs=1e-4 * (high - low))
    assert len(ticks) <= most + 1
    apart = min(after - before for before, after in zip(ticks, ticks[1:], strict=False))
    assert apart >= 0.7 * (high - low) / most


def test_ends_that_are_not_round_have_their_numbers() -> None:
    assert bar_ticks(-1.2, 1.2) == ([-1.2, -0.5, 0, 0.5, 1.2], ["−1.2", "−0.5", "0.0", "0.5", "1.2"])
    assert bar_ticks(0, 0.94637)[1] == ["0.0", "0.2", "0.4", "0.6", "0.9464"]
    assert bar_ticks(0, 37)[1][-1] == "37"
    assert bar_ticks(-1, 1)[1] == tick_words(round_ticks(-1, 1))


@given(st.floats(-100, 100), st.floats(0.01, 100))
def test_a_tick_stands_where_its_number_is_drawn(low: float, size: float) -> None:
    bar = colour_bar("weight", low, low + size, (-127, 127))
    exact = colour_bar("weight", low, low + size)
    for drawn, real in zip(bar["tickvals"], exact["tickvals"], strict=True):
        assert (drawn + 127) / 254 == pytest.approx((real - low) / size, abs=1e-6)
    assert bar["ticktext"] == exact["ticktext"]
    assert bar["title"]["text"] == "weight"


@pytest.mark.parametrize(
    ("how", "along"),
    [
        ("", lambda number: number),
        ("logarithmic", math.log10),
        ("log(1 + x)", math.log1p),
        ("by the square root", math.sqrt),
    ],
)
@pytest.mark.parametrize("slope", [1.0, -3.0, 255.0])
def test_the_spacing_of_a_bar_is_read_off_its_ticks(how: str, along: Any, slope: float) -> None:
    numbers = [1, 10, 30, 1_000]
    places = [7 + slope * along(number) for number in numbers]
    found = spacing([f"{number:,}" for number in numbers], places)
    assert found is not None
    assert found[0] == how
    assert found[1](7 + slope * along(400)) == pytest.approx(400, rel=1e-3)


def test_a_logarithmic_bar_may_begin_with_zero_and_words_have_no_spacing() -> None:
    found = spacing(["0", "0.01", "0.1", "1"], [0, 1 / 3, 2 / 3, 1])
    assert found is not None
    assert (found[0], found[1](0)) == ("logarithmic", 0)
    assert found[1](1) == pytest.approx(1)
    assert spacing(["low", "high"], [0, 1]) is None
    assert spacing(["1", "5", "6"], [0, 1, 7]) is None


@given(count=st.integers(2, 12), takes=st.floats(5, 90), pixels=st.floats(-50, 400))
def test_the_ticks_that_stay_have_room_are_even_and_keep_both_ends(count: int, takes: float, pixels: float) -> None:
    bar = go.heatmap.ColorBar(tickvals=list(range(count)), ticktext=[str(place) for place in range(count)])
    thin_ticks(bar, lambda _: takes, pixels)
    kept = list(bar.tickvals)
    assert [int(word) for word in bar.ticktext] == kept
    assert (kept[0], kept[-1]) == (0, count - 1)
    assert len({later - earlier for earlier, later in zip(kept, kept[1:], strict=False)}) == 1
    assert len(kept) == 2 or takes <= pixels / (len(kept) - 1) * (1 + 1e-9)
