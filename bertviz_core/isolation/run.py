"""Untrusted files are read in a child process with limits, so that a failure stays there.

The child (bertviz_core.isolation.child) is a fresh interpreter that sets its own limits before it reads a byte, runs
one function of a list, and answers in bytes. Its processor seconds and memory are the system's to keep, its time by the
clock and the size of its answer are kept here. Nothing that it answers is ever run or unpickled.
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
"""How often a waiting parent asks whether the answer is still wanted."""
CHUNK_NBYTES = 1 << 16
PASSED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH")
"""Of the server's environment, which may hold secrets, the child gets what an interpreter needs."""
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Pools of threads and of memory that libraries reserve would count against the limit of memory.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}
Wanted = Callable[[], bool]


class ChildError(Exception):
    """A child came to no answer; its text says why, and goes on behind "could not be read: "."""


class ChildTimeoutError(ChildError):
    """It took too long by the clock, which says as much of the machine as of what was read."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may take."""

    memory_nbytes: int
    """Bytes of its address space."""
    processor_s: int
    """Seconds of one processor."""
    wall_s: float
    """Seconds by the clock, and as many before for its turn."""
    answer_nbytes: int
    """Bytes of its answer."""
    children: int
    """Children that may run at once, whoever asks."""
    file_nbytes: int = 0
    """Bytes of a file that it may write."""

    @classmethod
    def of(cls, settings: Settings, answer_nbytes: int) -> "Limits":
        """The limits of this instance."""
        seconds = settings.child_seconds
        return cls(settings.child_bytes, seconds, 3.0 * seconds, answer_nbytes, settings.max_children)


def run_limited(task: str, request: bytes, limits: Limits, still_wanted: Wanted | None = None) -> bytes:
    """The answer of one of our functions to untrusted bytes.

    Args:
        task: the function's dotted name, one of bertviz_core.isolation.child.TASKS.
        request: what it is given.
        limits: what it may take.
        still_wanted: asked many times a second; the child is killed where it answers no or raises.

    Raises:
        ChildError: there is no answer: why.
        BertvizError: what the function refused, as it said it; or too many others wait for a child.
        SupersededError: the answer is no longer wanted.
    """
    if task not in TASKS:
        raise ValueError(f"{task!r} is none of {sorted(TASKS)}")
    wanted = still_wanted or (lambda: True)
    slots = _slots(limits.children)
    _acquire_slot(slots, limits, wanted)
    try:
        return answer_of(*_exchange(task, request, limits, wanted), limits)
    finally:
        slots.release()


@lru_cache(maxsize=16)
def _slots(children: int) -> BoundedSemaphore:
    return BoundedSemaphore(children)


def _acquire_slot(slots: BoundedSemaphore, limits: Limits, wanted: Wanted) -> None:
    until = monotonic() + limits.wall_s
    while not slots.acquire(timeout=STEP_S):
        if not wanted():
            raise errors.SupersededError
        if monotonic() > until:
            raise errors.BusyError(
                f"{limits.children} other files are being read at this moment; try again in a minute."
            )


def command(task: str, limits: Limits) -> list[str]:
    """The command of a child for one of our functions under limits."""
    numbers = limits.memory_nbytes, limits.processor_s, limits.answer_nbytes, limits.file_nbytes
    return [sys.executable, "-s", "-m", "bertviz_core.isolation.child", task, *map(str, numbers)]


def started(command: list[str]) -> "subprocess.Popen[bytes]":
    """A child of ours, in a session of its own so that all of it can be ended, with pipes to it and from it."""
    environment = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ} | ENVIRONMENT
    return subprocess.Popen(  # noqa: S603  # our own interpreter and our own module, no word of a stranger
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
        env=environment,
        start_new_session=True,
    )


def ended(child: "subprocess.Popen[bytes]") -> None:
    """End a child and what it may have started, if it has not ended."""
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def closed(child: "subprocess.Popen[bytes]") -> None:
    """End a child, and close the pipes to it and from it."""
    ended(child)
    for pipe in (child.stdin, child.stdout):
        with suppress(OSError):
            pipe.close() if pipe else None


def _exchange(task: str, request: bytes, limits: Limits, wanted: Wanted) -> tuple[bytes, int | None]:
    """What a child wrote, and its exit status; None where it had to be killed.

    Two threads write and read, so that neither side waits for the other with its pipe full.
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
        _watch(threads[1], monotonic() + limits.wall_s, limits, wanted)
        with suppress(subprocess.TimeoutExpired):
            if len(answer) <= limits.answer_nbytes + 1:
                child.wait(1)
        status = child.poll()
    finally:
        ended(child)
        for thread in threads:
            thread.join()
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                pipe.close() if pipe else None
    return bytes(answer), status


def _watch(reader: Thread, until: float, limits: Limits, wanted: Wanted) -> None:
    """Wait until the child has said all it has to say."""
    while reader.is_alive():
        reader.join(STEP_S)
        if not wanted():
            raise errors.SupersededError
        if reader.is_alive() and monotonic() > until:
            raise too_long(limits)


def too_long(limits: Limits) -> ChildTimeoutError:
    """The error for a child that takes too long by the clock."""
    return ChildTimeoutError(
        f"that takes more than {limits.wall_s:,.0f} seconds (three times INSIDE_BERT_CHILD_SECONDS)"
    )


def _write(child: "subprocess.Popen[bytes]", request: bytes) -> None:
    if child.stdin:
        with suppress(OSError):  # a child that has ended needs no more of it
            child.stdin.write(request)
            child.stdin.close()


def _collect(child: "subprocess.Popen[bytes]", answer: bytearray, most: int) -> None:
    """Read into answer until the child closes its end, or until it is more than the most."""
    while child.stdout and len(answer) <= most:
        chunk = os.read(child.stdout.fileno(), CHUNK_NBYTES)
        if not chunk:
            return
        answer += chunk


def answer_of(written: bytes, status: int | None, limits: Limits) -> bytes:
    """The answer in what a child wrote.

    Raises:
        ChildError: there is none.
        BertvizError: it is a refusal.
    """
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
    """Raise the refusal that a child sent: a class of ours and its sentence."""
    name, _, words = content.decode("utf-8", "replace").partition("\0")
    kind = getattr(errors, name, None)
    plain = isinstance(kind, type) and issubclass(kind, errors.BertvizError) and kind is not errors.MissingFilesError
    raise kind(words) if kind is not None and plain else errors.BertvizError(words)


def _mib(nbytes: int) -> str:
    return f"{nbytes / 1024**2:,.0f} MiB"
