"""Weights are read bit by bit as safetensors reads them, each into memory of its own, and never twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviz_core.errors import CheckpointError
from bertviz_core.models.loading import read_state_dict
from bertviz_core.models.safetensors.values import raw_values

FORMATS = ("float32", "float16", "bfloat16", "float64", "int64", "uint8", "bool", "complex64", "float8_e4m3fn")
PEAK = """
import sys, torch
from pathlib import Path
from bertviz_core.models.loading import read_state_dict
def peak():
    return int(next(each for each in open("/proc/self/status") if each.startswith("VmHWM")).split()[1]) / 1024
torch.ones(3).sum()
before = peak()
tensors = read_state_dict(Path(sys.argv[1]))
print(peak() - before)
"""


def saved(folder: Path) -> dict[str, torch.Tensor]:
    """Save tensors of several formats and sizes, one without any number and one without any axis."""
    numbers = torch.arange(-3, 9).reshape(3, 4)
    tensors = {name: numbers.to(getattr(torch, name)) for name in FORMATS}
    tensors |= {"none": torch.zeros(0, 5), "single": torch.tensor(2.5)}
    save_file(tensors, folder / "model.safetensors")
    return tensors


def test_every_format_is_read_as_safetensors_reads_it(tmp_path: Path) -> None:
    names = set(saved(tmp_path))
    found, expected = read_state_dict(tmp_path), load_file(tmp_path / "model.safetensors")
    assert set(found) == set(expected) == names
    for name, value in expected.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
        assert found[name].reshape(-1).view(torch.uint8).tolist() == value.reshape(-1).view(torch.uint8).tolist()


def test_no_two_tensors_share_memory_and_a_written_file_changes_nothing(tmp_path: Path) -> None:
    saved(tmp_path)
    found = read_state_dict(tmp_path)
    storages = [each.untyped_storage().data_ptr() for each in found.values() if each.numel()]
    assert len(set(storages)) == len(storages)
    before = found["float32"].clone()
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.truncate(100)
    assert torch.equal(found["float32"], before)


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    saved(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(CheckpointError, match="cut off"):
        read_state_dict(tmp_path)


@pytest.mark.parametrize("length", [0, 7, 2**20, 3 * 2**20])
def test_a_file_that_is_cut_while_it_is_read_is_one_sentence(tmp_path: Path, length: int) -> None:
    """A mapped file would end the process with SIGBUS."""
    path = tmp_path / "model.safetensors"
    save_file({str(each): torch.ones(2**20) for each in range(2)}, path)
    tensors = raw_values(tmp_path)
    _, first = next(tensors)
    os.truncate(path, length)
    with pytest.raises(CheckpointError, match=r"'model\.safetensors' became shorter while it was read"):
        list(tensors)
    assert first.view("<f4").min() == 1


@pytest.mark.slow
def test_the_peak_is_the_size_of_the_weights(tmp_path: Path) -> None:
    save_file({str(each): torch.ones(2**20) for each in range(32)}, tmp_path / "model.safetensors")  # 128 MiB
    command = [sys.executable, "-c", PEAK, str(tmp_path)]
    grown = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert 120 < grown < 150
