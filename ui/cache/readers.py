"""Track which sessions wait for a job; a session counts while its browser is connected."""

from threading import Lock
from time import perf_counter
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from ui.cache.jobs import Job


class Reader:
    """A session, which waits for at most one job of each kind."""

    def __init__(self) -> None:
        """Create a connected reader who waits for nothing."""
        self.left_at: float | None = None
        self._jobs: WeakValueDictionary[str, Job[Any]] = WeakValueDictionary()
        self._lock = Lock()

    def wait_for(self, kind: str, job: Job[Any]) -> None:
        """Wait for a job instead of an earlier one of its kind, which ends unless another reader waits for it.

        Args:
            kind: kind of the work, such as "effects".
            job: the job.
        """
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
