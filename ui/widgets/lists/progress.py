"""Long work while its reader waits: the question whether it shall begin, how far it is, a way to end it, its answer."""

from collections.abc import Callable, Hashable
from functools import partial
from hashlib import sha256
from time import perf_counter
from typing import Any, TypeVar

import streamlit as st

from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, Question
from ui.cache.corpora import SharedCorpus
from ui.cache.jobs import Job, JobBoard, board
from ui.cache.readers import this_reader
from ui.cache.shared_model import SharedModel
from ui.widgets.formatting import duration
from ui.widgets.run_model import agreed_cost, agreed_work

QUIET_S, CHECK_EVERY_S, POLL_S = 0.4, 0.05, 1.0
PATIENCE_S = 2.0
"""Seconds for which the page waits for an answer without a way to end the work."""
T = TypeVar("T")
Resume = Callable[[Any], None]


def answer(
    question: Question[Any, T],
    opened: SharedModel | SharedCorpus,
    options: Options,
    draw: Callable[[Answer[T]], None] | None = None,
) -> Answer[T]:
    """The answer to a question; where it takes long the page ends here until it is there.

    What takes minutes begins when the reader agrees. The work goes on while its reader looks at another page, is found
    again by whoever asks the same, and its answer is kept for all of them.

    Args:
        question: the question.
        opened: what it is about.
        options: what is asked for.
        draw: shows the answer as far as it is known, each second and after a stop, where the work shows it.

    Raises:
        BertvizError: as the question.
    """
    held: Answer[T] | None = opened.at_hand(question.key(options))
    if held is not None:
        return held
    if question.cost is None:
        return question(opened, options)
    key = opened.key(question.key(options))
    job = board().find(key)
    if job is None:
        cost = question.cost(opened, options)
        if cost.slow:
            agreed_work(_digest(key), cost.slow)
        if cost.tokens is not None and isinstance(opened, SharedModel):
            agreed_cost(opened.loaded, cost.tokens, cost.runs)
        work, turns = partial(question, opened, options), question.module.rpartition(".")[0]
        job = board().start(key, cost.steps, work, cost.nbytes, turns=turns, long=cost.short, kept=True)
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
    """The result of a job; while there is none the page shows how far it is, and ends there.

    Args:
        board: gives the board that the job is on.
        key: of the job.
        job: the job.
        noun: what it counts, such as "sentences".
        patience_s: seconds for which the page waits without a way to end the work.
        resume: called with the key before a stopped job begins again.
        draw: shows the result as far as it is known, where the work shows it; each second, and after a stop.
        kind: what the work is: a session has one job of a kind; by default what it counts.

    Raises:
        BertvizError: the job's own.
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
    """How far a job is, and, once there is a rate, how fast it goes and what is left."""
    if job.state == "waiting":
        return "Waiting for another list to be finished."
    done, left = f"{job.done:,} of {job.total:,} {noun}", job.seconds_left
    if left is None:
        return done
    about = "about " if left >= 1 else ""
    return f"{done}, {job.rate:,.{int(job.rate < 10)}f} per second, {about}{duration(left)} left"


def _wait(job: Job[Any], noun: str, patience_s: float) -> None:
    """Wait for a job; every word written lets a superseded page stop."""
    started, place = perf_counter(), st.empty()
    while not job.wait(CHECK_EVERY_S):
        spent = perf_counter() - started
        if spent > patience_s:
            break
        if spent > QUIET_S:
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
    """How far a job is; looked at again each second, whatever page its reader comes from."""
    job = board().find(key)
    if job is not None:
        this_reader().wait_for(kind, job)  # anew where the connection had broken off
    if job is None or job.state in ("done", "failed"):
        st.rerun()
    so_far = job.so_far
    if draw is not None and so_far is not None:
        draw(so_far)  # above the words, where the whole picture will stand
    if job.state == "stopped":
        kept = " What is computed is kept." if resume is not None else ""
        st.info(f"Stopped after {job.done:,} of {job.total:,} {noun}.{kept}", icon=":material/stop_circle:")
        st.button("Go on", type="primary", key="resume_job", on_click=_again, args=(board, key, resume))
    else:
        st.progress(min(job.done / max(job.total, 1), 1.0), text=progress_words(job, noun))
        st.caption("This goes on when you look at another page, and its result is kept for the next time.")
        st.button("Cancel", key="stop_job", on_click=job.stop)


def _again(board: Callable[[], JobBoard[Any]], key: Hashable, resume: Resume | None) -> None:
    if resume is not None:
        resume(key)
    board().forget(key)
