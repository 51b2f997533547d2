"""How long work takes, and what a run is estimated to cost.

Durations are the shortest of several runs, so that a busy machine matters little, and none is kept. The memory of a run
follows from the sizes of its arrays, its time from the speed of this machine when idle.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import Any

from bertviz_core.models.device import wait_for
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel

SOFTMAX_FLOPS = 12
"""Work per attention score besides its two products, in multiply-add pairs: scale, mask, exponential, sum."""
SMALL_OPERATIONS = 20e9
"""A run of fewer takes less than a few seconds on any machine, so the machine's speed is not measured for it."""
PROBE_SECONDS = 0.02
"""Duration of measuring the machine's speed."""


@dataclass(frozen=True, slots=True)
class RunCost:
    """Estimated memory and time of one run of a model on one text."""

    tokens: int
    """Tokens of the text."""
    nbytes: int
    """Bytes that the trace keeps."""
    seconds: float
    """Estimated duration on this machine when it is idle; 0 for a run too small to measure the speed for it."""


def run_cost(loaded: LoadedModel, tokens: int, runs: int = 1) -> RunCost:
    """Estimated cost of a run on a text of this many tokens, or the time of several such runs one after the other.

    The operations are those of a transformer's forward pass: two per weight and token for the projections (Kaplan et
    al. 2020, section 2.1), and for every pair of tokens two products and a softmax.
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
    """Weights that every token passes through: all layers, shared ones once per use, embedding tables excluded."""
    tables = {id(module.weight) for module in loaded.model.modules() if type(module).__name__ == "Embedding"}
    stored: int = sum(weight.numel() for weight in loaded.model.parameters() if id(weight) not in tables)
    return stored * layers if family(loaded.model_type).shared_layers else stored


def _mask_nbytes(config: Any, tokens: int) -> int:
    """Bytes of the mask of those layers that look at a window; where every token sees all there is none."""
    windowed = getattr(config, "sliding_window", None) or getattr(config, "local_attention", None)
    return tokens * tokens if windowed else 0


def _operations_per_second(device: str) -> float:
    """Floating point operations of this machine at its best, measured anew each time.

    On a processor the product is so small that it takes one thread, whose own time is counted: several threads would
    wait for each other where other programs run.
    """
    import torch

    size, threads = (64, torch.get_num_threads()) if device == "cpu" else (256, 1)
    matrix = torch.ones(size, size, device=device)
    with torch.inference_mode():
        (best,), _ = shortest([lambda: matrix @ matrix], device, PROBE_SECONDS, own_time=True)
    return threads * 2 * size**3 / max(best, 1e-9)


LEAST_RUNS, MOST_RUNS = 5, 50
BUDGET_SECONDS = 0.1
"""Each piece of work is run at least 5 times, and up to 50 times while the whole takes no longer than this."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on the calling thread alone, and afterwards on as many as before.

    The setting is the whole process's: whoever uses it holds RUN_LOCK, so that no model runs meanwhile.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def shortest(
    works: Sequence[Callable[[], Any]], device: str, budget: float = BUDGET_SECONDS, *, own_time: bool
) -> tuple[list[float], int]:
    """Shortest duration of each piece of work in seconds, and how often each was run; they are run in turn.

    Args:
        works: what is timed.
        device: where it computes; on a GPU it lasts until the result is there.
        budget: seconds that all of it may take, beyond the least number of runs.
        own_time: whether only the time counts that this thread was computing, not its waiting for a turn beside other
            programs; right where the thread does all of the work (see one_thread).
    """
    # Windows counts a thread's time in steps of 16 ms.
    clock = thread_time if own_time and device == "cpu" and sys.platform != "win32" else perf_counter
    best, runs = [float("inf")] * len(works), 0
    for work in works:  # the first run of a product also chooses its code and fetches its weights
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
