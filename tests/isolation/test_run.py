"""A child process under limits returns its answer, or a message why there is none; never more than allowed.

Covers `bertviz_core/isolation/child.py`.
"""

import sys
from dataclasses import replace

import pytest

from bertviz_core.errors import BusyError, SupersededError, TextError
from bertviz_core.isolation import run
from bertviz_core.isolation.run import ChildError, Limits, run_limited

TASK = "bertviz_core.tables.reading.answered"
LIMITS = Limits(512 * 1024**2, 10, 60.0, 1000, 2)
SET = "import sys, os, time; from bertviz_core.isolation.child import *; set_limits(1, 0); limit_memory(2**29); "


def child(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Make the child run this code under its limits."""
    monkeypatch.setattr(run, "command", lambda task, limits: [sys.executable, "-c", SET + code])


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("[0 for _ in iter(int, 1) if _]", "seconds of a processor"),
        ("os.kill(os.getpid(), 9)", "of memory"),
        ("os.kill(os.getpid(), 11)", "broke off"),
        ("os.write(1, b'A' + b'x' * 2000)", "takes more than"),
        ("[os.write(1, b'x' * 4096) for _ in iter(int, 1)]", "takes more than"),
        ("os.write(1, b'')", "broke off"),
        ("os.write(1, b'Ax'); sys.exit(3)", "broke off"),
        ("os.write(1, b'M')", "of memory"),
        ("bytes(2**30)", "broke off"),
        ("open('/tmp/inside-bert-child', 'w').write('x')", "broke off"),
    ],
)
def test_why_there_is_no_answer_is_told(monkeypatch: pytest.MonkeyPatch, code: str, words: str) -> None:
    child(monkeypatch, code)
    with pytest.raises(ChildError, match=words):
        run_limited(TASK, b"x" * 10**6, LIMITS)


def test_a_child_that_sleeps_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, "time.sleep(1000)")
    with pytest.raises(ChildError, match="more than 0 seconds"):
        run_limited(TASK, b"", replace(LIMITS, wall_s=0.0))
    with pytest.raises(SupersededError):
        run_limited(TASK, b"", LIMITS, lambda: False)


def test_the_number_of_a_child_that_was_waited_for_gets_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    signals: list[int] = []
    monkeypatch.setattr("os.killpg", lambda number, _: signals.append(number))
    waited_for, other = (run.started([sys.executable, "-c", ""]) for _ in range(2))
    waited_for.wait()
    run.closed(waited_for)
    run.closed(other)
    assert signals == [other.pid]


def test_bytes_come_back_as_they_went(monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, "sys.stdout.buffer.write(b'A' + sys.stdin.buffer.read()[::-1])")
    assert run_limited(TASK, bytes(range(256)), LIMITS) == bytes(range(256))[::-1]


def test_a_refusal_keeps_its_class_and_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, "os.write(1, b'RTextError\\0No such thing.')")
    with pytest.raises(TextError, match="No such thing"):
        run_limited(TASK, b"", LIMITS)


def test_the_child_knows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    child(monkeypatch, "os.write(1, b'A' + repr('HF_TOKEN' in os.environ).encode())")
    assert run_limited(TASK, b"", LIMITS) == b"False"


def test_no_more_children_than_allowed_run_at_once() -> None:
    limits = replace(LIMITS, children=1, wall_s=0.0)
    with run._slots(1), pytest.raises(BusyError, match="try again"):
        run_limited(TASK, b"", limits)
    with run._slots(1), pytest.raises(SupersededError):
        run_limited(TASK, b"", limits, lambda: False)


def test_only_listed_functions_are_run() -> None:
    with pytest.raises(ValueError, match="none of"):
        run_limited("os.system", b"", LIMITS)
