"""Run one instance of the dashboard in a new process, with its address, memory and log."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event

import psutil

from benchmarks.report import ROOT

UP_S = 120
SESSION_TTL_S = 5
"""Seconds that a session without its tab is kept, so that freed memory can be measured; 120 by default."""
TRACEBACK = re.compile(r"Traceback\W.{0,24}most recent call last")
"""Start of a traceback, with or without colours."""


class Server:
    """A running instance."""

    def __init__(self, url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.url, self._process, self._log = url, process, log
        self._seen = psutil.Process(process.pid)
        self._read = 0

    @property
    def rss(self) -> int:
        """Bytes of memory of the process now."""
        return int(self._seen.memory_info().rss)

    @property
    def peak(self) -> int:
        """Peak memory of the process in bytes (Linux)."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return 1024 * int(re.findall(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)[0])

    @property
    def processor_s(self) -> float:
        """Seconds of processors that it and its isolated processes have used so far."""
        return processor_s(self._process.pid)

    @property
    def threads(self) -> int:
        """Threads that the process has now."""
        return int(self._seen.num_threads())

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return self._process.poll() is None

    def tracebacks(self) -> int:
        """Number of tracebacks in its log since the last call."""
        text = self._log.read_text(errors="replace")
        fresh, self._read = text[self._read :], len(text)
        return len(TRACEBACK.findall(fresh))


@contextlib.contextmanager
def running(home: Path, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run an instance on a free port of loopback with its own home and without the Hub; yields once it serves.

    Args:
        home: its home; a subfolder `models` contains its models.
        settings: environment variables that differ from the defaults here, such as INSIDE_BERT_...

    Raises:
        RuntimeError: it did not start.
    """
    home.mkdir(parents=True, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1", "--server.headless", "true"]
    command += ["--server.disconnectedSessionTTL", str(SESSION_TTL_S)]
    with open(home / "server.log", "ab") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(home, settings), stdout=log, stderr=subprocess.STDOUT
        )
    server = Server(f"http://127.0.0.1:{port}", process, home / "server.log")
    try:
        if not until(lambda: not server.alive or healthy(server.url), UP_S) or not server.alive:
            raise RuntimeError(f"The server did not come up: see {home / 'server.log'}.")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def environment(home: Path, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment variables of a process that ignores this machine's caches, models and settings."""
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("INSIDE_BERT_", "STREAMLIT_"))
    }
    own = {
        "HOME": str(home),
        "HF_HOME": str(home / "hub"),
        "INSIDE_BERT_ALLOW_HUB": "0",
        "INSIDE_BERT_COMPUTE_AHEAD": "0",
        "INSIDE_BERT_MODELS_DIR": str(home / "models"),
        "INSIDE_BERT_VECTOR_STORE_DIR": str(home / "store"),
    }
    return {**variables, **own, **(settings or {})}


def processor_s(pid: int) -> float:
    """Seconds of processors that a process and those that it has started, and which still run, have used so far."""
    process = psutil.Process(pid)
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def until(condition: Callable[[], bool], seconds: float, every: float = 0.05) -> bool:
    """Whether a condition becomes true within this many seconds."""
    pause, end = Event(), time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(every)
    return True


def healthy(url: str) -> bool:
    """Whether an instance, or one behind this address, responds."""
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=5) as answer:
        return bool(answer.status == 200)
    return False
