"""A child under limits that stays: it answers one request after the other, can be ended, and comes back when asked."""

import os
import select
import subprocess
import weakref
from collections import OrderedDict
from contextlib import suppress
from threading import Lock, Thread
from time import monotonic

from bertviz_core import errors
from bertviz_core.sandbox.child import FRAME, SERVE
from bertviz_core.sandbox.run import (
    CHUNK_NBYTES,
    STEP_S,
    ChildError,
    Limits,
    Wanted,
    answer_of,
    command,
    ended,
    started,
    too_long,
)

IDLE_WORKERS = 2
"""How many more children may wait for a request than may read files at once."""
_USED: "OrderedDict[int, weakref.ref[Worker]]" = OrderedDict()
_USED_LOCK = Lock()


class Worker:
    """A child that keeps what its first request prepared; a new one is prepared alike where it had to be ended.

    Of all workers those used last keep their child, as many as the limits allow and a few that wait.
    """

    def __init__(self, task: str, prepare: bytes, limits: Limits) -> None:
        """A worker without a child; the first request starts it.

        Args:
            task: the function's dotted name, one of bertviz_core.sandbox.child.TASKS.
            prepare: the request that each child is given first.
            limits: what a child may take; its seconds count for each request anew.
        """
        self._task, self._prepare, self._limits = task, prepare, limits
        self._lock = Lock()
        self._children: list[subprocess.Popen[bytes]] = []
        weakref.finalize(self, _end_all, self._children)

    def prepared(self) -> bytes:
        """The answer to the request that prepares a child, which is started for that.

        Raises:
            ChildError: there is none: why.
            BertvizError: what the function refused, as it said it.
        """
        with self._lock:
            _end_all(self._children)
            return self._start()

    def ask(self, request: bytes, still_wanted: Wanted | None = None) -> bytes:
        """The answer to a request.

        Raises:
            ChildError: there is no answer: why. The child is ended; the next request starts another.
            BertvizError: what the function refused, as it said it.
            SupersededError: the answer is no longer wanted.
        """
        with self._lock:
            if not self._children or self._children[0].poll() is not None:
                _end_all(self._children)
                self._start()
            _note(self, self._limits.children + IDLE_WORKERS)
            return self._exchange(request, still_wanted or (lambda: True))

    def end(self) -> None:
        """End the child, unless it is at work; the next request starts another."""
        if self._lock.acquire(blocking=False):
            try:
                _end_all(self._children)
            finally:
                self._lock.release()

    def _start(self) -> bytes:
        self._children.append(started([*command(self._task, self._limits), SERVE]))
        try:
            return self._exchange(self._prepare, lambda: True)
        except BaseException:
            _end_all(self._children)
            raise

    def _exchange(self, request: bytes, wanted: Wanted) -> bytes:
        child = self._children[0]
        writer = Thread(target=_write, args=(child, request), daemon=True)
        writer.start()
        try:
            written, status = _frame(child, self._limits, wanted)
            if status is None:
                return answer_of(written, 0, self._limits)
        except (ChildError, errors.SupersededError):
            _end_all(self._children)
            raise
        finally:
            if child.poll() is not None:
                writer.join()
        _end_all(self._children)
        return answer_of(written, status, self._limits)


def _note(worker: Worker, most: int) -> None:
    """Put a worker last in the order of use; those used longest ago lose their child."""
    with _USED_LOCK:
        _USED[id(worker)] = weakref.ref(worker)
        _USED.move_to_end(id(worker))
        older = [_USED.popitem(last=False)[1] for _ in range(len(_USED) - most)]
    for each in older:
        if (other := each()) is not None:
            other.end()


def _end_all(children: "list[subprocess.Popen[bytes]]") -> None:
    while children:
        child = children.pop()
        ended(child)
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                pipe.close() if pipe else None


def _write(child: "subprocess.Popen[bytes]", request: bytes) -> None:
    with suppress(OSError, ValueError):  # a child that has ended needs no more of it
        if child.stdin:
            child.stdin.write(len(request).to_bytes(FRAME, "big") + request)
            child.stdin.flush()


def _frame(child: "subprocess.Popen[bytes]", limits: Limits, wanted: Wanted) -> tuple[bytes, int | None]:
    """One answer, and the exit status of a child that ended before it was whole; None for one that goes on."""
    output = child.stdout.fileno() if child.stdout else -1
    poll = select.poll()
    poll.register(output, select.POLLIN | select.POLLHUP)
    answer, until = bytearray(), monotonic() + limits.wall_s
    while len(answer) < FRAME or len(answer) < FRAME + int.from_bytes(answer[:FRAME], "big"):
        if poll.poll(STEP_S * 1000):
            chunk = os.read(output, CHUNK_NBYTES)
            if not chunk:
                return bytes(answer[FRAME:]), child.wait()
            answer += chunk
        if not wanted():
            raise errors.SupersededError
        if monotonic() > until:
            raise too_long(limits)
        if len(answer) > FRAME + limits.answer_nbytes + 1:
            break
    return bytes(answer[FRAME:]), None
