"""Works are measured to their end, numbers are compared in proportion, and a device that is not there is refused."""

import numpy as np
import pytest

from benchmarks.device import agreement, card, difference, finished, measured_device
from bertviz_core.errors import BertvizError


def test_a_difference_is_relative_to_the_largest_value_expected() -> None:
    expected = np.array([[1.0, -4.0], [0.5, 0.0]], dtype=np.float32)
    assert difference(expected, expected) == 0
    assert difference(expected + np.array([[0, 0], [0, 0.5]], dtype=np.float32), expected) == pytest.approx(0.5 / 4)
    assert difference(expected * 1000 + 40, expected * 1000) == pytest.approx(0.01)


def test_float16_is_subtracted_without_overflow() -> None:
    found = np.array([60000, -60000], dtype=np.float16)
    assert difference(found, -found) == 2


@pytest.mark.parametrize("expected", [np.zeros((2, 3)), np.ones((3, 2)), np.empty((0, 3))])
def test_arrays_that_say_nothing_are_refused(expected: np.ndarray) -> None:
    with pytest.raises(ValueError, match="beside"):
        difference(np.zeros((2, 3)), expected)


def test_numbers_agree_up_to_a_thousandth_of_the_largest() -> None:
    expected = np.array([2.0, 1.0])
    assert agreement("numbers", [(expected, expected), (expected + 0.0019, expected)]).met
    assert not agreement("numbers", [(expected + 0.0021, expected), (expected, expected)]).met
    assert not agreement("numbers", [(expected, expected), (np.array([2.0, np.nan]), expected)]).met


def test_a_finished_work_returns_its_result() -> None:
    assert finished(lambda: 7, "cpu")() == 7


def test_a_cpu_has_no_card() -> None:
    assert card("cpu") == "no GPU"


@pytest.mark.parametrize("requested", ["cuda:99", "mps", "gpu", ""])
def test_a_device_that_is_not_there_is_refused(requested: str) -> None:
    with pytest.raises(BertvizError, match="cpu"):
        measured_device(requested)
