"""Process untrusted files in a child process with limits.

The child (bertviz_core.isolation.child) is a fresh interpreter that limits itself before it reads any input, runs one
of a fixed list of functions, and answers in bytes. The system enforces its processor time and memory; its wall time and
the size of its answer are enforced here. Answers are never executed or unpickled.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import NoReturn

from bertviz_core import errors
from bertviz_core.isolation.child import ANSWER, OTHER, OUT_OF_MEMORY, REFUSAL, TASKS, TOO_LARGE
from bertviz_core.settings import Settings

STEP_S = 0.1
"""Interval at which the parent checks whether the answer is still needed."""
CHUNK_NBYTES = 1 << 16
PASSED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH")
"""Environment variables that are passed to the child; others may contain secrets."""
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Thread and memory pools of libraries count towards the memory limit.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    # Some versions of torch ask for the name of the user, whose list cannot be read here.
    "LOGNAME": "reader",
    # Nothing is computed on a GPU here, and its driver would map hundreds of gigabytes.
    "CUDA_VISIBLE_DEVICES": "",
}
IsNeeded = Callable[[], bool]


class ChildError(Exception):
    """A child failed to answer; the message continues "could not be read: "."""


class ChildTimeoutError(ChildError):
    """A child exceeded its wall time, which also depends on the load of the machine."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a child."""

    memory_nbytes: int
    """Address space in bytes."""
    processor_s: int
    """Processor time in seconds."""
    wall_s: float
    """Wall time in seconds, and the longest wait for a free child."""
    answer_nbytes: int
    """Size of an answer in bytes."""
    children: int
    """Number of children that may run at once."""
    file_nbytes: int = 0
    """Size of a written file in bytes."""

    @classmethod
    def of(cls, settings: Settings, answer_nbytes: int) -> "Limits":
        """The limits of this instance."""
        seconds = settings.child_seconds
        return cls(settings.child_bytes, seconds, 3.0 * seconds, answer_nbytes, settings.max_children)


def run_limited(task: str, request: bytes, limits: Limits, is_needed: IsNeeded | None = None) -> bytes:
    """Run a function on untrusted bytes in a child process.

    Args:
        request: its input.
        is_needed: polled many times a second; the child is killed when it returns False or raises.
    """
    if task not in TASKS:
        raise ValueError(f"{task!r} is none of {sorted(TASKS)}")
    is_needed = is_needed or (lambda: True)
    slots = _slots(limits.children)
    _acquire_slot(slots, limits, is_needed)
    try:
        return answer_of(*_exchange(task, request, limits, is_needed), limits)
    finally:
        slots.release()


@lru_cache(maxsize=16)
def _slots(children: int) -> BoundedSemaphore:
    return BoundedSemaphore(children)


def _acquire_slot(slots: BoundedSemaphore, limits: Limits, is_needed: IsNeeded) -> None:
    until = monotonic() + limits.wall_s
    while not slots.acquire(timeout=STEP_S):
        if not is_needed():
            raise errors.SupersededError
        if monotonic() > until:
            raise errors.BusyError(
                f"{limits.children} other files are being read at this moment; try again in a minute."
            )


def command(task: str, limits: Limits) -> list[str]:
    """The command line of a child."""
    numbers = limits.memory_nbytes, limits.processor_s, limits.answer_nbytes, limits.file_nbytes
    return [sys.executable, "-s", "-m", "bertviz_core.isolation.child", task, *map(str, numbers)]


def started(command: list[str]) -> "subprocess.Popen[bytes]":
    """Start a child with pipes, in a session of its own, so that its process group can be killed."""
    environment = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ} | ENVIRONMENT
    return subprocess.Popen(  # noqa: S603  # our own interpreter and module; no untrusted arguments
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
        env=environment,
        start_new_session=True,
    )


def ended(child: "subprocess.Popen[bytes]") -> None:
    """Kill a child and its process group; once it was waited for, its number may be that of another process."""
    if child.returncode is None:
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def closed(child: "subprocess.Popen[bytes]") -> None:
    """Kill a child and close its pipes."""
    ended(child)
    _close_pipes(child)


