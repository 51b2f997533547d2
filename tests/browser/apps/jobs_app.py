"""A job that runs until its readers leave, for the test of readers; ?look only shows its state."""

from threading import Event

import streamlit as st

from ui.cache import jobs
from ui.cache.jobs import Job, board
from ui.widgets import run_model
from ui.widgets.run_model import awaited

jobs.DESERTED_S = 5.0  # on a busy machine, a lost connection is restored earlier
run_model.PATIENCE_S = 0.1
PAUSE_S = 0.05


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
    awaited(key, job, "steps")
