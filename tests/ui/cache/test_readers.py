"""Readers of long work: it ends when nobody waits for it, and continues while somebody does."""

import gc
from threading import Event
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.resources import ByteCache
from ui.cache import jobs
from ui.cache.jobs import Job, JobBoard, Reader

WAIT_S = 20


class Steps:
    """Work that takes one step each time it is released, and signals its start."""

    def __init__(self) -> None:
        self.begun, self.go = Event(), Event()

    def __call__(self, job: Job[str]) -> str:
        job(0, 2)
        self.begun.set()
        assert self.go.wait(WAIT_S)
        job(1, 2)
        return "whole"


@pytest.fixture
def board() -> JobBoard[str]:
    return JobBoard(10, lambda _: 1, ByteCache(10**6))


def begun(board: JobBoard[str], key: str) -> tuple[Job[str], Steps]:
    """A job that has taken its first step."""
    work = Steps()
    job = board.start(key, 2, work)
    assert work.begun.wait(WAIT_S)
    return job, work


def ended(job: Job[str], work: Steps) -> str:
    """State of a job after it is released to its end."""
    work.go.set()
    assert job.wait(WAIT_S)
    return job.state


@pytest.mark.parametrize(("patience", "state"), [(0.0, "left"), (3600.0, "done")])
def test_a_job_whose_readers_have_left_ends_after_a_while(
    board: JobBoard[str], monkeypatch: pytest.MonkeyPatch, patience: float, state: str
) -> None:
    monkeypatch.setattr(jobs, "DESERTED_S", patience)
    job, work = begun(board, "k")
    first, second = Reader(), Reader()
    for reader in (first, second):
        reader.wait_for("texts", job)
        reader.leave()
    assert ended(job, work) == state


def test_a_job_with_one_reader_left_goes_on(board: JobBoard[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "DESERTED_S", 0.0)
    job, work = begun(board, "k")
    gone, there = Reader(), Reader()
    for reader in (gone, there):
        reader.wait_for("texts", job)
    gone.leave()
    assert ended(job, work) == "done"


def test_a_job_that_no_session_asked_for_goes_on(board: JobBoard[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "DESERTED_S", 0.0)
    assert ended(*begun(board, "k")) == "done"


def test_a_reader_has_one_job_of_a_kind(board: JobBoard[str]) -> None:
    reader, other = Reader(), Reader()
    shared, shared_work = begun(board, "shared")
    own, own_work = begun(board, "own")
    last, last_work = begun(board, "last")
    second_kind, second_work = begun(board, "other kind")
    other.wait_for("texts", shared)
    for job in (shared, own, last):
        reader.wait_for("texts", job)
    reader.wait_for("steps", second_kind)
    assert ended(own, own_work) == "left"
    assert ended(shared, shared_work) == ended(last, last_work) == ended(second_kind, second_work) == "done"


def test_a_job_that_was_left_begins_anew_for_the_next(board: JobBoard[str]) -> None:
    reader = Reader()
    first, work = begun(board, "k")
    second, second_work = begun(board, "another")
    reader.wait_for("texts", first)
    reader.wait_for("texts", second)
    assert ended(first, work) == "left"
    assert board.find("k") is None
    again, again_work = begun(board, "k")
    assert again is not first
    assert ended(again, again_work) == ended(second, second_work) == "done"


def test_a_job_that_waits_for_its_turn_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "DESERTED_S", 0.0)
    board: JobBoard[Any] = JobBoard(1, lambda _: 1, ByteCache(10**6))
    first, work = begun(board, "first")
    waiting = board.start("waiting", 2, Steps())
    reader = Reader()
    reader.wait_for("texts", waiting)
    reader.leave()
    assert waiting.wait(WAIT_S)
    assert waiting.state == "left"
    assert ended(first, work) == "done"


def test_a_reader_keeps_no_result_in_memory(board: JobBoard[str]) -> None:
    reader = Reader()
    job, work = begun(board, "k")
    reader.wait_for("texts", job)
    assert ended(job, work) == "done"
    board.forget("k")
    del job, work
    gc.collect()
    assert not reader._jobs


def test_a_session_stays_one_reader() -> None:
    at = AppTest.from_function(reader_page).run()
    first = at.session_state["reader"]
    at.run()
    assert not at.exception
    assert at.session_state["reader"] is first


def reader_page() -> None:
    import streamlit as st

    from ui.cache.jobs import this_reader

    st.session_state["reader"] = this_reader()
