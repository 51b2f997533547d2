"""Embed shards in several processes on this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from bertviz_core.corpus.results import ShardOutcome, ShardRows
from bertviz_core.corpus.shards import ShardWork, embed_shard
from bertviz_core.errors import CorpusError
from bertviz_core.lazy_imports import torch
from bertviz_core.text import counted

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue

MOST_BREAKS = 3
"""Maximum number of killed processes without a completed shard in between."""
WAITING_PER_PROCESS = 2
"""Shards submitted to the pool per process, so that the next one is always waiting."""


def processors() -> int:
    """Return the number of processors available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(work: ShardWork, shards: Sequence[ShardRows], count: int) -> Iterator[ShardOutcome]:
    """Embed shards; yield outcomes as they complete, in any order.

    The shard of a killed process is embedded again by another.

    Args:
        count: number of processes; processors and GPUs are divided among them.
    """
    left = {shard.index: shard for shard in shards}
    breaks = 0
    while left:
        try:
            for outcome in _outcomes(work, list(left.values()), count):
                del left[outcome.index]
                breaks = 0
                yield outcome
        except BrokenProcessPool as error:
            breaks += 1
            if breaks == MOST_BREAKS:
                raise CorpusError(
                    f"Processes were killed {MOST_BREAKS} times before one of them had made a shard, perhaps for want "
                    f"of memory; {counted(len(left), 'shard')} are left. The same command resumes, with fewer "
                    "--processes."
                ) from error


def _outcomes(work: ShardWork, shards: list[ShardRows], count: int) -> Iterator[ShardOutcome]:
    context = multiprocessing.get_context("spawn")  # a fork would copy locks of torch's threads in their current state
    gpus: SimpleQueue[int] = context.SimpleQueue()
    for index in range(count):
        gpus.put(index)
    threads = max(1, processors() // count)
    pool = ProcessPoolExecutor(count, context, _prepare, (threads, gpus))
    ended = False
    try:
        waiting: set[Future[ShardOutcome]] = set()
        rest = iter(shards)
        while True:
            for shard in rest:
                waiting.add(pool.submit(embed_shard, work, shard))
                if len(waiting) == count * WAITING_PER_PROCESS:
                    break
            if not waiting:
                ended = True
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(wait=ended, cancel_futures=True)


def _prepare(threads: int, numbers: "SimpleQueue[int]") -> None:
    """Prepare a new process: its share of the processors, its GPU, and its end with the parent."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
    if gpus := torch.cuda.device_count():
        torch.cuda.set_device(numbers.get() % gpus)


def _end_with(parent: "multiprocessing.process.BaseProcess") -> None:
    """End this process when its parent ends."""
    parent.join()
    os._exit(1)
