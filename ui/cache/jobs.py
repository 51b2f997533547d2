"""Long work that goes on while its reader looks at another page: one board of jobs for the whole server.

A job runs in a thread of its own and is found again by its key, from any page and any session; so what two readers
want is computed once. Long jobs take turns; short ones do not wait for them. One whose readers have all left ends.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable
from threading import Event, Lock, Thread
from time import perf_counter
from typing import Any, Generic, Literal, Protocol, TypeVar

import streamlit as st

from bertviz_core.errors import BertvizError, BusyError, SupersededError
from bertviz_core.questions.byte_cache import ByteCache, retained_nbytes
from ui.cache.memoize import results

State = Literal["waiting", "running", "done", "stopped", "left", "failed"]
"""Stopped is one that a reader has cancelled, left one that nobody waited for any longer."""
T = TypeVar("T")
TURN_S = 0.1
"""How often a job that waits for its turn looks whether it was stopped."""
SHORT = 512
"""A job of more steps waits for its turn, where nothing else is said of it."""
DESERTED_S = 10.0
"""How long a job goes on after its last reader has left: who reloads a page is there again before."""


class Waiting(Protocol):
    """One who waits for a job."""

    left_at: float | None
    """When that one left, by perf_counter; None while there."""


class Job(Generic[T]):
    """One piece of work of countable steps, such as sentences or bytes."""

    def __init__(self, total: int, work: "Callable[[Job[T]], T]", turn: "Lock | None", given_nbytes: int = 0) -> None:
        """A job that has not begun.

        Args:
            total: steps in all.
            work: makes the result; it is given the job, which must be called with (done, total) and may raise, and to
                which it may show what there is so far.
            turn: held while the job runs; None for a short one.
            given_nbytes: bytes of what it works on.
        """
        self.given_nbytes = given_nbytes
        self.total, self.done = total, 0
        self.state: State = "waiting"
        self.error: Exception | None = None
        self.result: T | None = None
        self.so_far: T | None = None
        self._work, self._turn = work, turn
        self._stop, self._left, self._ended = Event(), Event(), Event()
        self._readers: tuple[Waiting, ...] = ()
        self._readers_lock = Lock()
        self._began = self._finished = perf_counter()
        self._before: tuple[int, float] | None = None
        """Steps that were done when this part of the work was first told of, and when that was."""

    def start(self) -> None:
        """Begin, in a thread of its own."""
        Thread(target=self._run, name="job", daemon=True).start()

    def stop(self) -> None:
        """Ask it to end at its next step."""
        self._stop.set()

    def join(self, reader: Waiting) -> None:
        """Have one more who waits for it."""
        with self._readers_lock:
            if reader not in self._readers and not self._ended.is_set():
                self._readers = (*self._readers, reader)

    def leave(self, reader: Waiting) -> None:
        """Have one less; where none is left it is asked to end."""
        with self._readers_lock:
            had, self._readers = self._readers, tuple(each for each in self._readers if each is not reader)
            if had and not self._readers:
                self._left.set()

    def _is_wanted(self) -> bool:
        """Whether it was not stopped, and one of its readers is there or has only just left."""
        left = [reader.left_at for reader in self._readers]
        gone = [at for at in left if at is not None]
        if gone and len(gone) == len(left) and perf_counter() - max(gone) > DESERTED_S:
            self._left.set()
        return not self._stop.is_set() and not self._left.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended after at most so many seconds."""
        return self._ended.wait(seconds)

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return (self._finished if self._ended.is_set() else perf_counter()) - self._began

    @property
    def rate(self) -> float:
        """Steps per second of this part, without those that were done before, such as vectors from the store."""
        if self._before is None:
            return 0.0
        before, at = self._before
        return (self.done - before) / max((self._finished if self._ended.is_set() else perf_counter()) - at, 1e-6)

    @property
    def seconds_left(self) -> float | None:
        """What it will still take at this rate; None before there is one."""
        return (self.total - self.done) / self.rate if self.rate else None

    def __call__(self, done: int, total: int) -> None:
        """As a Progress of the work: how far it is.

        Raises:
            SupersededError: the job was stopped, or its readers have left.
        """
        if self._before is None:
            self._before = done, self._began
        elif total != self.total or done < self.done:  # texts are run, then heads are fitted to them
            self._before = done, perf_counter()
        self.done, self.total = done, total
        if not self._is_wanted():
            raise SupersededError

    def show(self, so_far: T) -> None:
        """The result as far as it is known, for those who wait; it is let go when the job is done."""
        self.so_far = so_far

    def _run(self) -> None:
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
        except BertvizError as error:  # its sentence is all of it; its traceback holds what it came from: a model
            error.__cause__ = error.__context__ = None
            self.error, self.state = error.with_traceback(None), "failed"
        except Exception as error:  # shown to whoever looks at the job, on their page
            self.error, self.state = error, "failed"
        finally:
            del self._work  # it holds a model too, which a job that has ended is not to keep in memory
            self._readers = ()
            self._finished = perf_counter()
            self._ended.set()

    def _take_turn(self) -> None:
        while self._turn and not self._turn.acquire(timeout=TURN_S):
            if not self._is_wanted():
                raise SupersededError


