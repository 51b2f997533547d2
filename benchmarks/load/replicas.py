"""100 visitors on three instances behind deploy/nginx.conf: how long their clicks take, and what memory each takes.

`make load-replicas`: like `make load`, with the cookie that assigns each visitor to one instance; then again with a
hostile visitor, who repeats requests that once stopped a server. Loopback only; all visitors have the same address,
like a class behind one router. In the shipped file, only nginx's own port and the addresses of the replicas are
replaced.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from benchmarks import report
from benchmarks.load.hostile import Harm, hostile, set_traps
from benchmarks.load.instance import DEFAULT, EVERY, P95_S, PAGES, SECONDS, look_around
from benchmarks.load.run import Clicks, Phase, crowd
from benchmarks.load.server import UP_S, Server, healthy, processor_s, running, until
from benchmarks.report import ROOT
from benchmarks.timing import Row, table

REPLICAS, SESSIONS = 3, 100
HOSTILE_P95_S = 3.0
"""Budget for other visitors during the hostile requests."""
SHIPPED = ROOT / "deploy" / "nginx.conf"
REPLICA, LISTEN = "server replica:8501 max_fails=2 fail_timeout=5s;", "listen 8080;"


class Proxied:
    """Several instances behind one address."""

    def __init__(self, url: str, servers: list[Server], nginx: int) -> None:
        self.url, self.servers, self._nginx = url, servers, nginx

    @property
    def rss(self) -> int:
        """Bytes of memory of all instances now."""
        return sum(server.rss for server in self.servers)

    @property
    def processor_s(self) -> dict[str, float]:
        """Seconds of processors used so far: by the instances, by nginx, and by the visitors, this process."""
        own = psutil.Process().cpu_times()
        return {
            "the instances": sum(server.processor_s for server in self.servers),
            "nginx": processor_s(self._nginx),
            "the visitors": own.user + own.system,
        }


def main() -> None:
    """Print the table; exit code 1 if a budget is missed. Only a run of full size writes the document."""
    parser = argparse.ArgumentParser(prog="make load-replicas", description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--every", type=float, default=EVERY)
    arguments = parser.parse_args()
    if shutil.which("nginx") is None:
        print("skipped: there is no nginx on this machine (Debian: apt-get install nginx-light)")
        return
    others = os.getloadavg()[0]
    rows = measured(Phase(arguments.sessions, arguments.seconds, arguments.every, PAGES, DEFAULT))
    print(table(rows))
    if arguments.sessions >= SESSIONS and arguments.seconds >= SECONDS and arguments.every <= EVERY:
        cores = os.cpu_count() or 1
        note = f"Three instances, nginx and the visitors share {cores} cores, which had a load of {others:.1f} before."
        report.write("load-replicas", rows, note)
    sys.exit(0 if all(row.met for row in rows) else 1)


def measured(phase: Phase) -> list[Row]:
    """Rows of a crowd, and of the same crowd with a hostile visitor."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        home, harm = Path(folder), Harm()
        traps = set_traps(home / "traps")
        servers = [stack.enter_context(running(home / f"replica-{number}", traps)) for number in range(REPLICAS)]
        for server in servers:
            asyncio.run(look_around(server))
        before = [server.rss for server in servers]
        proxied = stack.enter_context(behind_nginx(home, servers))
        used = proxied.processor_s
        quiet = asyncio.run(crowd(proxied, phase))
        used = {name: seconds - used[name] for name, seconds in proxied.processor_s.items()}
        peaks = [server.peak for server in servers]
        wrong = sum(server.tracebacks() for server in servers)
        beside = asyncio.run(crowd(proxied, phase, [hostile(proxied.url, home / "traps", harm)]))
        harmed = sum(server.tracebacks() for server in servers) + sum(not server.alive for server in servers)
    size = f"{phase.sessions} sessions on {REPLICAS} replicas, a click every {phase.every:g} s for {phase.seconds:g} s"
    requests = ", ".join(f"{count} x {what}" for what, count in harm.requests.items())
    for line, count in harm.errors.most_common(5):
        print(f"hostile: {count} x {line}", file=sys.stderr)
    return [
        *_clicks(size, quiet, wrong, P95_S),
        _processors(used, len(quiet.seconds), phase),
        Row(
            "memory of each replica, at most",
            _megabytes(peaks),
            f"{_megabytes(before)} before",
            "told, no budget",
            True,
        ),
        *_clicks("the same, and a hostile visitor beside them: the others'", beside, harmed, HOSTILE_P95_S),
        Row(
            "what that one tried; what came of it but sentences",
            f"{sum(harm.requests.values())}; {sum(harm.errors.values())}",
            requests,
            "none",
            not harm.errors,
        ),
    ]


