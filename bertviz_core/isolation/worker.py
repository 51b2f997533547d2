"""A child under limits that stays: it answers one request after the other, can be ended, and comes back when asked."""

import subprocess
import weakref
from collections import OrderedDict
from threading import Lock, Thread

from bertviz_core import errors
from bertviz_core.isolation.child import SERVE
from bertviz_core.isolation.messages import read_frame, write_frame
from bertviz_core.isolation.run import ChildError, Limits, Wanted, answer_of, closed, command, started
from bertviz_core.isolation.warm_child import Spare

IDLE_WORKERS = 2
"""How many more children may wait for a request than may read files at once."""
_USED: "OrderedDict[int, weakref.ref[Worker]]" = OrderedDict()
_USED_LOCK = Lock()


class Worker:
    """A child that keeps what its first request prepared; a new one is prepared alike where it had to be ended.

    Of all workers those used last keep their child, as many as the limits allow and a few that wait.
    """

    def __init__(self, task: str, prepare: bytes, limits: Limits, spare: Spare | None = None) -> None:
        """A worker without a child; the first request starts it.

        Args:
            task: the function's dotted name, one of bertviz_core.isolation.child.TASKS.
            prepare: the request that each child is given first.
            limits: what a child may take; its seconds count for each request anew.
            spare: where a child of the same task and limits may stand ready.
        """
        self._task, self._prepare, self._limits, self._spare = task, prepare, limits, spare
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
        spare = self._spare.taken() if self._spare else None
        self._children.append(spare or started([*command(self._task, self._limits), SERVE]))
        try:
            return self._exchange(self._prepare, lambda: True)
        except BaseException:
            _end_all(self._children)
            raise

    def _exchange(self, request: bytes, wanted: Wanted) -> bytes:
        child = self._children[0]
        writer = Thread(target=write_frame, args=(child, request), daemon=True)
        writer.start()
        try:
            written, status = read_frame(child, self._limits, wanted)
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
        closed(children.pop())