class JobBoard(Generic[T]):
    """All jobs of a server by their keys; may be used from many threads.

    Jobs that are done are held by the cache that other results share, where those used longest ago make room; those
    whose results are kept there by themselves are let go.
    """

    def __init__(self, long: int, nbytes: Callable[[T], int], finished: ByteCache) -> None:
        """A board without jobs.

        Args:
            long: a job of more steps waits for its turn.
            nbytes: bytes that a result takes, with all that it holds.
            finished: holds the jobs that are done; what others work on must fit into its budget too.
        """
        self._long, self._nbytes, self._finished = long, nbytes, finished
        self._jobs: dict[Hashable, Job[T]] = {}
        self._lock = Lock()
        self._turns: defaultdict[str, Lock] = defaultdict(Lock)

    def find(self, key: Hashable) -> Job[T] | None:
        """The job of this key; None where there is none."""
        with self._lock:
            return self._find(key)

    def start(
        self,
        key: Hashable,
        total: int,
        work: Callable[[Job[T]], T],
        given_nbytes: int = 0,
        *,
        turns: str = "",
        long: int | None = None,
        kept: bool = False,
    ) -> Job[T]:
        """The job of this key, begun if there is none.

        Args:
            key: names the job.
            total: steps in all.
            work: as Job.
            given_nbytes: bytes of what it works on, held until it ends.
            turns: with which others a long job takes turns.
            long: a job of more steps is one; that of the board by default.
            kept: whether the work itself keeps its result where others find it, so that the job need not.

        Raises:
            BusyError: what other jobs still work on leaves no room for it.
        """

        def work_and_keep(job: Job[T]) -> T:
            result = work(job)
            with self._lock:
                if not kept:
                    self._finished.put((self, key), started, self._nbytes(result))
                if self._jobs.get(key) is started:
                    del self._jobs[key]
            return result

        with self._lock:
            job = self._find(key)
            if job is not None:
                return job
            self._make_room(given_nbytes)
            is_long = total > (self._long if long is None else long)
            started = Job(total, work_and_keep, self._turns[turns] if is_long else None, given_nbytes)
            self._jobs[key] = started
            started.start()
            return started

    def forget(self, key: Hashable) -> None:
        """Let the next one who asks begin anew."""
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
        """Let go of results until what is worked on fits beside them."""
        going_on = sum(job.given_nbytes for job in self._jobs.values() if job.state in ("waiting", "running"))
        if going_on and going_on + nbytes > self._finished.max_nbytes:
            raise BusyError("This server works on other long lists of sentences; try again when they are done.")
        self._finished.make_room(going_on + nbytes)


@st.cache_resource(max_entries=1, show_spinner=False)
def board() -> JobBoard[Any]:
    """All long work of this server."""
    return JobBoard(SHORT, retained_nbytes, results())
