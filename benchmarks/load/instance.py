"""Load test of one instance with many visitors: response times, faults, and memory that is freed.

`make load`: 25 sessions, each with a click every 3 s on changing pages for 60 s; then the same while models load and
texts run. Loopback only.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

from benchmarks import report
from benchmarks.load.memory import memory_rows
from benchmarks.load.run import Beside, Clicks, Phase, crowd, idle
from benchmarks.load.server import Server, running
from benchmarks.load.visitor import visiting
from benchmarks.models.trace import CHECKPOINT
from benchmarks.timing import Row, table
from bertviz_core.figures.pages import FIRST
from bertviz_core.figures.pages import PAGES as EVERY_PAGE

SESSIONS, SECONDS, EVERY = 25, 60.0, 3.0
PAGES = tuple("" if name == FIRST else name for name in EVERY_PAGE)
DEFAULT = "all-MiniLM-L6-v2"
HEAVY = ("heavy-one", "heavy-two", "heavy-three")
LOADED_BYTES = 1024**3
"""Limit for two heavy models besides the bundled one, so that every visit to the third loads one."""
P95_S = 2.0
COMES_BACK = 192 * 1024**2
"""Most memory that may remain when all sessions have ended: caches for the next visitor."""
AT_MOST = 1536 * 1024**2
"""Most peak memory above that with the bundled model: the limit of models plus half of it."""
LONG = "one two three four " * 60


def main() -> None:
    """Print the table; exit code 1 if a budget is missed. Only a run of full size writes the document."""
    parser = argparse.ArgumentParser(prog="make load", description="Many visitors on one instance, on loopback.")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--every", type=float, default=EVERY)
    args = parser.parse_args()
    phase = Phase(args.sessions, args.seconds, args.every, PAGES, DEFAULT)
    rows = measured(phase)
    print(table(rows))
    full = args.sessions >= SESSIONS and args.seconds >= SECONDS and args.every <= EVERY
    if full:
        report.write(
            "load", rows, f"Sessions keep their memory for 5 s after their tab is closed, not for 120 s. {WAY}"
        )
    sys.exit(0 if all(row.met for row in rows) else 1)


WAY = (
    "A session is a websocket that speaks Streamlit's protocol as a tab does; a click is timed from its message to the "
    "end of its run, and every third one opens another page."
)


def measured(phase: Phase) -> list[Row]:
    """Rows of both phases and of the model switches."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in HEAVY:
            (home / "models" / name).mkdir(parents=True)
            made = [sys.executable, "-c", CHECKPOINT, str(home / "models" / name)]
            subprocess.run(made, check=True, capture_output=True)
        with running(home, {"INSIDE_BERT_MAX_LOADED_BYTES": str(LOADED_BYTES)}) as server:
            found = asyncio.run(_phases(server, phase))
        return [*found, *memory_rows(home / "switches")]


async def _phases(server: Server, phase: Phase) -> list[Row]:
    await look_around(server)
    before = server.rss
    quiet = await crowd(server, phase)
    after = await idle(server, before + COMES_BACK)
    size = f"{phase.sessions} sessions, a click every {phase.every:g} s for {phase.seconds:g} s"
    rows = [*_clicks(size, quiet), *_memory(before, quiet.peak, after)]
    loads = Clicks()
    loaded = await crowd(server, phase, [_loads(server, loads)])
    after = await idle(server, before + COMES_BACK + LOADED_BYTES)
    errors = len(loads.errors) + server.tracebacks()
    note = f"{len(loads.seconds)} looks at a heavy model, up to {max(loads.seconds, default=0):.1f} s each"
    return [
        *rows,
        *_clicks("the same while models load and texts run", loaded),
        Row("errors of those who load, tracebacks in the log", f"{errors}", note, "none", errors == 0),
        *_memory(before, loaded.peak, after, LOADED_BYTES),
    ]


def _clicks(size: str, clicks: Clicks) -> list[Row]:
    middle, high, most = clicks.share(0.5), clicks.share(0.95), clicks.share(1.0)
    wrong = len(clicks.errors)
    for line, count in clicks.errors.most_common(5):
        print(f"{count} x {line}", file=sys.stderr)
    for seconds, what in clicks.slowest:
        print(f"slow: {seconds:.2f} s  {what}", file=sys.stderr)
    return [
        Row(f"{size}: p95", f"{high:.2f} s", f"p50 {middle:.2f} s, most {most:.2f} s", f"< {P95_S:g} s", high < P95_S),
        Row("clicks made; errors", f"{len(clicks.seconds)}; {wrong}", "", "no error", wrong == 0),
    ]


def _memory(before: int, peak: int, after: int, models: int = 0) -> list[Row]:
    note = f"{before / 1e6:,.0f} MB before, {peak / 1e6:,.0f} MB at most"
    stays, most = COMES_BACK + models, AT_MOST
    return [
        Row(
            "memory above that at the peak", f"{(peak - before) / 1e6:,.0f} MB", note, _mb(most), peak - before <= most
        ),
        Row("when all have gone", f"{(after - before) / 1e6:,.0f} MB", note, _mb(stays), after - before <= stays),
    ]


def _mb(nbytes: int) -> str:
    return f"<= {nbytes / 1e6:,.0f} MB"


async def look_around(server: Server) -> None:
    """Open every page once, so that shared code and models are loaded."""
    async with visiting(server.url) as visitor:
        for page in PAGES:
            await visitor.visit(page, model=DEFAULT)


def _loads(server: Server, clicks: Clicks) -> Beside:
    """A visitor who switches between heavy models and runs a text of 242 tokens on each."""

    async def go(is_over: Callable[[], bool]) -> None:
        async with visiting(server.url) as visitor:
            for name in cycle(HEAVY):
                if is_over():
                    break
                clicks.add(await visitor.visit("representations", model=name, text=LONG))

    return go


if __name__ == "__main__":
    main()
