"""Durations: the shortest of several runs, on one thread, without stored measurements; and cost estimates."""

from typing import Any

import pytest
import torch

from bertviz_core.trace import cost
from bertviz_core.trace.cost import one_thread, shortest


class Clock:
    """A clock that advances by these steps."""

    def __init__(self, *steps: float) -> None:
        self.now, self.steps, self.calls = 0.0, list(steps), 0

    def __call__(self) -> float:
        return self.now

    def work(self) -> None:
        self.now += self.steps[min(self.calls, len(self.steps) - 1)]
        self.calls += 1


def test_the_shortest_of_several_runs_counts_and_the_first_one_is_for_warming_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(0.25, 5.0, 3.0, 4.0, 9.0, 7.0)
    monkeypatch.setattr(cost, "thread_time", clock)
    monkeypatch.setattr(cost, "perf_counter", clock)
    assert shortest([clock.work], "cpu", 0.0, own_time=True) == ([3.0], cost.LEAST_RUNS)
    assert clock.calls == 1 + cost.LEAST_RUNS


def test_what_other_programs_take_is_not_counted_as_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    own, wall = Clock(1.0), Clock(100.0)
    monkeypatch.setattr(cost, "thread_time", own)
    monkeypatch.setattr(cost, "perf_counter", wall)

    def both() -> None:
        own.work()
        wall.work()

    assert shortest([both], "cpu", 0.0, own_time=True)[0] == [1.0]
    assert shortest([both], "cpu", 0.0, own_time=False)[0] == [100.0]


@pytest.mark.parametrize("threads", [1, 2])
def test_one_thread_and_then_as_many_as_before(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == threads
        with pytest.raises(KeyError), one_thread():
            raise KeyError
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_the_speed_is_that_of_one_thread_times_their_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(works: Any, device: str, budget: float, *, own_time: bool) -> tuple[list[float], int]:
        assert own_time
        return [1.95], 5

    monkeypatch.setattr(cost, "shortest", found)
    assert cost._operations_per_second("cpu") == pytest.approx(torch.get_num_threads() * 2 * 64**3 / 1.95)
