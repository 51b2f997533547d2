"""The requested device is used, or one message lists the available ones."""

from typing import Any

import pytest
import torch

from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.models.loading import chosen_device, copy_tensors, device_kind, device_nbytes, wait_for


def machine(monkeypatch: pytest.MonkeyPatch, gpus: int = 0, mps: bool = False) -> None:
    """Make torch find this many CUDA GPUs, or Apple's."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("gpus", "mps", "used"),
    [
        (0, False, {"auto": "cpu", "cpu": "cpu"}),
        (1, False, {"auto": "cuda", "cpu": "cpu", "cuda": "cuda", "cuda:0": "cuda:0"}),
        (3, False, {"auto": "cuda", "cuda:1": "cuda:1", "cuda:2": "cuda:2"}),
        (0, True, {"auto": "mps", "cpu": "cpu", "mps": "mps"}),
    ],
)
def test_the_device_is_the_one_asked_for(
    gpus: int, mps: bool, used: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, gpus, mps)
    assert {setting: chosen_device(setting) for setting in used} == used


@pytest.mark.parametrize(
    ("gpus", "setting", "there"),
    [(0, "cuda", "finds no GPU"), (0, "mps", "finds no GPU"), (1, "cuda:1", "finds 1 CUDA GPU,"),
     (2, "cuda:2", "finds 2 CUDA GPUs,"), (2, "mps", "finds 2 CUDA GPUs,")],
)  # fmt: skip
def test_a_device_that_is_not_there_is_one_sentence(
    gpus: int, setting: str, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, gpus)
    with pytest.raises(BertvizError) as refused:
        chosen_device(setting)
    words = str(refused.value)
    assert words.startswith(f"INSIDE_BERT_DEVICE is set to '{setting}', which is not there: torch ")
    assert there in words
    assert words.endswith("or cpu.")
    assert "\n" not in words


def test_a_number_says_which_not_what() -> None:
    assert [device_kind(device) for device in ("cpu", "cuda", "cuda:1", "mps")] == ["cpu", "cuda", "cuda", "mps"]
    assert (device_nbytes("cpu"), device_nbytes("mps")) == (None, None)
    wait_for("cpu")


def test_copies_share_no_memory_with_what_they_were_made_of() -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    weight, part = torch.nn.Parameter(whole), whole[:, 1]
    copy_tensors("a model", [weight, part], "cpu")
    whole[:] = -1
    assert weight.tolist() == torch.arange(12.0).reshape(3, 4).tolist()
    assert part.tolist() == [1, 5, 9]


def test_a_full_device_is_one_sentence() -> None:
    """Errors of torch for a full GPU, by its own class and by messages of lower libraries."""

    class Refused(torch.Tensor):
        def __new__(cls, error: Exception) -> "Refused":
            return super().__new__(cls)

        def __init__(self, error: Exception) -> None:
            self.error = error

        @property
        def data(self) -> Any:
            raise self.error

    for error in (
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.\nGPU 0 has a total capacity of 2 GiB"),
        RuntimeError("MPS backend out of memory (MPS allocated: 8.00 GB)"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ):
        with pytest.raises(CheckpointError, match=r"^The weights of 'a model' do not fit into the memory") as refused:
            copy_tensors("a model", [Refused(error)], "cuda:1")
        assert "free on cuda:1" in str(refused.value)
        assert "\n" not in str(refused.value)
    with pytest.raises(RuntimeError, match="another"):
        copy_tensors("a model", [Refused(RuntimeError("another fault"))], "cuda")
