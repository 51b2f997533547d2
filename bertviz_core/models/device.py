"""Where models run: the device that the settings ask for, looked for on this machine."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bertviz_core.errors import BertvizError, CheckpointError, is_out_of_memory
from bertviz_core.text import first_line

if TYPE_CHECKING:
    import torch

AUTO = "auto"
"""The best device that this machine has."""


def chosen_device(asked: str, name: str = "INSIDE_BERT_DEVICE") -> str:
    """The device to run on, in torch's words: "cpu", "cuda", "cuda:1" or "mps".

    Args:
        asked: what the settings say (Settings.device); AUTO takes a GPU where torch finds one, else the CPU.
        name: of what says so, for messages.

    Raises:
        BertvizError: the device is not there, with what torch finds in its place.
    """
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if asked == AUTO:
        return "cuda" if gpus else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, index = asked.partition(":")
    there = {"cpu": True, "cuda": int(index or 0) < gpus, "mps": torch.backends.mps.is_available()}
    if not there[kind]:
        raise BertvizError(
            f"{name} is set to {asked!r}, which is not there: {_cuda_words(gpus)}; write auto for the best "
            "device of this machine, or cpu."
        )
    return asked


def device_kind(device: str) -> str:
    """What kind of device it is, whatever its number: "cpu", "cuda" or "mps"."""
    return device.partition(":")[0]


def device_nbytes(device: str) -> int | None:
    """Bytes of memory that a GPU has for itself; None for a device that shares the machine's."""
    import torch

    return torch.cuda.get_device_properties(device).total_memory if device_kind(device) == "cuda" else None


def copy_tensors(name: str, tensors: "Iterable[torch.Tensor]", device: str) -> None:
    """Give tensors memory of their own on a device, aligned as its kernels want it; read from a file they are not.

    Args:
        name: the model's.
        tensors: weights and buffers, each once; those who share one keep sharing it.
        device: where they go.

    Raises:
        CheckpointError: the device has not memory enough; some of them are then there and some are not.
    """
    try:
        for tensor in tensors:
            tensor.data = tensor.data.to(device, copy=True)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise CheckpointError(
            f"The weights of {name!r} do not fit into the memory that is free on {device} ({first_line(error)}); lower "
            "INSIDE_BERT_MAX_LOADED_BYTES, so that other models make room, or choose another INSIDE_BERT_DEVICE."
        ) from error


def wait_for(device: str) -> None:
    """Come back when all that a device was given to do is done: a GPU computes beside the program."""
    import torch

    if device_kind(device) != "cpu":
        torch.accelerator.synchronize(torch.device(device))


def _cuda_words(gpus: int) -> str:
    """What torch knows of GPUs, in a line."""
    import torch

    if gpus:
        return f"torch finds {gpus} CUDA {'GPU' if gpus == 1 else 'GPUs'}, counted from cuda:0"
    return f"torch {torch.__version__} finds no GPU" + ("" if torch.version.cuda else " and was built without CUDA")


def fast_bfloat16(device: str) -> bool:
    """Whether this machine computes in bfloat16 quicker than in float32: by its own instructions, not by detours."""
    import torch

    if device_kind(device) == "cuda":
        with torch.cuda.device(device):
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device != "cpu":
        return False
    has = torch.cpu.get_capabilities()
    return any(bool(has.get(name)) for name in ("avx512_bf16", "amx_bf16", "bf16"))
