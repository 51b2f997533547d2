"""Long work that goes on while its reader looks at another page: one board of jobs for the whole server.

A job runs in a thread of its own and is found again by its key, from any page and any session; so what two readers
want is computed once. Long jobs take turns; short ones do not wait for them.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Event, Lock, Thread
from time import perf_counter
from typing import Generic, Literal, TypeVar

from bertviz_core.errors import BertvizError, BusyError, SupersededError
from bertviz_core.progress import Progress

State = Literal["waiting", "running", "done", "stopped", "failed"]
T = TypeVar("T")
TURN_S = 0.1
"""How often a job that waits for its turn looks whether it was stopped."""
MAX_NBYTES = 512 * 1024**2
"""Bytes of results that are kept at hand; those used longest ago go first."""


class Job(Generic[T]):
    """One piece of work of countable steps, such as sentences or bytes."""

    def __init__(self, total: int, work: Callable[[Progress], T], turn: "Lock | None", given_nbytes: int = 0) -> None:
        """A job that has not begun.

        Args:
            total: steps in all.
            work: makes the result; what it is given must be called with (done, total) and may raise.
            turn: held while the job runs; None for a short one.
            given_nbytes: bytes of what it works on.
        """
        self.given_nbytes = given_nbytes
        self.total, self.done = total, 0
        self.state: State = "waiting"
        self.error: Exception | None = None
        self.result: T | None = None
        self._work, self._turn = work, turn
        self._stop, self._ended = Event(), Event()
        self._began = self._finished = perf_counter()
        self._before: int | None = None

    def start(self) -> None:
        """Begin, in a thread of its own."""
        Thread(target=self._run, name="job", daemon=True).start()

    def stop(self) -> None:
        """Ask it to end at its next step."""
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended after at most so many seconds."""
        return self._ended.wait(seconds)

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return (self._finished if self._ended.is_set() else perf_counter()) - self._began

    @property
    def rate(self) -> float:
        """Steps per second so far, without those that were done before, such as vectors from the store."""
        return (self.done - (self._before or 0)) / max(self.seconds, 1e-6)

    @property
    def seconds_left(self) -> float | None:
        """What it will still take at this rate; None before there is one."""
        return (self.total - self.done) / self.rate if self.rate else None

    def _tell(self, done: int, total: int) -> None:
        if self._before is None:
            self._before = done
        self.done, self.total = done, total
        if self._stop.is_set():
            raise SupersededError

    def _run(self) -> None:
        try:
            self._take_turn()
            try:
                self.state, self._began = "running", perf_counter()
                self.result = self._work(self._tell)
                self.done, self.state = self.total, "done"
            finally:
                if self._turn:
                    self._turn.release()
        except SupersededError:
            self.state = "stopped"
        except BertvizError as error:  # its sentence is all of it; its traceback holds what it came from: a model
            error.__cause__ = error.__context__ = None
            self.error, self.state = error.with_traceback(None), "failed"
        except Exception as error:  # shown to whoever looks at the job, on their page
            self.error, self.state = error, "failed"
        finally:
            del self._work  # it holds a model too, which a job that has ended is not to keep in memory
            self._finished = perf_counter()
            self._ended.set()

    def _take_turn(self) -> None:
        while self._turn and not self._turn.acquire(timeout=TURN_S):
            if self._stop.is_set():
                raise SupersededError


class JobBoard(Generic[T]):
    """All jobs of a server by their keys; may be used from many threads."""

    def __init__(self, long: int, nbytes: Callable[[T], int], max_nbytes: int = MAX_NBYTES) -> None:
        """A board without jobs.

        Args:
            long: a job of more sentences waits for its turn.
            nbytes: bytes that a result takes, with all that it holds.
            max_nbytes: bytes of results that are kept.
        """
        self._long, self._nbytes, self._max_nbytes = long, nbytes, max_nbytes
        self._jobs: OrderedDict[str, Job[T]] = OrderedDict()
        self._lock, self._turn = Lock(), Lock()

    def find(self, key: str) -> Job[T] | None:
        """The job of this key; None where there is none."""
        with self._lock:
            if key in self._jobs:
                self._jobs.move_to_end(key)
            return self._jobs.get(key)

    def start(self, key: str, total: int, work: Callable[[Progress], T], given_nbytes: int = 0) -> Job[T]:
        """The job of this key, begun if there is none.

        Args:
            key: names the job.
            total: steps in all.
            work: as Job.
            given_nbytes: bytes of what it works on, held until it ends.

        Raises:
            BusyError: what other jobs still work on leaves no room for it.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                self._check_room(given_nbytes)
                turn = self._turn if total > self._long else None
                job = self._jobs[key] = Job(total, work, turn, given_nbytes)
                job.start()
            self._jobs.move_to_end(key)
            self._make_room()
            return job

    def forget(self, key: str) -> None:
        """Let the next one who asks begin anew."""
        with self._lock:
            self._jobs.pop(key, None)

    def _check_room(self, nbytes: int) -> None:
        going_on = sum(job.given_nbytes for job in self._jobs.values() if job.state in ("waiting", "running"))
        if going_on and going_on + nbytes > self._max_nbytes:
            raise BusyError("This server works on other long lists of sentences; try again when they are done.")

    def _make_room(self) -> None:
        """Drop finished jobs, those used longest ago first, until the results fit; the newest always stays."""
        held = sum(self._held(job) for job in self._jobs.values())
        for key in list(self._jobs)[:-1]:
            if held <= self._max_nbytes:
                return
            if self._jobs[key].result is not None:
                held -= self._held(self._jobs.pop(key))

    def _held(self, job: Job[T]) -> int:
        if job.result is not None:
            return self._nbytes(job.result)
        return job.given_nbytes if job.state in ("waiting", "running") else 0
