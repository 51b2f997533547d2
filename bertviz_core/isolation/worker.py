"""A child process that serves many requests, and is restarted on demand."""

import subprocess
import weakref
from collections import OrderedDict
from threading import Lock, Thread

from bertviz_core import errors
from bertviz_core.isolation.child import SERVE
from bertviz_core.isolation.messages import read_frame, write_frame
from bertviz_core.isolation.run import ChildError, IsNeeded, Limits, answer_of, close_all, command, started
from bertviz_core.isolation.warm_child import Spare

IDLE_WORKERS = 2
"""Idle children in addition to those that may run at once."""
_USED: "OrderedDict[int, weakref.ref[Worker]]" = OrderedDict()
_USED_LOCK = Lock()


class Worker:
    """A child that is prepared by a first request; after it was killed, a new one is prepared in the same way.

    Only the workers used last keep their child, as many as the limits allow plus IDLE_WORKERS.
    """

    def __init__(self, task: str, prepare: bytes, limits: Limits, spare: Spare | None = None) -> None:
        """Create a worker; the first request starts its child.

        Args:
            prepare: the first request to each child.
            limits: limits of a child; its seconds apply to each request.
            spare: holds a started child of the same task and limits.
        """
        self._task, self._prepare, self._limits, self._spare = task, prepare, limits, spare
        self._lock = Lock()
        self._children: list[subprocess.Popen[bytes]] = []
        weakref.finalize(self, close_all, self._children)

    def prepared(self) -> bytes:
        """Start a child and return its answer to the first request."""
        with self._lock:
            close_all(self._children)
            return self._start()

    def ask(self, request: bytes, is_needed: IsNeeded | None = None) -> bytes:
        """Send a request and return the answer."""
        with self._lock:
            if not self._children or self._children[0].poll() is not None:
                close_all(self._children)
                self._start()
            _note(self, self._limits.children + IDLE_WORKERS)
            return self._exchange(request, is_needed or (lambda: True))

    def end(self) -> None:
        """Kill the child unless it is busy; the next request starts another."""
        if self._lock.acquire(blocking=False):
            try:
                close_all(self._children)
            finally:
                self._lock.release()

    def _start(self) -> bytes:
        spare = self._spare.take() if self._spare else None
        self._children.append(spare or started([*command(self._task, self._limits), SERVE]))
        try:
            return self._exchange(self._prepare, lambda: True)
        except BaseException:
            close_all(self._children)
            raise

    def _exchange(self, request: bytes, is_needed: IsNeeded) -> bytes:
        child = self._children[0]
        writer = Thread(target=write_frame, args=(child, request), daemon=True)
        writer.start()
        try:
            written, status = read_frame(child, self._limits, is_needed)
            if status is None:
                return answer_of(written, 0, self._limits)
        except (ChildError, errors.SupersededError):
            close_all(self._children)
            raise
        finally:
            if child.poll() is not None:
                writer.join()
        close_all(self._children)
        return answer_of(written, status, self._limits)


def _note(worker: Worker, most: int) -> None:
    """Mark a worker as used last, and end the children of those used longest ago."""
    with _USED_LOCK:
        _USED[id(worker)] = weakref.ref(worker)
        _USED.move_to_end(id(worker))
        older = [_USED.popitem(last=False)[1] for _ in range(len(_USED) - most)]
    for each in older:
        if (other := each()) is not None:
            other.end()
