"""A model that is rounded in memory has the weights of the rounded checkpoint."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bertviz_core.checkpoints.rounding import COPIES, SCALED, Rounding, round_parameters, round_weights
from bertviz_core.checkpoints.values import number_pieces, open_checkpoint, rounded_copy, tensor_slices
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.predictions.run import load_head
from bertviz_core.settings import Settings
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import save_tiny


@pytest.mark.sample(3)
@pytest.mark.parametrize("rounding", COPIES.values())
def test_the_model_has_the_weights_of_the_copy(rounding: Rounding, settings: Settings, tmp_path: Path) -> None:
    source = folder_source("base", save_tiny("bert", tmp_path / "base"))
    before, after = load_model(source, settings), round_weights(load_model(source, settings), rounding)
    assert (after.name, after.revision) == (f"base in {rounding}", f"{before.revision} {rounding}")
    stored = tensor_slices(rounded_copy(open_checkpoint(source, settings), rounding))
    pairs = zip(before.model.named_parameters(), after.model.parameters(), strict=True)
    changed = 0
    for (name, weight), other in pairs:
        expected = np.concatenate(list(number_pieces(stored[name])))
        np.testing.assert_array_equal(other.detach().double().numpy().reshape(-1), expected, err_msg=name)
        assert other.dtype == weight.dtype
        changed += not torch.equal(weight, other)
        assert weight.ndim > 1 or rounding not in SCALED or torch.equal(weight, other)
    assert changed


@pytest.mark.parametrize("rounding", SCALED)
@pytest.mark.sample(3)
def test_the_base_of_a_head_is_rounded_once(rounding: Rounding, settings: Settings, tmp_path: Path) -> None:
    source = folder_source("classes", save_tiny_head("bert", "sequence-classification", tmp_path / "classes"))
    base = round_weights(load_model(source, settings), rounding)
    before = [weight.clone() for weight in base.model.parameters()]
    head = load_head(source, settings, "sequence-classification", base)
    unrounded = [weight.clone() for weight in head.model.classifier.parameters()]
    round_parameters(head.model, rounding, tuple(base.model.parameters()))
    assert all(torch.equal(one, other) for one, other in zip(before, base.model.parameters(), strict=True))
    matrix, bias = head.model.classifier.parameters()
    assert not torch.equal(matrix, unrounded[0])
    assert torch.equal(bias, unrounded[1])