def close_all(children: "list[subprocess.Popen[bytes]]") -> None:
    """Kill children and close their pipes; the list is empty afterwards."""
    while children:
        closed(children.pop())


def _close_pipes(child: "subprocess.Popen[bytes]") -> None:
    for pipe in (child.stdin, child.stdout):
        with suppress(OSError):
            pipe.close() if pipe else None


def _exchange(task: str, request: bytes, limits: Limits, is_needed: IsNeeded) -> tuple[bytes, int | None]:
    """The output of a child and its exit status; None if it had to be killed.

    Two threads write and read, to avoid a deadlock with full pipes.
    """
    child = started(command(task, limits))
    answer = bytearray()
    threads = [
        Thread(target=_write, args=(child, request), daemon=True),
        Thread(target=_collect, args=(child, answer, limits.answer_nbytes + 1), daemon=True),
    ]
    try:
        for thread in threads:
            thread.start()
        _watch(threads[1], monotonic() + limits.wall_s, limits, is_needed)
        with suppress(subprocess.TimeoutExpired):
            if len(answer) <= limits.answer_nbytes + 1:
                child.wait(1)
        status = child.poll()
    finally:
        ended(child)
        for thread in threads:
            thread.join()
        _close_pipes(child)
    return bytes(answer), status


def _watch(reader: Thread, until: float, limits: Limits, is_needed: IsNeeded) -> None:
    """Wait until the child has closed its output."""
    while reader.is_alive():
        reader.join(STEP_S)
        if not is_needed():
            raise errors.SupersededError
        if reader.is_alive() and monotonic() > until:
            raise too_long(limits)


def too_long(limits: Limits) -> ChildTimeoutError:
    """The error for a child that exceeded its wall time."""
    return ChildTimeoutError(
        f"that takes more than {limits.wall_s:,.0f} seconds (three times INSIDE_BERT_CHILD_SECONDS)"
    )


def _write(child: "subprocess.Popen[bytes]", request: bytes) -> None:
    if child.stdin:
        with suppress(OSError):  # the child has ended
            child.stdin.write(request)
            child.stdin.close()


def _collect(child: "subprocess.Popen[bytes]", answer: bytearray, most: int) -> None:
    """Read into `answer` until the child closes its output, or the answer is too large."""
    while child.stdout and len(answer) <= most:
        chunk = os.read(child.stdout.fileno(), CHUNK_NBYTES)
        if not chunk:
            return
        answer += chunk


def answer_of(written: bytes, status: int | None, limits: Limits) -> bytes:
    """Parse the output of a child."""
    kind, content = written[:1], written[1:]
    if len(content) > limits.answer_nbytes or kind == TOO_LARGE:
        raise ChildError(f"what it holds takes more than {_mib(limits.answer_nbytes)} in memory")
    if status == -signal.SIGXCPU:
        raise ChildError(
            f"that takes more than {limits.processor_s:,} seconds of a processor (INSIDE_BERT_CHILD_SECONDS)"
        )
    if kind == OUT_OF_MEMORY or status == -signal.SIGKILL:
        raise ChildError(f"that takes more than {_mib(limits.memory_nbytes)} of memory (INSIDE_BERT_CHILD_BYTES)")
    if kind == REFUSAL and status == 0:
        _refuse(content)
    if kind == ANSWER and status == 0:
        return content
    detail = content[:60].decode("utf-8", "replace") if kind == OTHER else f"status {status}"
    raise ChildError(f"its reader broke off ({detail})")


def _refuse(content: bytes) -> NoReturn:
    """Raise the error that a child sent."""
    name, _, message = content.decode("utf-8", "replace").partition("\0")
    kind = getattr(errors, name, None)
    plain = isinstance(kind, type) and issubclass(kind, errors.BertvizError) and kind is not errors.MissingFilesError
    raise kind(message) if kind is not None and plain else errors.BertvizError(message)


def _mib(nbytes: int) -> str:
    return f"{nbytes / 1024**2:,.0f} MiB"
