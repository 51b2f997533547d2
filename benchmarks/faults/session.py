"""Readers who leave while the model runs for them: the queue continues, and their memory is freed."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.faults.cases import row, summary, went_well
from benchmarks.load.run import moment
from benchmarks.load.server import Server, running
from benchmarks.load.visitor import VisitResult, visiting
from benchmarks.timing import Row

GONE, QUIET_S = 12, 60.0
STAYS = 128 * 1024**2
"""Most growth of memory: more than the one started run and the cached runs within their limit take."""
SOON_S = 30.0
TRACES = 16 * 1024**2


def rows(home: Path) -> list[Row]:
    """Row of the table for readers who leave."""
    with running(home, {"INSIDE_BERT_MAX_TRACE_BYTES": str(TRACES)}) as server:
        return [asyncio.run(_vanish(server))]


async def _vanish(server: Server) -> Row:
    first = await _visit(server, "one two three " * 120)  # so that the memory of one such run is included
    threads, before = server.threads, server.rss
    await _ask_and_go(server, threads)
    after = await _visit(server, "another text")
    loop = asyncio.get_running_loop()
    end = loop.time() + QUIET_S
    while loop.time() < end and (server.threads > threads or server.rss > before + STAYS):
        await moment(loop.time() + 1)
        await _visit(server, "another text")  # Streamlit frees sessions when another one starts or ends
    grown, left = server.rss - before, server.threads - threads
    holds = went_well(first) and went_well(after) and after.seconds < SOON_S
    holds = holds and left <= 0 and grown <= STAYS and server.alive and not server.tracebacks()
    return row(
        f"{GONE} readers vanish while the model runs for them",
        f"the next reader has the page after {after.seconds:.1f} s" if went_well(after) else summary([after]),
        f"{max(left, 0)} of their threads left, {grown / 1e6:,.0f} MB more than before",
        f"no thread left, <= {STAYS / 1e6:.0f} MB",
        holds,
    )


async def _ask_and_go(server: Server, threads: int) -> None:
    """Open texts in all sessions at once, of which one runs at a time, and close the tabs while they wait."""
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


async def _visit(server: Server, text: str) -> VisitResult:
    async with visiting(server.url) as visitor:
        return await visitor.visit("attention", text=text)
