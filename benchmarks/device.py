"""Time, memory and agreement of works on a device, and what its matrix products alone would take.

A GPU computes asynchronously and has a memory of its own.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from benchmarks.timing import Row, peak_mb
from bertviz_core.errors import BertvizError
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import chosen_device, device_kind, device_nbytes, wait_for
from bertviz_core.settings import DEVICE

T = TypeVar("T")
TOLERANCE = 1e-3
"""Largest difference of a number from the CPU's, relative to the largest value of its array."""


def measured_device(requested: str) -> str:
    """The device to measure.

    Raises:
        BertvizError: torch finds no such device, or it is neither a CUDA GPU nor the CPU.
    """
    device = chosen_device(requested, "--device") if DEVICE.fullmatch(requested) else requested
    if device_kind(device) not in ("cuda", "cpu"):
        raise BertvizError(f"{device!r} is not measured here; give cuda, cuda:1 for the second GPU, or cpu.")
    return device


def finished(work: Callable[[], T], device: str) -> Callable[[], T]:
    """The work, followed by a wait until the device has done all of it; so its time is that of the result."""

    def done() -> T:
        result = work()
        wait_for(device)
        return result

    return done


def extra_nbytes(work: Callable[[], object], device: str) -> int:
    """Peak memory of a work above that before it, its result included.

    Of a GPU it is what PyTorch allocates there; of a CPU the growth of the largest resident memory of this process,
    which is that of the work only if nothing before it took more.
    """
    if device_kind(device) != "cuda":
        before = peak_mb()
        work()
        return round((peak_mb() - before) * 1024**2)
    wait_for(device)
    torch.cuda.reset_peak_memory_stats(device)
    memory = torch.cuda.memory_allocated(device)
    finished(work, device)()
    return int(torch.cuda.max_memory_allocated(device)) - memory


def card(device: str) -> str:
    """Name, memory and CUDA version of a GPU; of a CPU that there is none."""
    nbytes = device_nbytes(device)
    if nbytes is None:
        return "no GPU"
    return f"{torch.cuda.get_device_name(device)} with {nbytes / 1024**3:.0f} GiB, CUDA {torch.version.cuda}"


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest absolute difference of two arrays, relative to the largest absolute value expected; NaN if one has NaN.

    Raises:
        ValueError: the shapes differ, or there is no value but zeros.
    """
    largest = float(np.abs(expected).max(initial=0))
    if found.shape != expected.shape or largest == 0:
        raise ValueError(f"{found.shape} beside {expected.shape} with values up to {largest}")
    return float(np.abs(found.astype(np.float64) - expected.astype(np.float64)).max()) / largest


def agreement(what: str, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> Row:
    """The row that says how far numbers of a device are from those of the CPU.

    Args:
        what: what the numbers are.
        pairs: arrays of the device, and the same of the CPU.
    """
    worst = float(np.max([difference(found, expected) for found, expected in pairs]))
    work = f"largest difference of {what} from the CPU's, relative to the largest value"
    return Row(work, f"{worst:.0e}", "", f"<= {TOLERANCE:.0e}", worst <= TOLERANCE)


def layer_products(hidden: int, intermediate: int, tokens: int, layers: int, device: str = "cpu") -> Callable[[], None]:
    """The products of the linear maps of encoder layers with random matrices in float32, without attention itself.

    Args:
        hidden: width of the states.
        intermediate: width inside the feed-forward block.
        tokens: tokens that go through a layer together.
        layers: number of layers that are run.
        device: where they are run.
    """
    sizes = ((hidden, hidden),) * 4 + ((hidden, intermediate), (intermediate, hidden))
    pairs = [
        (torch.randn(tokens, inputs, device=device), torch.randn(inputs, outputs, device=device))
        for inputs, outputs in sizes
    ]

    def run() -> None:
        for _ in range(layers):
            for rows, matrix in pairs:
                rows @ matrix

    return run


def share(seconds: float, least_s: float) -> str:
    """How much of the time the products alone would need."""
    return f"{least_s / seconds:.0%} of it are the products alone"
