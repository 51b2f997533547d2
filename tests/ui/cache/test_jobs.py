"""The board of jobs: one run for all readers, progress, cancellation, turns, errors, memory."""

from threading import Event

import numpy as np
import pytest

from bertviz_core.errors import BusyError, Progress, TextError
from bertviz_core.resources import ByteCache
from bertviz_core.sentences.results import SentenceVectors
from ui.cache.jobs import Job, JobBoard

WAIT_S = 20
ROOM = 10**6


def made(count: int = 3, dimensions: int = 2) -> SentenceVectors:
    """Vectors of zeros."""
    return SentenceVectors(
        tuple("x" for _ in range(count)), np.zeros((count, dimensions), np.float32), np.ones(count, int),
        np.zeros(count, bool), "m", "r", "mean", 1, False, "", "float32", count, 0, 0.0,
    )  # fmt: skip


def at_once(progress: Progress) -> SentenceVectors:
    """Work that takes no time."""
    progress(3, 3)
    return made()


class Held:
    """Work that waits until it is released, and signals its start."""

    def __init__(self) -> None:
        self.begun, self.go, self.runs = Event(), Event(), 0

    def __call__(self, progress: Progress) -> SentenceVectors:
        self.runs += 1
        progress(0, 3)
        progress(1, 3)
        self.begun.set()
        assert self.go.wait(WAIT_S)
        progress(2, 3)
        return made()


def size(found: SentenceVectors) -> int:
    """Bytes of its vectors."""
    return int(found.vectors.nbytes)


def ended(job: Job[SentenceVectors]) -> Job[SentenceVectors]:
    """The job after its end."""
    assert job.wait(WAIT_S)
    return job


def test_two_who_ask_for_the_same_get_one_run() -> None:
    board, work = JobBoard(10, size, ByteCache(ROOM)), Held()
    first, second = board.start("k", 3, work), board.start("k", 3, work)
    work.go.set()
    assert first is second is board.find("k")
    assert ended(first).result is not None
    assert board.start("k", 3, work).result is first.result
    assert work.runs == 1


def test_progress_rate_and_time_left_follow_what_is_told() -> None:
    board, work = JobBoard(10, size, ByteCache(ROOM)), Held()
    job = board.start("k", 3, work)
    assert work.begun.wait(WAIT_S)
    assert (job.state, job.done, job.total) == ("running", 1, 3)
    assert job.rate > 0
    assert job.seconds_left is not None
    work.go.set()
    assert ended(job).state == "done"
    assert job.done == 3


def test_what_was_done_before_it_began_is_no_part_of_the_rate() -> None:
    begun, go = Event(), Event()

    def work(progress: Progress) -> SentenceVectors:
        progress(900, 1000)
        begun.set()
        assert go.wait(WAIT_S)
        progress(901, 1000)
        return made()

    job = Job(1000, work, None)
    job.start()
    assert begun.wait(WAIT_S)
    assert (job.done, job.rate, job.seconds_left) == (900, 0, None)
    go.set()
    assert ended(job).rate * job.seconds < 101


def test_a_second_part_of_the_work_has_a_rate_of_its_own() -> None:
    begun, go = Event(), Event()

    def work(progress: Progress) -> SentenceVectors:
        for done in (0, 500):
            progress(done, 500)
        for done in (1, 3):
            progress(done, 70)
        begun.set()
        assert go.wait(WAIT_S)
        return made()

    job = Job(500, work, None)
    job.start()
    assert begun.wait(WAIT_S)
    assert (job.done, job.total) == (3, 70)
    assert job.rate > 0
    left = job.seconds_left
    assert left is not None
    assert left > 0
    go.set()
    assert ended(job).state == "done"


def test_a_stopped_job_ends_at_its_next_batch_and_can_begin_anew() -> None:
    board, work = JobBoard(10, size, ByteCache(ROOM)), Held()
    job = board.start("k", 3, work)
    assert work.begun.wait(WAIT_S)
    job.stop()
    work.go.set()
    assert ended(job).state == "stopped"
    assert job.result is None
    board.forget("k")
    assert ended(board.start("k", 3, at_once)).state == "done"


