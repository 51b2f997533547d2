"""A child ahead of need: it has its libraries imported before the first request comes that waits for them."""

import subprocess
import weakref
from threading import Lock

from bertviz_core.isolation.child import SERVE
from bertviz_core.isolation.messages import read_frame, write_frame
from bertviz_core.isolation.run import ChildError, Limits, closed, command, started


class Spare:
    """One child that serves, for the next worker of its kind; another takes its place when it is taken."""

    def __init__(self, task: str, limits: Limits) -> None:
        """No child yet.

        Args:
            task: the function's dotted name, one of bertviz_core.isolation.child.TASKS; it imports its libraries when
                it is given an empty request.
            limits: what the child may take.
        """
        self.task, self.limits = task, limits
        self._children: list[subprocess.Popen[bytes]] = []
        self._lock = Lock()
        weakref.finalize(self, _close_all, self._children)

    def fill(self) -> None:
        """Start a child where there is none, and give it the empty request; its answer is not waited for."""
        with self._lock:
            if not self._children:
                child = started([*command(self.task, self.limits), SERVE])
                self._children.append(child)
                write_frame(child, b"")

    def taken(self) -> "subprocess.Popen[bytes] | None":
        """The child, once it is ready; None where there is none, or it came to no good end."""
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


def _close_all(children: "list[subprocess.Popen[bytes]]") -> None:
    while children:
        closed(children.pop())
