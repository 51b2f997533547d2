"""Rounded copies of a checkpoint equal PyTorch's own conversion, number by number."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from bertviz_core.checkpoints.comparison import compare_checkpoints
from bertviz_core.checkpoints.rounding import COPIES, FORMATS, Rounding, round_weights, rounded
from bertviz_core.checkpoints.values import number_pieces, open_checkpoint, rounded_copy, tensor_slices
from bertviz_core.models.loading import load_model
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
    found = rounded(NUMBERS.double().numpy(), rounding)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rounding", COPIES.values())
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


def test_the_model_has_the_weights_of_the_copy(settings: Settings, tmp_path: Path) -> None:
    source = folder_source("base", save_tiny("bert", tmp_path / "base"))
    before, after = load_model(source, settings), round_weights(load_model(source, settings), "bfloat16")
    assert (after.name, after.revision) == ("base in bfloat16", f"{before.revision} bfloat16")
    pairs = zip(before.model.named_parameters(), after.model.parameters(), strict=True)
    for (name, weight), other in pairs:
        assert torch.equal(weight.to(torch.bfloat16).float(), other), name
        assert other.dtype == weight.dtype
