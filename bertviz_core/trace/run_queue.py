"""A first-come, first-served queue for runs of a model, with the position of each waiting run."""

from collections import deque
from contextlib import AbstractContextManager
from threading import Condition, local
from types import TracebackType

from bertviz_core.errors import BusyError


class QueueTicket(AbstractContextManager["QueueTicket"]):
    """A place in the queue; it is given up at the end of its `with` block."""

    def __init__(self, queue: "RunQueue") -> None:
        """Join the end of a queue."""
        self._queue = queue

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its turn; returns whether it came within this many seconds (None waits without limit)."""
        return self._queue._wait(self, seconds)

    @property
    def ahead(self) -> int:
        """Number of tickets ahead, including the running one."""
        return self._queue._ahead(self)

    def leave(self) -> None:
        """Leave the queue; a second call has no effect."""
        self._queue._leave(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the queue."""
        self.leave()


class RunQueue:
    """A fair lock: `with queue:` waits for all earlier tickets."""

    def __init__(self) -> None:
        """An empty queue."""
        self._places: deque[QueueTicket] = deque()
        self._changed = Condition()
        self._mine = local()

    def place(self, most_waiting: int | None = None) -> QueueTicket:
        """A new ticket at the end of the queue.

        Args:
            most_waiting: how many tickets may wait, not counting the running one; None for any number.

        Raises:
            BusyError: that many tickets are waiting already.
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

    @property
    def length(self) -> int:
        """Number of tickets, including the running one."""
        with self._changed:
            return len(self._places)

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
