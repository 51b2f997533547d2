"""The queue of runs: one at a time, in order of request; those who leave are skipped."""

import threading

import pytest

from bertviz_core.errors import BusyError
from bertviz_core.trace.run import RunQueue


def test_turns_come_in_the_order_of_asking() -> None:
    queue = RunQueue()
    places = [queue.place() for _ in range(4)]
    assert [place.ahead for place in places] == [0, 1, 2, 3]
    assert queue.length == 4
    places[1].leave()
    assert [places[index].ahead for index in (0, 2, 3)] == [0, 1, 2]
    assert places[0].wait(0)
    assert not places[2].wait(0)
    places[0].leave()
    assert places[2].wait(0)
    places[2].leave()
    places[3].leave()
    assert queue.length == 0
    assert queue.place().ahead == 0


def test_a_wait_that_is_interrupted_leaves_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = RunQueue()

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunQueue, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt), queue:
        pass
    assert queue.length == 0


def test_an_error_in_a_turn_ends_it() -> None:
    queue = RunQueue()
    for turn in (queue.place(), queue):
        with pytest.raises(KeyError), turn:
            raise KeyError
    assert queue.place().ahead == 0


def test_only_so_many_may_wait() -> None:
    queue = RunQueue()
    running, waiting = queue.place(1), queue.place(1)
    with pytest.raises(BusyError, match="1 run waits"):
        queue.place(1)
    running.leave()
    assert queue.place(1).ahead == 1
    assert waiting.wait(0)


def test_threads_never_run_at_once_and_none_is_passed_over() -> None:
    queue, order, inside = RunQueue(), [], [0]
    started = [threading.Event() for _ in range(8)]

    def work(number: int) -> None:
        place = queue.place()
        started[number].set()
        with place:
            assert place.wait(30)
            inside[0] += 1
            assert inside[0] == 1
            order.append(number)
            inside[0] -= 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    with queue:
        for number, thread in enumerate(threads):
            thread.start()
            assert started[number].wait(30)
        assert order == []
    for thread in threads:
        thread.join(30)
    assert order == list(range(8))


def test_one_who_asks_again_at_once_waits_behind_the_others() -> None:
    """A plain lock does not guarantee this: a worker that requests turn after turn gets only every second one."""
    queue, order = RunQueue(), []
    waiting = threading.Event()

    def other() -> None:
        place = queue.place()
        waiting.set()
        with place:
            place.wait()
            order.append("other")

    thread = threading.Thread(target=other)
    with queue:
        order.append("worker")
        thread.start()
        assert waiting.wait(30)
    with queue:
        order.append("worker")
    thread.join(30)
    assert order == ["worker", "other", "worker"]
