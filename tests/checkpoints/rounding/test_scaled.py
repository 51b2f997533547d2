"""Rounding with scales equals a loop over the groups, and the libraries that define the formats."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from bertviz_core.checkpoints.rounding import NF4_LEVELS, SCALED, Rounding, groups_of, rounded_pieces

SHAPES = ((7, 300), (5, 64), (3, 1), (1, 1), (4, 3, 50), (300, 7))
LARGEST = {8: 127, 4: 7}


def rounded_all(values: np.ndarray, rounding: Rounding, piece: int = 97) -> np.ndarray:
    """All pieces of a rounded tensor, in its shape."""
    flat = values.reshape(-1)
    found = np.zeros_like(flat, dtype=np.float64)
    for at, numbers in rounded_pieces(flat, values.shape, rounding, piece):
        found[at : at + len(numbers)] = numbers
    return found.reshape(values.shape)


def nf4_by_formula() -> list[float]:
    """The 16 levels as QLoRA's authors make them: 8 quantiles above zero and 7 below, over the largest."""
    offset = 0.9677083
    above = norm.ppf(np.linspace(offset, 0.5, 9)[:-1])
    below = -norm.ppf(np.linspace(offset, 0.5, 8)[:-1])
    levels = np.sort(np.concatenate([above, [0.0], below]))
    return list(levels / levels.max())


def by_loop(values: np.ndarray, rounding: Rounding) -> np.ndarray:
    """Round group by group and number by number."""
    matrix = values.reshape(len(values), -1).astype(np.float64)
    if rounding in ("int8", "nf4"):
        matrix = matrix.reshape(1, -1)
    size = int(rounding.rpartition(" ")[2]) if "groups" in rounding else 64 if rounding == "nf4" else matrix.shape[1]
    result = np.zeros_like(matrix)
    for row in range(matrix.shape[0]):
        for begin in range(0, matrix.shape[1], size):
            group = matrix[row, begin : begin + size]
            largest = max(abs(number) for number in group)
            for place, number in enumerate(group):
                if largest == 0:
                    continue
                if rounding == "nf4":
                    near = min(NF4_LEVELS, key=lambda level: abs(level - number / np.float64(np.float32(largest))))
                    value = near * np.float64(np.float32(largest))
                else:
                    scale = np.float64(np.float32(largest / LARGEST[8 if "int8" in rounding else 4]))
                    value = round(number / scale) * scale
                result[row, begin + place] = np.float32(value)
    return result.reshape(values.shape)


def test_the_levels_of_nf4_are_those_of_its_formula() -> None:
    np.testing.assert_allclose(NF4_LEVELS, nf4_by_formula(), atol=2e-7)
    assert len(set(NF4_LEVELS)) == 16


@pytest.mark.sample(4)
@pytest.mark.parametrize("rounding", SCALED)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_matrix_is_rounded_as_a_loop_rounds_it(shape: tuple[int, ...], rounding: Rounding) -> None:
    values = np.random.default_rng(math.prod(shape)).normal(size=shape).astype(np.float32)
    values.reshape(len(values), -1)[0, : shape[1] // 2] = 0
    expected = by_loop(values, rounding)
    for piece in (1, 97, 10_000):
        np.testing.assert_array_equal(rounded_all(values, rounding, piece), expected)


def test_whole_numbers_are_those_of_torch() -> None:
    """PyTorch's rounding for training that is aware of it, with the same scales and zero point 0."""
    values = torch.randn(6, 40, generator=torch.Generator().manual_seed(0))
    whole = torch.fake_quantize_per_tensor_affine(values, float(values.abs().max() / 127), 0, -127, 127)
    np.testing.assert_allclose(rounded_all(values.numpy(), "int8"), whole.numpy(), atol=1e-6)
    scales, zeros = values.abs().amax(dim=1) / 127, torch.zeros(6, dtype=torch.int32)
    rows = torch.fake_quantize_per_channel_affine(values, scales, zeros, 0, -127, 127)
    np.testing.assert_allclose(rounded_all(values.numpy(), "int8 per channel"), rows.numpy(), atol=1e-6)


@pytest.mark.parametrize("rounding", SCALED)
def test_the_error_is_at_most_half_a_step(rounding: Rounding) -> None:
    values = np.random.default_rng(3).standard_t(2, size=(9, 130)).astype(np.float32)
    largest = SCALED[rounding].largest
    step = 1 / largest if largest else max(np.diff(NF4_LEVELS))
    error = np.abs(rounded_all(values, rounding) - values)
    assert error.max() <= np.abs(values).max() * step / 2 * (1 + 1e-6)
    again = rounded_all(rounded_all(values, rounding).astype(np.float32), rounding)
    np.testing.assert_allclose(again, rounded_all(values, rounding), rtol=1e-6)


@pytest.mark.parametrize("rounding", SCALED)
def test_nan_and_infinity_stay_and_do_not_change_the_others(rounding: Rounding) -> None:
    values = np.random.default_rng(4).normal(size=(4, 90)).astype(np.float32)
    broken = values.copy()
    places = ([1, 1, 3], [5, 6, 89])
    values[places] = 0
    broken[places] = [np.nan, -np.inf, np.inf]
    expected = rounded_all(values, rounding)
    expected[places] = broken[places]
    np.testing.assert_array_equal(rounded_all(broken, rounding), expected)


@pytest.mark.parametrize("rounding", SCALED)
def test_zeros_and_tensors_without_numbers(rounding: Rounding) -> None:
    assert not rounded_all(np.zeros((3, 70), dtype=np.float32), rounding).any()
    for shape in ((0, 5), (5, 0)):
        assert rounded_all(np.zeros(shape, dtype=np.float32), rounding).shape == shape
    least = np.full((1, 3), 1e-45, dtype=np.float32)  # the scale of int8 and int4 is below all float32
    assert np.isfinite(rounded_all(least, rounding)).all()
    most = np.full((2, 3), np.finfo(np.float64).max)
    assert np.isfinite(rounded_all(most, rounding)).all()


def test_groups_end_with_the_row() -> None:
    groups = groups_of([np.arange(1.0, 141.0)], (2, 70), "int4 groups of 64")
    np.testing.assert_allclose(groups.scales * 7, [64, 70, 134, 140], rtol=1e-6)
    np.testing.assert_allclose(groups_of([np.arange(1.0, 141.0)], (2, 70), "nf4").scales, [64, 128, 140])
