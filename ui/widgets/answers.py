"""Ask a question of a page: its answer from the cache, at once, or from a job whose progress is shown."""

from collections.abc import Callable, Hashable
from functools import partial
from hashlib import sha256
from time import perf_counter
from typing import Any, TypeVar

import streamlit as st

from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, Question
from ui.cache.jobs import Job, JobBoard, board, this_reader
from ui.cache.shared_model import SharedModel, SharedSubject
from ui.widgets.heading import steps_done
from ui.widgets.run_model import agreed_cost, agreed_work

T = TypeVar("T")
PROGRESS_QUIET_S, CHECK_EVERY_S, POLL_S = 0.4, 0.05, 1.0
PATIENCE_S = 2.0
"""Seconds that the page waits for an answer before it offers to cancel the work."""
Resume = Callable[[Any], None]


def answer(
    question: Question[Any, T],
    opened: SharedSubject,
    options: Options,
    draw: Callable[[Answer[T]], None] | None = None,
) -> Answer[T]:
    """Return the answer to a question; the page ends here while a long answer is computed.

    Work of minutes starts when the reader confirms it. It continues while the reader looks at another page, and is
    shared by all readers with the same question.

    Args:
        options: the options of the question.
        draw: shows a partial answer, each second and after a cancellation, for work that has one.
    """
    known: Answer[T] | None = opened.cached(question.key(options))
    if known is not None:
        return known
    if question.cost is None:
        return question(opened, options)
    key = opened.key(question.key(options))
    job = board().find(key)
    if job is None:
        cost = question.cost(opened, options)
        if cost.slow:
            agreed_work(_digest(key), cost.slow, cost.action)
        if cost.tokens is not None and isinstance(opened, SharedModel):
            agreed_cost(opened.loaded, cost.tokens, cost.runs)
        work, turns = partial(question, opened, options), question.module.rpartition(".")[0]
        job = board().start(key, cost.steps, work, cost.nbytes, turns=turns, long=cost.short, caches_itself=True)
    found: Answer[T] = awaited(board, key, job, question.noun, PATIENCE_S, draw=draw, kind=question.name)
    return found


def _digest(key: Hashable) -> str:
    return sha256(repr(key).encode("utf-8", "backslashreplace")).hexdigest()


def awaited(
    board: Callable[[], JobBoard[Any]],
    key: Hashable,
    job: Job[T],
    noun: str,
    patience_s: float,
    resume: Resume | None = None,
    draw: Callable[[T], None] | None = None,
    kind: str = "",
) -> T:
    """Return the result of a job; the page shows its progress and ends here until it is done.

    Args:
        board: returns the board of the job.
        key: key of the job.
        patience_s: seconds that the page waits before it offers to cancel the work.
        resume: called with the key before a cancelled job starts again.
        draw: shows a partial result, each second and after a cancellation, for work that has one.
        kind: kind of the work, of which a session waits for one job; the noun by default.
    """
    this_reader().wait_for(kind or noun, job)
    _wait(job, noun, patience_s)
    if job.error is not None:
        board().forget(key)
        raise job.error
    if job.result is None:
        _watch(board, key, noun, resume, draw, kind or noun)
        st.stop()
    return job.result


def progress_words(job: Job[Any], noun: str) -> str:
    """Progress of a job, with its rate and the time left once they are known."""
    if job.state == "waiting":
        return "Waiting for another list to be finished."
    return steps_done(job, noun)


def _wait(job: Job[Any], noun: str, patience_s: float) -> None:
    """Wait for a job; writing to the page lets a superseded script stop."""
    started, place = perf_counter(), st.empty()
    while not job.wait(CHECK_EVERY_S):
        spent = perf_counter() - started
        if spent > patience_s:
            break
        if spent > PROGRESS_QUIET_S:
            place.progress(min(job.done / max(job.total, 1), 1.0), text=progress_words(job, noun))
    place.empty()


@st.fragment(run_every=POLL_S)
def _watch(
    board: Callable[[], JobBoard[Any]],
    key: Hashable,
    noun: str,
    resume: Resume | None,
    draw: Callable[[T], None] | None,
    kind: str,
) -> None:
    """Show the progress of a job, refreshed each second."""
    job = board().find(key)
    if job is not None:
        this_reader().wait_for(kind, job)  # again if the connection was interrupted
    if job is None or job.state in ("done", "failed"):
        st.rerun()
    so_far = job.so_far
    if draw is not None and so_far is not None:
        st.markdown(f"**So far**, after {job.done:,} of {job.total:,} {noun}: what follows is not final.")
        draw(so_far)  # above the message, in the place of the complete figure
    if job.state == "stopped":
        note = " What is computed is kept." if resume is not None else ""
        st.info(f"Stopped after {job.done:,} of {job.total:,} {noun}.{note}", icon=":material/stop_circle:")
        st.button("Continue", type="primary", key="resume_job", on_click=_again, args=(board, key, resume))
    else:
        st.progress(min(job.done / max(job.total, 1), 1.0), text=progress_words(job, noun))
        st.caption("The work continues while you look at another page, and its result is kept.")
        st.button("Cancel", key="stop_job", on_click=job.stop)


def _again(board: Callable[[], JobBoard[Any]], key: Hashable, resume: Resume | None) -> None:
    if resume is not None:
        resume(key)
    board().forget(key)
