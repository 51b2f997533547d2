"""A crowd of visitors on one instance: each clicks at its own times, and the clicks are measured."""

import asyncio
import random
import statistics
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field

from benchmarks.load.server import Server
from benchmarks.load.visitor import Visitor, VisitResult, visiting

LOOK_S = 0.2
GONE_S = 60
SLOWEST = 8
ANOTHER_PAGE = 1 / 3
"""Share of clicks that open another page."""
Beside = Callable[[Callable[[], bool]], Coroutine[None, None, None]]


@dataclass(frozen=True, slots=True)
class Phase:
    """Settings of a crowd."""

    sessions: int
    seconds: float
    every: float
    """Seconds between two clicks of one visitor; after a slower response the next click follows at once."""
    pages: Sequence[str]
    model: str


@dataclass(slots=True)
class Clicks:
    """Results of all clicks."""

    seconds: list[float] = field(default_factory=list)
    """Seconds of each click until its response was complete."""
    errors: Counter[str] = field(default_factory=Counter)
    """Error -> number of times."""
    slowest: list[tuple[float, str]] = field(default_factory=list)
    """(seconds, page and widget) of the slowest clicks, the slowest first."""
    peak: int = 0
    """Peak memory of the server in bytes."""

    def add(self, visit: VisitResult) -> None:
        """Count a click."""
        self.seconds.append(visit.seconds)
        self.slowest = sorted([*self.slowest, (visit.seconds, visit.what)], reverse=True)[:SLOWEST]
        self.errors.update(f"{visit.what}: {line[:300]}" for line in (*visit.errors, *visit.refusals))

    def share(self, share: float) -> float:
        """Seconds within which this share of the clicks was answered."""
        if len(self.seconds) < 2:
            return max(self.seconds, default=0.0)
        if share >= 1:
            return max(self.seconds)
        return statistics.quantiles(self.seconds, n=100, method="inclusive")[round(share * 100) - 1]


async def crowd(server: Server, phase: Phase, beside: Sequence[Beside] = ()) -> Clicks:
    """Run a crowd and return its clicks; concurrent tasks in `beside` end with it."""
    clicks, loop = Clicks(), asyncio.get_running_loop()
    end = loop.time() + phase.seconds + phase.every

    def is_over() -> bool:
        return loop.time() > end

    watch = asyncio.create_task(_watched(server, clicks))
    async with asyncio.TaskGroup() as group:
        for each in beside:
            group.create_task(each(is_over))
        for number in range(phase.sessions):
            group.create_task(_visited(server, phase, number, clicks, end))
    watch.cancel()
    return clicks


async def idle(server: Server, enough: int) -> int:
    """Wait until memory has fallen to `enough` bytes, at most a minute; returns the memory.

    Streamlit frees sessions when another one starts or ends, so sessions are opened from time to time.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + GONE_S
    while loop.time() < end:
        async with visiting(server.url) as visitor:
            await visitor.visit("")
        if server.rss <= enough:
            break
        await moment(loop.time() + 1)
    return server.rss


async def moment(when: float) -> None:
    """Wait until a time of the running loop's clock."""
    loop = asyncio.get_running_loop()
    reached = loop.create_future()
    timer = loop.call_at(when, reached.set_result, None)
    try:
        await reached
    finally:
        timer.cancel()


async def _visited(server: Server, phase: Phase, number: int, clicks: Clicks, end: float) -> None:
    """Run one visitor, who starts a little after the previous one."""
    loop, chance = asyncio.get_running_loop(), random.Random(number)
    due = loop.time() + phase.every * number / phase.sessions
    await moment(due)
    try:
        async with visiting(server.url, number) as visitor:
            page = phase.pages[number % len(phase.pages)]
            clicks.add(await visitor.visit(page, model=phase.model))
            while (due := max(due + phase.every, loop.time())) < end:
                await moment(due)
                clicks.add(await _next(visitor, phase, chance))
    except OSError as error:
        clicks.errors[f"no connection: {error}"] += 1


async def _next(visitor: Visitor, phase: Phase, chance: random.Random) -> VisitResult:
    visit = None if chance.random() < ANOTHER_PAGE else await visitor.click()
    return visit or await visitor.visit(chance.choice(phase.pages), model=phase.model)


async def _watched(server: Server, clicks: Clicks) -> None:
    """Record the server's peak memory until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        clicks.peak = max(clicks.peak, server.rss)
        await moment(loop.time() + LOOK_S)
