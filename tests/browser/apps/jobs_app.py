"""A job that runs until its readers leave, for the test of readers; ?look only shows its state."""

from threading import Event

import streamlit as st

from bertviz_core.resources import ByteCache
from ui.cache import jobs
from ui.cache.jobs import Job, JobBoard
from ui.widgets.answers import awaited

jobs.DESERTED_S = 5.0  # on a busy machine, a lost connection is restored earlier
PAUSE_S = 0.05


@st.cache_resource
def board() -> JobBoard[str]:
    """The board of this server."""
    return JobBoard(10, len, ByteCache(10**6))


@st.cache_resource
def begun() -> list[Job[str]]:
    """The started jobs."""
    return []


def work(job: Job[str]) -> str:
    """Run endless steps."""
    pause, steps = Event(), 0
    while True:
        steps += 1
        job(steps, 1_000_000)
        pause.wait(PAUSE_S)


@st.fragment(run_every=0.2)
def states() -> None:
    """Show the state of all jobs."""
    st.text(f"jobs: {' '.join(job.state for job in begun())}")


if "look" in st.query_params:
    states()
else:
    key = st.query_params.get("key", "one")
    job = board().start(key, 1_000_000, work)
    if job not in begun():
        begun().append(job)
    awaited(board, key, job, "steps", 0.1)
