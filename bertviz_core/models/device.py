"""Choose the device that models run on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from bertviz_core.errors import BertvizError, CheckpointError, is_out_of_memory
from bertviz_core.lazy_imports import torch
from bertviz_core.text import first_line

AUTO = "auto"
"""A GPU if there is one, otherwise the CPU."""
HalfFormat = Literal["bfloat16", "float16"]
"""A number format of 16 bits."""
INSTRUCTIONS: Mapping[HalfFormat, Sequence[str]] = {
    "bfloat16": ("avx512_bf16", "amx_bf16", "bf16"),
    "float16": ("avx512_fp16", "amx_fp16", "fp16"),
}
"""Format -> names that PyTorch gives to a processor's instructions for it."""


def chosen_device(requested: str, name: str = "INSIDE_BERT_DEVICE") -> str:
    """Return the torch device to run on: "cpu", "cuda", "cuda:1" or "mps".

    Args:
        requested: Settings.device; AUTO selects a GPU if torch finds one, otherwise the CPU.
        name: where the request comes from, for the error message.

    Raises:
        BertvizError: the device is not available.
    """
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if requested == AUTO:
        return "cuda" if gpus else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, index = requested.partition(":")
    available = {"cpu": True, "cuda": int(index or 0) < gpus, "mps": torch.backends.mps.is_available()}
    if not available[kind]:
        raise BertvizError(
            f"{name} is set to {requested!r}, which is not there: {_describe_gpus(gpus)}; write auto for the best "
            "device of this machine, or cpu."
        )
    return requested


def device_kind(device: str) -> str:
    """The kind of a device without its number: "cpu", "cuda" or "mps"."""
    return device.partition(":")[0]


def device_nbytes(device: str) -> int | None:
    """Memory of a GPU in bytes; None for a device that shares the memory of the machine."""
    return torch.cuda.get_device_properties(device).total_memory if device_kind(device) == "cuda" else None


def copy_tensors(name: str, tensors: "Iterable[torch.Tensor]", device: str) -> None:
    """Copy tensors in place to a device, into memory that is aligned for its kernels (memory read from a file is not).

    Args:
        name: the model's name, for the error message.
        tensors: weights and buffers, each once; modules that share a tensor keep sharing it.
        device: the target device.

    Raises:
        CheckpointError: the device runs out of memory; some of the tensors may already have been copied.
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
    """Wait until a device has finished its queued work: a GPU computes asynchronously."""
    if device_kind(device) != "cpu":
        torch.accelerator.synchronize(torch.device(device))


def _describe_gpus(gpus: int) -> str:
    if gpus:
        return f"torch finds {gpus} CUDA {'GPU' if gpus == 1 else 'GPUs'}, counted from cuda:0"
    return f"torch {torch.__version__} finds no GPU" + ("" if torch.version.cuda else " and was built without CUDA")


def fast_formats(device: str) -> tuple[HalfFormat, ...]:
    """Number formats of 16 bits with native instructions of the device, which should be faster than float32."""
    if device_kind(device) == "cuda":
        with torch.cuda.device(device):
            bfloat16: tuple[HalfFormat, ...] = ("bfloat16",)
            return (*(bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else ()), "float16")
    if device != "cpu":
        return ()
    capabilities = torch.cpu.get_capabilities()
    return tuple(each for each, names in INSTRUCTIONS.items() if any(capabilities.get(name) for name in names))
