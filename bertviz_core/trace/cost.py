"""Measure durations, and estimate the memory and time of a run.

Durations are the shortest of several repetitions, so that other load matters little. The memory of a run is estimated
from the sizes of its arrays, its time from the peak speed of this machine.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Any

from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel, wait_for

SOFTMAX_FLOPS = 12
"""Operations per attention score besides its two products, in multiply-add pairs: scale, mask, exponential, sum."""
SMALL_OPERATIONS = 20e9
"""Operations below which a run is too short to measure the speed of the machine for it."""
PROBE_SECONDS = 0.02
"""Time spent on measuring the speed of the machine."""


@dataclass(frozen=True, slots=True)
class RunCost:
    """Estimated memory and time of one run of a model on one text."""

    tokens: int
    """Number of tokens."""
    nbytes: int
    """Bytes of the trace."""
    seconds: float
    """Estimated duration on this machine when idle; 0 for a short run."""


def run_cost(loaded: LoadedModel, tokens: int, runs: int = 1) -> RunCost:
    """Estimate the cost of a run on a text with this many tokens, or the time of several such runs in sequence.

    A forward pass takes two operations per weight and token for the projections (Kaplan et al. 2020, section 2.1), and
    two products and a softmax for every pair of tokens.
    """
    config: Any = loaded.model.config
    layers, hidden = loaded.num_hidden_layers, int(getattr(config, "hidden_size", 768))
    weights = _weights_run(loaded, layers)
    heads = int(getattr(config, "num_attention_heads", 12))
    pairs = layers * tokens * tokens
    operations = runs * (2 * tokens * weights + pairs * (4 * hidden + 2 * SOFTMAX_FLOPS * heads))
    nbytes = 4 * tokens * hidden * (4 * layers + 1)
    nbytes += 4 * pairs * heads if loaded.attention_source == "eager" else _mask_nbytes(config, tokens)
    seconds = operations / _operations_per_second(loaded.device) if operations > SMALL_OPERATIONS else 0.0
    return RunCost(tokens, nbytes, seconds)


def _weights_run(loaded: LoadedModel, layers: int) -> int:
    """Weights applied to every token: shared ones once per use, without embedding tables."""
    tables = {id(module.weight) for module in loaded.model.modules() if type(module).__name__ == "Embedding"}
    stored: int = sum(weight.numel() for weight in loaded.model.parameters() if id(weight) not in tables)
    return stored * layers if family(loaded.model_type).shared_layers else stored


def _mask_nbytes(config: Any, tokens: int) -> int:
    """Bytes of the mask of windowed layers; full attention has none."""
    windowed = getattr(config, "sliding_window", None) or getattr(config, "local_attention", None)
    return tokens * tokens if windowed else 0


def _operations_per_second(device: str) -> float:
    """Peak floating point operations per second of this machine.

    On a CPU the product is small enough for a single thread, whose CPU time is measured: several threads would wait for
    each other beside other programs.
    """
    size, threads = (64, torch.get_num_threads()) if device == "cpu" else (256, 1)
    matrix = torch.ones(size, size, device=device)
    with torch.inference_mode():
        (best,), _ = shortest([lambda: matrix @ matrix], device, PROBE_SECONDS, own_time=True)
    return threads * 2 * size**3 / max(best, 1e-9)


LEAST_RUNS, MOST_RUNS = 5, 50
BUDGET_SECONDS = 0.1
"""Each function is called at least 5 times, and up to 50 times within this time."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread inside the block.

    The setting is global: the caller holds RUN_LOCK, so that no model runs meanwhile.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def shortest(
    works: Sequence[Callable[[], Any]], device: str, budget: float = BUDGET_SECONDS, *, own_time: bool
) -> tuple[list[float], int]:
    """Shortest duration of each function in seconds, and the number of calls of each; they are called in turn.

    Args:
        works: the functions to time.
        device: where they compute; on a GPU the duration includes the wait for the result.
        budget: seconds for all calls beyond the minimum.
        own_time: whether to measure the CPU time of this thread instead of wall time; for work of a single thread
            (see one_thread).
    """
    # Windows counts a thread's time in steps of 16 ms.
    clock = thread_time if own_time and device == "cpu" and sys.platform != "win32" else perf_counter
    best, runs = [float("inf")] * len(works), 0
    for work in works:  # warm up: the first call of a product also selects its kernel
        _duration(work, device, clock)
    end = perf_counter() + budget
    while runs < LEAST_RUNS or (runs < MOST_RUNS and perf_counter() < end):
        best = [min(before, _duration(work, device, clock)) for before, work in zip(best, works, strict=True)]
        runs += 1
    return best, runs


def _duration(work: Callable[[], Any], device: str, clock: Callable[[], float]) -> float:
    started = clock()
    work()
    wait_for(device)
    return clock() - started
