"""A persistent child returns answers in order, is ended when it exceeds its limits, and is restarted on request.

Covers `bertviz_core/isolation/worker.py`, `bertviz_core/isolation/messages.py`, `bertviz_core/isolation/warm_child.py`.
"""

import sys
from dataclasses import replace

import pytest

from bertviz_core.errors import SupersededError
from bertviz_core.isolation import warm_child as spare
from bertviz_core.isolation import worker
from bertviz_core.isolation.run import ChildError, Limits
from bertviz_core.isolation.warm_child import Spare
from bertviz_core.isolation.worker import Worker

LIMITS = Limits(512 * 1024**2, 1, 60.0, 1000, 1)
CODE = """
import os, signal, sys, time
from bertviz_core.isolation import child
def task(task, request, answer_nbytes):
    words = request.decode()
    exec(words)
    return child.ANSWER + words[:20].encode() + str(os.getpid()).encode()
child.run = task
child.set_limits(1, 0, True)
child.limit_memory(2**29)
child.serve("", 1000, 1, 1)
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Worker:
    for module in (worker, spare):
        monkeypatch.setattr(module, "command", lambda task, limits: [sys.executable, "-c", CODE])
    return Worker("", b"pass", LIMITS)


def test_one_child_answers_all(made: Worker) -> None:
    first = made.prepared()
    assert {made.ask(b"pass") for _ in range(5)} == {first}
    assert len(made.ask(b"#" * 10**6)) > 20


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (b"[0 for _ in iter(int, 1) if _]", "seconds of a processor"),
        (b"bytes(2**30)", "broke off|of memory"),
        (b"os._exit(3)", "broke off"),
        (b"os.write(1, b'x' * 5000)", "takes more than"),
    ],
)
def test_a_child_that_fails_is_told_and_another_comes(made: Worker, request_: bytes, words: str) -> None:
    first = made.prepared()
    with pytest.raises(ChildError, match=words):
        made.ask(request_)
    assert made.ask(b"pass") != first


@pytest.mark.slow
def test_seconds_count_for_each_request_anew(made: Worker) -> None:
    busy = b"end = time.process_time() + 0.7\nwhile time.process_time() < end: pass"
    first = made.ask(busy)
    assert [made.ask(busy) for _ in range(2)] == [first] * 2


def test_a_child_that_is_no_longer_wanted_or_sleeps_is_ended(made: Worker) -> None:
    first = made.prepared()
    with pytest.raises(SupersededError):
        made.ask(b"signal.pause()", lambda: False)
    made._limits = replace(LIMITS, wall_s=0.0)
    with pytest.raises(ChildError, match="more than 0 seconds"):
        made.ask(b"signal.pause()")
    made._limits = LIMITS
    assert made.ask(b"pass") != first


def test_only_those_used_last_keep_a_child(made: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "IDLE_WORKERS", 0)
    other = Worker("", b"pass", LIMITS)
    made.ask(b"pass")
    other.ask(b"pass")
    assert (len(made._children), len(other._children)) == (0, 1)


def test_a_child_ahead_of_need_is_taken_and_another_takes_its_place(made: Worker) -> None:
    ahead = Spare("", LIMITS)
    made._spare = ahead
    own = made.prepared()
    assert not ahead._children
    ahead.fill()
    (child,) = ahead._children
    ahead.fill()
    assert ahead._children == [child]
    answer = made.prepared()
    assert answer == b"pass" + str(child.pid).encode()
    assert answer != own
    assert made.ask(b"pass") == answer
    (other,) = ahead._children
    assert other.pid != child.pid


def test_a_child_ahead_of_need_that_has_ended_is_passed_over(made: Worker) -> None:
    made._spare = Spare("", LIMITS)
    made._spare.fill()
    (child,) = made._spare._children
    child.kill()
    child.wait()
    assert made.prepared() != b"pass" + str(child.pid).encode()
    assert made._spare._children[0].poll() is None
