"""Errors and bytes by part equal those of a plain loop over the stored tensors."""

import math
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from bertviz_core.checkpoints.comparison import compare_checkpoints, rounded_format
from bertviz_core.checkpoints.results import RoundedFormat
from bertviz_core.checkpoints.rounding import COPIES, SCALED, Rounding
from bertviz_core.checkpoints.values import Checkpoint, number_pieces, open_checkpoint, rounded_copy, tensor_slices
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import save_tiny


def opened(settings: Settings, folder: Path) -> Checkpoint:
    """The checkpoint of a tiny BERT."""
    return open_checkpoint(folder_source("base", save_tiny("bert", folder / "base")), settings)


def measured(checkpoint: Checkpoint, rounding: Rounding) -> RoundedFormat:
    """The sums of a format."""
    return rounded_format(checkpoint, rounding, compare_checkpoints(checkpoint, rounded_copy(checkpoint, rounding)))


@pytest.mark.parametrize("rounding", COPIES.values())
def test_the_parts_add_up_to_the_tensors(rounding: Rounding, settings: Settings, tmp_path: Path) -> None:
    checkpoint = opened(settings, tmp_path)
    found, stored = measured(checkpoint, rounding), load_file(checkpoint.folder / "model.safetensors")
    slices = tensor_slices(rounded_copy(checkpoint, rounding))
    errors, rounded = {}, {}
    for name, values in stored.items():
        rounded[name] = np.concatenate(list(number_pieces(slices[name]))).reshape(values.shape)
        errors[name] = rounded[name] - values
    whole = found.whole
    assert whole.tensors == len(stored)
    assert whole.numel == sum(values.size for values in stored.values())
    assert whole.nbytes == sum(values.nbytes for values in stored.values())
    norm = math.sqrt(sum(float((values.astype(np.float64) ** 2).sum()) for values in stored.values()))
    distance = math.sqrt(sum(float((error**2).sum()) for error in errors.values()))
    assert whole.relative_error == pytest.approx(distance / norm, rel=1e-9)
    assert whole.largest_error == max(np.abs(error).max() for error in errors.values())
    for part in (each for each in found.parts if each.layer == 1 and each.block == "feed-forward"):
        names = [
            name for name in stored if "layer.1." in name and ("intermediate" in name or "layer.1.output.d" in name)
        ]
        assert part.tensors == len(names) == 4
        assert part.rounded == (2 if rounding in SCALED else 4)
        squares = [(errors[name] ** 2).sum() for name in names], [(stored[name] ** 2).sum() for name in names]
        expected = math.sqrt(float(sum(squares[0])) / float(sum(squares[1])))
        assert part.relative_error == pytest.approx(expected, rel=1e-5)
    for parts in (found.by_layer(), found.by_component()):
        assert sum(part.rounded_nbytes for part in parts) == whole.rounded_nbytes
        assert math.hypot(*(part.difference_norm for part in parts)) == pytest.approx(whole.difference_norm)


def test_bytes_by_hand(settings: Settings, tmp_path: Path) -> None:
    """Rows that are no multiple of a group are named, and each has a last group of its own."""
    checkpoint = opened(settings, tmp_path)
    found, expected, uneven = measured(checkpoint, "int4 groups of 32"), 0, []
    for name, values in load_file(checkpoint.folder / "model.safetensors").items():
        if values.ndim < 2:
            expected += values.nbytes
            continue
        expected += math.ceil(values.size / 2) + 4 * len(values) * math.ceil(values.shape[1] / 32)
        uneven += [name] if values.shape[1] % 32 else []
    assert found.whole.rounded_nbytes == expected
    assert sorted(found.uneven) == sorted(uneven)
    assert uneven
    assert not measured(checkpoint, "int8 per channel").uneven
    half = measured(checkpoint, "float16").whole
    assert (half.rounded_nbytes, half.saved_nbytes) == (half.nbytes // 2, half.nbytes // 2)
    assert found.by_layer()[0].name == "embeddings"
    assert {part.name for part in found.by_component()} >= {"embeddings", "attention", "feed-forward", "layer norm"}
