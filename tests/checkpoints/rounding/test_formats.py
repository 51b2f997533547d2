"""Rounded copies of a checkpoint equal PyTorch's own conversion, number by number."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from bertviz_core.checkpoints.comparison import compare_checkpoints
from bertviz_core.checkpoints.rounding import COPIES, FORMATS, SCALED, Rounding, rounded, rounded_nbytes
from bertviz_core.checkpoints.values import number_pieces, open_checkpoint, rounded_copy, tensor_slices
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import save_tiny

MADE = torch.Generator().manual_seed(0)
RANDOM = torch.randn(20_000, generator=MADE) * torch.logspace(-12, 6, 20_000)
EDGES = torch.tensor([0.0, -0.0, 447.9, 448, 456, 463.9, 464, 465, 65504, 65519, 65520, 1e39, 2**-9, 2**-10, 2**-10.9])
TIES = torch.arange(1, 64, dtype=torch.float32) / 2**12
NUMBERS = torch.cat([RANDOM, EDGES, -EDGES, TIES, torch.tensor([torch.inf, -torch.inf, torch.nan])])


@pytest.mark.parametrize("rounding", FORMATS)
def test_a_number_is_rounded_as_pytorch_rounds_it(rounding: Rounding) -> None:
    expected = NUMBERS.to(getattr(torch, rounding)).double().numpy()
    rounds = rounded(NUMBERS.double().numpy(), rounding)
    if np.isnan(expected[-2]):  # before PyTorch saturated, infinity and what is too large for this format became NaN
        assert (np.abs(rounds[np.isnan(expected)][:-1]) == FORMATS[rounding].beyond).all()
        expected = np.where(np.isnan(expected), rounds, expected)
    np.testing.assert_array_equal(rounds, expected)


@pytest.mark.parametrize("rounding", FORMATS)
def test_a_copy_holds_the_rounded_numbers_and_the_same_whole_ones(
    rounding: Rounding, settings: Settings, tmp_path: Path
) -> None:
    folder = save_tiny("bert", tmp_path / "base")
    checkpoint = open_checkpoint(folder_source("base", folder), settings)
    copy = rounded_copy(checkpoint, rounding)
    assert copy.name == f"base in {rounding}"
    assert copy.revision != checkpoint.revision
    slices = tensor_slices(copy)
    for name, tensor in load_file(folder / "model.safetensors").items():
        target = getattr(torch, rounding) if tensor.is_floating_point() else tensor.dtype
        found = np.concatenate(list(number_pieces(slices[name])))
        np.testing.assert_array_equal(found, tensor.to(target).double().numpy().reshape(-1))
    for change in compare_checkpoints(checkpoint, copy).tensors:
        assert change.second_dtype == (rounding if "float" in change.dtype else change.dtype)
    assert not any(change.relative_change for change in compare_checkpoints(copy, copy).tensors)


def test_bytes_in_a_format_count_the_scales() -> None:
    """By hand: 3 rows of 70 numbers; rows of 32, 32 and 6; 210 numbers in blocks of 64, the last of 18."""
    nbytes = {
        "float16": 420, "bfloat16": 420, "float8_e4m3fn": 210,
        "int8": 210 + 4, "int8 per channel": 210 + 3 * 4,
        "int4 groups of 32": 105 + 9 * 4, "int4 groups of 64": 105 + 6 * 4, "int4 groups of 128": 105 + 3 * 4,
        "nf4": 105 + 4 * 4,
    }  # fmt: skip
    assert {rounding: rounded_nbytes((3, 70), rounding) for rounding in COPIES.values()} == nbytes
    assert set(nbytes) == {*FORMATS, *SCALED}
    assert not any(rounded_nbytes((0, 5), rounding) for rounding in COPIES.values())
    assert rounded_nbytes((3, 1), "int4 groups of 32") == 2 + 3 * 4
