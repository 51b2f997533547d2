"""Who waits for long work: a reader is a session for as long as its browser is connected to it."""

from threading import Lock
from time import perf_counter
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from ui.cache.jobs import Job


class Reader:
    """One session. It waits for one job of a kind: another that it asks for takes the place of the one before."""

    def __init__(self) -> None:
        """A reader who is there and waits for nothing."""
        self.left_at: float | None = None
        self._jobs: WeakValueDictionary[str, Job[Any]] = WeakValueDictionary()
        self._lock = Lock()

    def wait_for(self, kind: str, job: Job[Any]) -> None:
        """Wait for a job, and no longer for an earlier one of its kind, which ends where nobody else waits for it.

        Args:
            kind: what the work is, such as "effects".
            job: the job.
        """
        with self._lock:
            before = self._jobs.get(kind)
            self._jobs[kind] = job
        job.join(self)
        if before is not None and before is not job:
            before.leave(self)

    def leave(self) -> None:
        """Be gone: what nobody else waits for ends some seconds later."""
        self.left_at = perf_counter()


@st.cache_resource(scope="session", on_release=Reader.leave, show_spinner=False)
def this_reader() -> Reader:
    """The reader of this session; a session whose connection breaks off and comes back has another."""
    return Reader()