def _processors(used: Mapping[str, float], clicks: int, phase: Phase) -> Row:
    """What a click takes of the processors, and what there is for each if all are made at their time."""
    milliseconds = {name: 1000 * seconds / clicks for name, seconds in used.items()}
    there = 1000 * (os.cpu_count() or 1) * phase.every / phase.sessions
    parts = ", ".join(f"{taken:.0f} ms {name}" for name, taken in milliseconds.items())
    words = f"{parts}; {there:.0f} ms are there for a click every {phase.every:g} s"
    return Row("processors for a click", f"{sum(milliseconds.values()):.0f} ms", words, "told, no budget", True)


def _clicks(size: str, clicks: Clicks, wrong: int, most_s: float) -> list[Row]:
    """Rows of a crowd's clicks, and of faults in the logs."""
    for line, count in clicks.errors.most_common(5):
        print(f"{count} x {line}", file=sys.stderr)
    for seconds, what in clicks.slowest:
        print(f"slow: {seconds:.2f} s  {what}", file=sys.stderr)
    wrong, high = len(clicks.errors) + wrong, clicks.share(0.95)
    middle = f"p50 {clicks.share(0.5):.2f} s, most {clicks.share(1.0):.2f} s"
    return [
        Row(f"{size}: p95", f"{high:.2f} s", middle, f"< {most_s:g} s", high < most_s),
        Row("clicks made; errors and tracebacks", f"{len(clicks.seconds)}; {wrong}", "", "no error", wrong == 0),
    ]


@contextlib.contextmanager
def behind_nginx(home: Path, servers: list[Server]) -> Iterator[Proxied]:
    """Run the shipped proxy on a free port of loopback in front of these instances.

    Raises:
        RuntimeError: it did not start, or the shipped file lacks the lines to be replaced.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = SHIPPED.read_text(encoding="utf-8")
    if text.count(REPLICA) != 1 or text.count(LISTEN) != 1:
        raise RuntimeError(f"{SHIPPED.name} has no line {REPLICA!r}, or none {LISTEN!r}")
    lines = [REPLICA.replace("replica:8501", server.url.removeprefix("http://")) for server in servers]
    text = text.replace(REPLICA, "\n".join(lines)).replace(LISTEN, f"listen 127.0.0.1:{port};")
    (home / "nginx.conf").write_text(text.replace("/tmp/nginx", f"{home}/nginx"), encoding="utf-8")
    with open(home / "nginx.log", "wb") as log:
        command = ["nginx", "-c", str(home / "nginx.conf"), "-g", "daemon off;"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        if not until(lambda: process.poll() is not None or healthy(url), UP_S) or process.poll() is not None:
            raise RuntimeError(f"nginx did not come up: {(home / 'nginx.log').read_text()[-500:]}")
        yield Proxied(url, servers, process.pid)
    finally:
        process.terminate()
        process.wait(30)


def _megabytes(sizes: list[int]) -> str:
    return ", ".join(f"{nbytes / 1e6:,.0f}" for nbytes in sizes) + " MB"


if __name__ == "__main__":
    main()
