"""Pools of child processes, and a cache of their answers and failures."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from queue import Empty, LifoQueue
from tempfile import TemporaryDirectory
from threading import Lock

from bertviz_core import errors
from bertviz_core.isolation.run import ChildError, ChildTimeoutError, Limits
from bertviz_core.isolation.warm_child import Spare
from bertviz_core.isolation.worker import Worker

MAX_VERDICTS, MAX_VERDICTS_NBYTES = 1024, 16 * 1024**2
"""Maximum number of cached verdicts, and of the bytes of their answers."""


class Pool:
    """Workers of a task; each has a folder of its own that it may write to."""

    def __init__(self, task: str, limits: Limits, prepare: Callable[[Path], bytes], busy: str) -> None:
        """Create a pool; processes are started on demand.

        Args:
            limits: limits of a process, and the number of processes.
            prepare: returns the first request to a process for its folder.
            busy: message of BusyError.
        """
        self._wait_s, self._busy = limits.wall_s, busy
        # Last in, first out: the worker used last has its libraries in memory.
        self._workers: LifoQueue[Worker] = LifoQueue()
        self._scratch = TemporaryDirectory(prefix="inside-bert-", ignore_cleanup_errors=True)
        for number in range(limits.children):
            folder = Path(self._scratch.name) / str(number)
            folder.mkdir()
            self._workers.put(Worker(task, prepare(folder), limits))

    def ask(self, request: bytes) -> bytes:
        """Send a request to the first free process and return its answer."""
        worker = self._acquire()
        try:
            return worker.ask(request)
        finally:
            self._workers.put(worker)

    def warm(self) -> None:
        """Start a process and import its libraries ahead of the first request."""
        worker = self._acquire()
        try:
            worker.prepared()
        except (ChildError, errors.BertvizError):
            return  # the first request reports it
        finally:
            self._workers.put(worker)

    def _acquire(self) -> Worker:
        try:
            return self._workers.get(timeout=self._wait_s)
        except Empty:
            raise errors.BusyError(self._busy) from None


@lru_cache(maxsize=16)
def spare_of(task: str, limits: Limits) -> Spare:
    """The spare child of a task under limits; not started until it is filled."""
    return Spare(task, limits)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a request."""

    answer: bytes
    """The answer; empty after a failure."""
    refusal: errors.BertvizError | None
    """The failure."""


class Verdicts:
    """Cache of answers and failures by request; the oldest are dropped."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._cached: OrderedDict[Hashable, Verdict] = OrderedDict()
        self._lock = Lock()

    def of(
        self,
        key: Hashable,
        ask: Callable[[], bytes],
        as_error: Callable[[ChildError], errors.BertvizError],
        failures_only: bool = False,
    ) -> bytes:
        """The cached or new answer to a request.

        Args:
            key: identifies the request.
            ask: sends the request to a child.
            as_error: the error for the user if a child failed to answer.
            failures_only: whether to cache only failures, because a child keeps state besides its answer. Timeouts are
                cached only then, since they also depend on the load of the machine.
        """
        with self._lock:
            verdict = self._cached.get(key)
        if verdict is None:
            try:
                verdict = Verdict(ask(), None)
            except errors.BusyError:
                raise
            except errors.BertvizError as error:
                verdict = Verdict(b"", error)
            except ChildError as error:
                verdict = Verdict(b"", as_error(error))
                if isinstance(error, ChildTimeoutError) and not failures_only:
                    raise as_error(error) from error
            if verdict.refusal is not None or not failures_only:
                self._keep(key, verdict)
        if verdict.refusal is not None:
            raise type(verdict.refusal)(*verdict.refusal.args)
        return verdict.answer

    def _keep(self, key: Hashable, verdict: Verdict) -> None:
        with self._lock:
            self._cached[key] = verdict
            while len(self._cached) > MAX_VERDICTS or self._nbytes() > MAX_VERDICTS_NBYTES:
                self._cached.popitem(last=False)

    def _nbytes(self) -> int:
        return sum(len(verdict.answer) for verdict in self._cached.values())


VERDICTS = Verdicts()
"""The cache of this process."""
