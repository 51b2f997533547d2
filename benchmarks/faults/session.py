"""Readers who vanish while the model runs for them: the queue moves on, and what they held comes back."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.faults.cases import row, told, went_well
from benchmarks.load.run import moment
from benchmarks.load.server import Server, running
from benchmarks.load.visitor import Seen, visiting
from benchmarks.timing import Row

GONE, QUIET_S = 12, 60.0
STAYS = 128 * 1024**2
"""More than what the one run that was begun, and what of the runs is kept within its limit, may take."""
SOON_S = 30.0
TRACES = 16 * 1024**2


def rows(home: Path) -> list[Row]:
    """The line of those who vanish."""
    with running(home, {"INSIDE_BERT_MAX_TRACE_BYTES": str(TRACES)}) as server:
        return [asyncio.run(_vanish(server))]


async def _vanish(server: Server) -> Row:
    first = await _visit(server, "one two three " * 120)  # so that what one such run leaves is there before
    threads, before = server.threads, server.rss
    await _ask_and_go(server, threads)
    after = await _visit(server, "another text")
    loop = asyncio.get_running_loop()
    end = loop.time() + QUIET_S
    while loop.time() < end and (server.threads > threads or server.rss > before + STAYS):
        await moment(loop.time() + 1)
        await _visit(server, "another text")  # Streamlit lets go of sessions when another one comes or goes
    grown, left = server.rss - before, server.threads - threads
    holds = went_well(first) and went_well(after) and after.seconds < SOON_S
    holds = holds and left <= 0 and grown <= STAYS and server.alive and not server.tracebacks()
    return row(
        f"{GONE} readers vanish while the model runs for them",
        f"the next reader has the page after {after.seconds:.1f} s" if went_well(after) else told([after]),
        f"{max(left, 0)} of their threads left, {grown / 1e6:,.0f} MB more than before",
        f"no thread left, <= {STAYS / 1e6:.0f} MB",
        holds,
    )


async def _ask_and_go(server: Server, threads: int) -> None:
    """All ask at once for texts of their own, of which one runs at a time, and close their tabs while they wait."""
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as open_tabs:
        visitors = [await open_tabs.enter_async_context(visiting(server.url)) for _ in range(GONE)]
        for visitor in visitors:
            await visitor.visit("")
        for number, visitor in enumerate(visitors):
            await visitor.ask("attention", text=f"{number} one two three " * 120)
        end = loop.time() + QUIET_S
        while loop.time() < end and server.threads < threads + GONE // 2:
            await moment(loop.time() + 0.01)


async def _visit(server: Server, text: str) -> Seen:
    async with visiting(server.url) as visitor:
        return await visitor.visit("attention", text=text)
