"""Whose turn it is to run a model: one at a time, in the order of asking, each knowing how many are ahead."""

from collections import deque
from contextlib import AbstractContextManager
from threading import Condition, local
from types import TracebackType

from bertviz_core.errors import BusyError


class QueueTicket(AbstractContextManager["QueueTicket"]):
    """A place in the queue, given up at the end of its `with` block, whether its turn has come or not."""

    def __init__(self, queue: "RunQueue") -> None:
        """The last place of a queue."""
        self._queue = queue

    def wait(self, seconds: float | None = None) -> bool:
        """Whether its turn has come after at most so many seconds; without a number it waits as long as it takes."""
        return self._queue._wait(self, seconds)

    @property
    def ahead(self) -> int:
        """How many come first, the one that runs included; 0 when it is its turn."""
        return self._queue._ahead(self)

    def leave(self) -> None:
        """Give the place up; nothing happens where it was given up before."""
        self._queue._leave(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the place up."""
        self.leave()


class RunQueue:
    """A lock that is fair: `with queue:` waits behind all who asked before. May be used from many threads."""

    def __init__(self) -> None:
        """A queue that nobody stands in."""
        self._places: deque[QueueTicket] = deque()
        self._changed = Condition()
        self._mine = local()

    def place(self, most_waiting: int | None = None) -> QueueTicket:
        """The place behind all others.

        Args:
            most_waiting: how many may wait beside the one that runs; None for any number.

        Raises:
            BusyError: so many wait already.
        """
        with self._changed:
            waiting = len(self._places) - 1
            if most_waiting is not None and waiting >= most_waiting:
                runs = "1 run waits" if waiting == 1 else f"{waiting:,} runs wait"
                raise BusyError(
                    f"The model is busy: {runs} for it already, and no more may wait here; try again in a moment."
                )
            place = QueueTicket(self)
            self._places.append(place)
            return place

    def __enter__(self) -> None:
        """Wait for a turn."""
        self._mine.place = self.place()
        self._mine.place.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the turn."""
        self._leave(self._mine.place)

    def _wait(self, place: QueueTicket, seconds: float | None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._places[0] is place, seconds)

    def _ahead(self, place: QueueTicket) -> int:
        with self._changed:
            return self._places.index(place)

    def _leave(self, place: QueueTicket) -> None:
        with self._changed:
            if place in self._places:
                self._places.remove(place)
                self._changed.notify_all()