def test_what_there_is_so_far_is_seen_until_the_job_is_done_and_after_a_stop() -> None:
    begun, go, part = Event(), Event(), made(1)

    def work(job: Job[SentenceVectors]) -> SentenceVectors:
        job.show(part)
        begun.set()
        assert go.wait(WAIT_S)
        job(1, 3)
        return made()

    board = JobBoard(10, size, ByteCache(ROOM))
    jobs = [board.start(key, 3, work) for key in ("stopped", "done")]
    assert begun.wait(WAIT_S)
    assert jobs[0].so_far is part
    assert jobs[0].result is None
    jobs[0].stop()
    go.set()
    assert [ended(job).state for job in jobs] == ["stopped", "done"]
    assert [job.so_far for job in jobs] == [part, None]


def test_long_jobs_take_turns_and_short_ones_do_not_wait() -> None:
    board, work = JobBoard(2, size, ByteCache(ROOM)), Held()
    long = board.start("long", 3, work)
    assert work.begun.wait(WAIT_S)
    other = board.start("other", 3, at_once)
    assert ended(board.start("short", 2, at_once)).state == "done"
    assert other.state == "waiting"
    work.go.set()
    assert ended(long).state == "done"
    assert ended(other).state == "done"


def test_one_who_waits_for_its_turn_can_be_stopped() -> None:
    board, work = JobBoard(2, size, ByteCache(ROOM)), Held()
    board.start("long", 3, work)
    assert work.begun.wait(WAIT_S)
    other = board.start("other", 3, at_once)
    other.stop()
    assert ended(other).state == "stopped"
    work.go.set()


def test_an_error_is_kept_for_the_reader_and_the_turn_is_given_on() -> None:
    def failing(progress: Progress) -> SentenceVectors:
        raise TextError("no")

    board = JobBoard(2, size, ByteCache(ROOM))
    job = ended(board.start("k", 3, failing))
    assert job.state == "failed"
    assert isinstance(job.error, TextError)
    assert ended(board.start("other", 3, at_once)).state == "done"


def test_finished_vectors_make_room_for_newer_ones() -> None:
    board = JobBoard(10, size, ByteCache(made().vectors.nbytes))
    for key in ("a", "b", "c"):
        ended(board.start(key, 3, at_once))
    board.start("d", 3, at_once)
    assert board.find("a") is None
    assert board.find("b") is None
    assert board.find("d") is not None


def test_a_list_that_is_worked_on_counts_and_a_further_one_is_refused() -> None:
    board, work = JobBoard(10, size, ByteCache(100)), Held()
    first = board.start("a", 4, work, 60)
    with pytest.raises(BusyError, match="other long lists"):
        board.start("b", 4, work, 60)
    first.stop()
    work.go.set()
    assert first.wait(20)
    assert board.start("b", 4, work, 60).wait(20)


def test_finished_jobs_share_their_room_with_other_results() -> None:
    shared = ByteCache(2 * size(made()))
    board = JobBoard(10, size, shared)
    job = ended(board.start("k", 3, at_once))
    assert shared.nbytes == size(made())
    assert board.find("k") is job
    shared.put("another result", "x", 2 * size(made()))
    assert board.find("k") is None
    board.forget("k")
    assert ended(board.start("k", 3, at_once)).result is not None
    assert shared.get("another result") is None


def test_unfinished_jobs_are_counted_by_state() -> None:
    board, work, next_in_line = JobBoard(2, size, ByteCache(ROOM)), Held(), Held()
    first, second = board.start("long", 3, work), board.start("longer", 4, next_in_line)
    assert work.begun.wait(WAIT_S)
    assert (board.count("running"), board.count("waiting")) == (1, 1)
    work.go.set()
    next_in_line.go.set()
    ended(first)
    ended(second)
    assert (board.count("running"), board.count("waiting")) == (0, 0)


def test_jobs_of_another_kind_have_turns_of_their_own() -> None:
    board, work = JobBoard(2, size, ByteCache(ROOM)), Held()
    board.start("causes", 3, work, turns="causes")
    assert work.begun.wait(WAIT_S)
    other = board.start("other causes", 3, at_once, turns="causes")
    assert ended(board.start("corpora", 3, at_once, turns="corpora")).state == "done"
    assert ended(board.start("short of its kind", 3, at_once, turns="causes", long=3)).state == "done"
    assert other.state == "waiting"
    work.go.set()
    assert ended(other).state == "done"


def test_a_result_that_is_kept_elsewhere_is_not_kept_with_its_job() -> None:
    shared = ByteCache(ROOM)
    board = JobBoard(10, size, shared)
    job = ended(board.start("k", 3, at_once, caches_itself=True))
    assert job.result is not None
    assert board.find("k") is None
    assert shared.nbytes == 0
