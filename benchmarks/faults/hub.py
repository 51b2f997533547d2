"""The Hub unreachable, silent, or disconnecting: the page's message and its delay; half a file is never used."""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults.cases import one_sentence, row, summary, tiny, went_well
from benchmarks.load.server import environment, running
from benchmarks.load.visitor import VisitResult, visiting
from benchmarks.report import ROOT
from benchmarks.timing import Row
from tests.helpers.hub_server import Hub, running_hub

NAME = "lab/small"
SOON_S = 30.0
"""Most seconds until the message; the Hub's own client would retry for minutes."""
FETCH = """
import json, sys
from bertviz_core.errors import BertvizError
from bertviz_core.checkpoints.download import download
from bertviz_core.checkpoints.download import needed_files
from bertviz_core.models.loading import load_model
from bertviz_core.settings import Settings
from bertviz_core.models.sources import resolve
settings = Settings.from_environment()
source = resolve(sys.argv[1], settings)
try:
    download(needed_files(source, settings), settings, lambda done, total: None)
    loaded = load_model(resolve(sys.argv[1], settings), settings)
    print(json.dumps(["", sum(each.numel() for each in loaded.model.parameters())]))
except BertvizError as error:
    print(json.dumps([str(error), 0]))
"""


def rows(home: Path) -> list[Row]:
    """Rows of the table for the Hub."""
    found = [_page(home / "gone", "out of reach", f"http://127.0.0.1:{_free_port()}")]
    with _silent() as endpoint:
        found.append(_page(home / "silent", "silent: it takes the call and never answers", endpoint))
    tiny(home / "made", small=3)
    with running_hub() as hub:
        hub.repositories[NAME] = {path.name: path.read_bytes() for path in (home / "made" / "small").iterdir()}
        found.append(_half_a_header(home / "header", hub))
        found.append(_half_a_file(home / "half", hub))
    return found


def _page(home: Path, words: str, endpoint: str) -> Row:
    """A reader opens a model of the Hub; checks the message, and that another reader is served meanwhile."""
    with running(home, {"INSIDE_BERT_ALLOW_HUB": "1", "HF_ENDPOINT": endpoint}) as server:
        visit, other = asyncio.run(_two(server.url))
        fine = went_well(other) and server.alive and not server.tracebacks()
    outcome = f"said after {visit.seconds:.1f} s; another reader was served in {other.seconds:.1f} s meanwhile"
    holds = one_sentence(visit) and visit.seconds < SOON_S and fine
    return row(f"the Hub {words}", summary([visit]), outcome, f"one sentence in < {SOON_S:.0f} s", holds)


async def _two(url: str) -> tuple[VisitResult, VisitResult]:
    """One visitor who opens a model of the Hub, and one with the bundled model."""
    async with visiting(url) as first, visiting(url) as second:
        visit, other = await asyncio.gather(first.visit("parameters", model=NAME), second.visit("parameters"))
    return visit, other


def _half_a_header(home: Path, hub: Hub) -> Row:
    """The Hub disconnects within a small response: the page shows a message, and is complete once the Hub works."""
    with running(home, {"INSIDE_BERT_ALLOW_HUB": "1", "HF_ENDPOINT": hub.endpoint}) as server:
        hub.cut = 40
        visit, _ = asyncio.run(_two(server.url))
        hub.cut = None
        again, _ = asyncio.run(_two(server.url))
        fine = server.alive and not server.tracebacks()
    outcome = "the next look, with the Hub well, shows the model" if went_well(again) else summary([again])
    holds = one_sentence(visit) and visit.seconds < SOON_S and went_well(again) and fine
    return row("the Hub breaks off within its answer", summary([visit]), outcome, "one sentence, then the model", holds)


def _half_a_file(home: Path, hub: Hub) -> Row:
    """The Hub sends half of the weights: nothing is opened, and the next download is complete."""
    whole = len(hub.repositories[NAME]["model.safetensors"])
    hub.cut = whole // 2
    refusal, opened = _fetched(home, hub)
    half = [path for path in (home / "hub").rglob("snapshots/*/*.safetensors") if path.stat().st_size != whole]
    hub.cut = None
    healed, parameters = _fetched(home, hub)
    outcome = (
        f"no half file among the model's; then fetched whole, {parameters:,} parameters" if not half else str(half)
    )
    holds = bool(refusal) and not opened and not half and not healed and parameters > 0
    return row("the Hub sends half of the weights", refusal, outcome, "one sentence, nothing half is used", holds)


def _fetched(home: Path, hub: Hub) -> tuple[str, int]:
    """The error message of a download, or the number of parameters of the downloaded model."""
    variables = environment(home, {"INSIDE_BERT_ALLOW_HUB": "1", "HF_ENDPOINT": hub.endpoint})
    command = [sys.executable, "-c", FETCH, NAME]
    done = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True, timeout=6 * SOON_S
    )
    words, parameters = json.loads(done.stdout.splitlines()[-1])
    return words, parameters


def _free_port() -> int:
    """A free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _silent() -> Iterator[str]:
    """A server that accepts every connection and never responds."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        memory: list[socket.socket] = []

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    memory.append(listening.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        for each in memory:
            each.close()
