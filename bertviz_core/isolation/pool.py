"""The children that stay, and what came of their work: answers and refusals, kept for whoever asks the same again."""

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

KEPT, KEPT_NBYTES = 1024, 16 * 1024**2
"""Verdicts that are kept, and the bytes of their answers together; a sentence each, or 5 kB for 12 layers."""


class Pool:
    """Workers of one task, any of which can answer; each has a folder of its own that it may write to."""

    def __init__(self, task: str, limits: Limits, prepare: Callable[[Path], bytes], busy: str) -> None:
        """No process yet; the first request starts one.

        Args:
            task: the function's dotted name, one of bertviz_core.isolation.child.TASKS.
            limits: what a process may take, and how many there are.
            prepare: the request that a process is given first, from the folder that it may write to.
            busy: the sentence for those who find all of them at work for longer than a request may take.
        """
        self._wait_s, self._busy = limits.wall_s, busy
        # The one used last is taken first: it has its libraries in memory.
        self._workers: LifoQueue[Worker] = LifoQueue()
        self._scratch = TemporaryDirectory(prefix="inside-bert-", ignore_cleanup_errors=True)
        for number in range(limits.children):
            folder = Path(self._scratch.name) / str(number)
            folder.mkdir()
            self._workers.put(Worker(task, prepare(folder), limits))

    def ask(self, request: bytes) -> bytes:
        """The answer of the first process that is free.

        Raises:
            ChildError: there is no answer: why.
            BertvizError: what the function refused, as it said it.
            BusyError: all processes are at work for longer than a request may take.
        """
        worker = self._taken()
        try:
            return worker.ask(request)
        finally:
            self._workers.put(worker)

    def warm(self) -> None:
        """Start a process and have it import its libraries, which the first request would wait for."""
        worker = self._taken()
        try:
            worker.prepared()
        except (ChildError, errors.BertvizError):
            return  # the first request tells its reader
        finally:
            self._workers.put(worker)

    def _taken(self) -> Worker:
        try:
            return self._workers.get(timeout=self._wait_s)
        except Empty:
            raise errors.BusyError(self._busy) from None


@lru_cache(maxsize=16)
def spare_of(task: str, limits: Limits) -> Spare:
    """Where a child of a task under limits may stand ready; empty until it is filled."""
    return Spare(task, limits)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a request."""

    answer: bytes
    """What the process told; empty where it refused."""
    refusal: errors.BertvizError | None
    """Why it told nothing."""


class Verdicts:
    """Answers and refusals by what was asked; those used longest ago make room."""

    def __init__(self) -> None:
        """None yet."""
        self._kept: OrderedDict[Hashable, Verdict] = OrderedDict()
        self._lock = Lock()

    def of(
        self,
        key: Hashable,
        ask: Callable[[], bytes],
        why: Callable[[ChildError], errors.BertvizError],
        refusals_alone: bool = False,
    ) -> bytes:
        """The answer to a request, which is not asked again where the verdict is kept.

        Args:
            key: what the answer follows from.
            ask: asks a child.
            why: the refusal where a child came to no answer.
            refusals_alone: whether each answer is asked for anew, because a child keeps more than it answers. A child
                that took too long is then refused for good; else the clock alone is no verdict, since it says as much
                of the machine.

        Raises:
            BertvizError: the refusal.
        """
        with self._lock:
            verdict = self._kept.get(key)
        if verdict is None:
            try:
                verdict = Verdict(ask(), None)
            except errors.BusyError:
                raise
            except errors.BertvizError as error:
                verdict = Verdict(b"", error)
            except ChildError as error:
                verdict = Verdict(b"", why(error))
                if isinstance(error, ChildTimeoutError) and not refusals_alone:
                    raise why(error) from error
            if verdict.refusal is not None or not refusals_alone:
                self._keep(key, verdict)
        if verdict.refusal is not None:
            raise type(verdict.refusal)(*verdict.refusal.args)
        return verdict.answer

    def _keep(self, key: Hashable, verdict: Verdict) -> None:
        with self._lock:
            self._kept[key] = verdict
            while len(self._kept) > KEPT or sum(len(each.answer) for each in self._kept.values()) > KEPT_NBYTES:
                self._kept.popitem(last=False)


VERDICTS = Verdicts()
"""Of all requests whose answer follows from what was asked, in this process."""
