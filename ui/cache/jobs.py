"""Run long computations as cancellable background jobs, on one board for the whole server.

A job runs in its own thread and is found by its key from any page and session, so the same work is done once. Long jobs
take turns; short ones do not wait for them. A job ends when all its readers have left.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable
from threading import Event, Lock, Thread
from time import perf_counter
from typing import Any, Generic, Literal, TypeVar
from weakref import WeakValueDictionary

import streamlit as st

from bertviz_core.errors import BertvizError, BusyError, SupersededError
from bertviz_core.resources import ByteCache, retained_nbytes
from ui.cache.figures import in_background, logged, results

State = Literal["waiting", "running", "done", "stopped", "left", "failed"]
"""A job is stopped when a reader cancels it, and left when its last reader has gone."""
T = TypeVar("T")
TURN_S = 0.1
"""How often a waiting job checks whether it was stopped, in seconds."""
SHORT = 512
"""By default a job of more steps waits for its turn."""
DESERTED_S = 10.0
"""Seconds that a job continues after its last reader has left, so that reloading a page does not end it."""


class Job(Generic[T]):
    """A computation of countable steps, such as sentences or bytes."""

    def __init__(self, total: int, work: "Callable[[Job[T]], T]", turn: "Lock | None", input_nbytes: int = 0) -> None:
        """Create a job without starting it.

        Args:
            work: computes the result. It is called with the job, reports progress by calling it with (done, total),
                which may raise, and may pass a partial result to `show`.
            turn: lock that the job holds while it runs; None for a short job.
            input_nbytes: bytes of the input.
        """
        self.input_nbytes = input_nbytes
        self.total, self.done = total, 0
        self.state: State = "waiting"
        self.error: Exception | None = None
        self.result: T | None = None
        self.so_far: T | None = None
        self._work, self._turn = work, turn
        self._stop, self._left, self._ended = Event(), Event(), Event()
        self._readers: tuple["Reader", ...] = ()
        self._readers_lock = Lock()
        self._began = self._finished = perf_counter()
        self._before: tuple[int, float] | None = None
        """Steps done at the first report of this part of the work, and the time of that report."""

    def start(self) -> None:
        """Start the thread."""
        Thread(target=self._run, name="job", daemon=True).start()

    def stop(self) -> None:
        """Ask the job to end at its next step."""
        self._stop.set()

    def join(self, reader: "Reader") -> None:
        """Add a reader who waits for the job."""
        with self._readers_lock:
            if reader not in self._readers and not self._ended.is_set():
                self._readers = (*self._readers, reader)

    def leave(self, reader: "Reader") -> None:
        """Remove a reader; the job is cancelled when none is left."""
        with self._readers_lock:
            had, self._readers = self._readers, tuple(each for each in self._readers if each is not reader)
            if had and not self._readers:
                self._left.set()

    def _is_needed(self) -> bool:
        """Whether the job was not stopped, and a reader is connected or has only just left."""
        left = [reader.left_at for reader in self._readers]
        gone = [at for at in left if at is not None]
        if gone and len(gone) == len(left) and perf_counter() - max(gone) > DESERTED_S:
            self._left.set()
        return not self._stop.is_set() and not self._left.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait at most this many seconds; returns whether the job has ended."""
        return self._ended.wait(seconds)

    @property
    def seconds(self) -> float:
        """Seconds that the job has been running."""
        return (self._finished if self._ended.is_set() else perf_counter()) - self._began

    @property
    def rate(self) -> float:
        """Steps per second of this part of the work, without steps that were already done, such as stored vectors."""
        if self._before is None:
            return 0.0
        before, at = self._before
        return (self.done - before) / max((self._finished if self._ended.is_set() else perf_counter()) - at, 1e-6)

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds left; None before the rate is known."""
        return (self.total - self.done) / self.rate if self.rate else None

    def __call__(self, done: int, total: int) -> None:
        """Report progress, as a `Progress`."""
        if self._before is None:
            self._before = done, self._began
        elif total != self.total or done < self.done:  # texts are run first, then heads are fitted to them
            self._before = done, perf_counter()
        self.done, self.total = done, total
        if not self._is_needed():
            raise SupersededError

    def show(self, so_far: T) -> None:
        """Set a partial result for the waiting readers; it is dropped when the job is done."""
        self.so_far = so_far

    def _run(self) -> None:
        in_background.set(True)
        try:
            self._take_turn()
            try:
                self.state, self._began = "running", perf_counter()
                self.result = self._work(self)
                self.done, self.so_far, self.state = self.total, None, "done"
            finally:
                if self._turn:
                    self._turn.release()
        except SupersededError:
            self.state = "stopped" if self._stop.is_set() else "left"
        except BertvizError as error:  # only its message is shown, and its traceback would keep a model in memory
            error.__cause__ = error.__context__ = None
            self.error, self.state = error.with_traceback(None), "failed"
        except Exception as error:  # shown on the page of each reader of the job
            self.error, self.state = error, "failed"
        finally:
            del self._work  # it refers to a model, which a finished job must not keep in memory
            self._readers = ()
            self._finished = perf_counter()
            self._ended.set()

    def _take_turn(self) -> None:
        while self._turn and not self._turn.acquire(timeout=TURN_S):
            if not self._is_needed():
                raise SupersededError


def duration(seconds: float) -> str:
    """A duration in words."""
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def steps_done(job: Job[Any], noun: str, with_rate: bool = True) -> str:
    """Steps of a job that are done, with their rate and the time left once they are known."""
    done, left = f"{job.done:,} of {job.total:,} {noun}", job.seconds_left
    if left is None:
        return done
    about = "about " if left >= 1 else ""
    rate = f"{job.rate:,.{int(job.rate < 10)}f} per second, " if with_rate else ""
    return f"{done}, {rate}{about}{duration(left)} left"


class JobBoard(Generic[T]):
    """All jobs of a server by their keys; thread-safe.

    Finished jobs are kept in the cache of results, which drops the least recently used. A job whose work caches its
    own result is dropped when it is done.
    """

    def __init__(self, long: int, nbytes: Callable[[T], int], finished: ByteCache) -> None:
        """Create a board without jobs.

        Args:
            long: by default a job of more steps waits for its turn.
            nbytes: returns the bytes of a result.
            finished: cache for finished jobs; the inputs of running jobs must fit into its budget, too.
        """
        self._long, self._nbytes, self._finished = long, nbytes, finished
        self._jobs: dict[Hashable, Job[T]] = {}
        self._lock = Lock()
        self._turns: defaultdict[str, Lock] = defaultdict(Lock)

    def find(self, key: Hashable) -> Job[T] | None:
        """Return the job of this key; None where there is none."""
        with self._lock:
            return self._find(key)

    def start(
        self,
        key: Hashable,
        total: int,
        work: Callable[[Job[T]], T],
        input_nbytes: int = 0,
        *,
        turns: str = "",
        long: int | None = None,
        caches_itself: bool = False,
    ) -> Job[T]:
        """Return the job of this key, starting it if there is none.

        The bytes of its input are reserved until it ends. A job of more than `long` steps waits for its turn in the
        queue `turns`.
        """

        def work_and_keep(job: Job[T]) -> T:
            with logged("job", turns.rpartition(".")[2] or "short", lambda: {"steps": total}):
                result = work(job)
            with self._lock:
                if not caches_itself:
                    self._finished.put((self, key), started, self._nbytes(result))
                if self._jobs.get(key) is started:
                    del self._jobs[key]
            return result

        with self._lock:
            job = self._find(key)
            if job is not None:
                return job
            self._make_room(input_nbytes)
            is_long = total > (self._long if long is None else long)
            started = Job(total, work_and_keep, self._turns[turns] if is_long else None, input_nbytes)
            self._jobs[key] = started
            started.start()
            return started

    def count(self, state: State) -> int:
        """Number of unfinished jobs in a state."""
        with self._lock:
            return sum(job.state == state for job in self._jobs.values())

    def forget(self, key: Hashable) -> None:
        """Drop a job, so that the next request starts it again."""
        with self._lock:
            self._jobs.pop(key, None)
            self._finished.pop((self, key))

    def _find(self, key: Hashable) -> Job[T] | None:
        job: Job[T] | None = self._jobs.get(key)
        if job is not None and job.state == "left":
            del self._jobs[key]
            job = None
        return job or self._finished.get((self, key))

    def _make_room(self, nbytes: int) -> None:
        """Drop results until the inputs of all running jobs fit into the budget."""
        going_on = sum(job.input_nbytes for job in self._jobs.values() if job.state in ("waiting", "running"))
        if going_on and going_on + nbytes > self._finished.max_nbytes:
            raise BusyError("This server works on other long lists of sentences; try again when they are done.")
        self._finished.make_room(going_on + nbytes)


@st.cache_resource(max_entries=1, show_spinner=False)
def board() -> JobBoard[Any]:
    """The board of this server."""
    return JobBoard(SHORT, retained_nbytes, results())


class Reader:
    """A session, which waits for at most one job of each kind."""

    def __init__(self) -> None:
        """Create a connected reader who waits for nothing."""
        self.left_at: float | None = None
        self._jobs: WeakValueDictionary[str, Job[Any]] = WeakValueDictionary()
        self._lock = Lock()

    def wait_for(self, kind: str, job: Job[Any]) -> None:
        """Wait for a job instead of an earlier one of its kind, which ends unless another reader waits for it."""
        with self._lock:
            before = self._jobs.get(kind)
            self._jobs[kind] = job
        job.join(self)
        if before is not None and before is not job:
            before.leave(self)

    def leave(self) -> None:
        """Mark the reader as gone; jobs without another reader end some seconds later."""
        self.left_at = perf_counter()


@st.cache_resource(scope="session", on_release=Reader.leave, show_spinner=False)
def this_reader() -> Reader:
    """The reader of this session; a session that reconnects gets a new one."""
    return Reader()
