"""A spare child process that has imported its libraries ahead of the first request."""

import subprocess
import weakref
from threading import Lock

from bertviz_core.isolation.child import SERVE
from bertviz_core.isolation.messages import read_frame, write_frame
from bertviz_core.isolation.run import ChildError, Limits, close_all, closed, command, started


class Spare:
    """A started child for the next worker of its kind; it is replaced when taken."""

    def __init__(self, task: str, limits: Limits) -> None:
        """Create a holder without a child.

        Args:
            task: dotted name of the function, one of bertviz_core.isolation.child.TASKS; an empty request makes it
                import its libraries.
        """
        self.task, self.limits = task, limits
        self._children: list[subprocess.Popen[bytes]] = []
        self._lock = Lock()
        weakref.finalize(self, close_all, self._children)

    def fill(self) -> None:
        """Start a child if there is none, and send it an empty request without waiting for the answer."""
        with self._lock:
            if not self._children:
                child = started([*command(self.task, self.limits), SERVE])
                self._children.append(child)
                write_frame(child, b"")

    def take(self) -> "subprocess.Popen[bytes] | None":
        """The child, once it is ready; None if there is none or it failed."""
        with self._lock:
            child = self._children.pop() if self._children else None
        if child is None:
            return None
        self.fill()
        try:
            _, status = read_frame(child, self.limits, lambda: True)
        except ChildError:
            status = 1
        if status is None:
            return child
        closed(child)
        return None
