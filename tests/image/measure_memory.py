"""Memory of one replica, step by step: the table in docs/deployment.md.

python measure_memory.py starts a dashboard of this checkout on a free port and prints the table with date and machine.
"""

import datetime
import importlib.metadata
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote_plus

import session

ROOT = Path(__file__).parents[2]
TEXTS = 10
SESSIONS = 10
STILL_S = 6
WORDS = ("time", "water", "house", "light", "stone", "river", "table", "paper", "night", "green", "glass", "music")


def memory(process: int) -> tuple[int, int]:
    """Resident memory of a process in MiB, now and at its peak."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    return found["VmRSS"] // 1024, found["VmHWM"] // 1024


def settled(process: int) -> tuple[int, int]:
    """Memory once it has been stable within 1 MiB for some seconds, since background imports have ended."""
    pause = threading.Event()
    before, still = memory(process), 0
    while still < STILL_S:
        pause.wait(1)
        now = memory(process)
        still = still + 1 if abs(now[0] - before[0]) <= 1 else 0
        before = now
    return before


def text(tokens: int, word: str) -> str:
    """A query string with a text of this many tokens, including [CLS] and [SEP]."""
    return f"text={quote_plus(' '.join([word] * (tokens - 2)))}"


def steps(process: int, url: str) -> None:
    row("answering, no visitor yet", memory(process))
    with session.opened(url, {}) as tab:
        session.drawn(tab)
        row("first page drawn, torch and transformers imported", settled(process))
        session.drawn(tab, text(128, WORDS[0]), "attention")
        row("bundled model loaded, attention at 128 tokens", settled(process))
        session.drawn(tab, text(512, WORDS[0]), "attention")
        row("the same at 512 tokens", settled(process))
        session.drawn(tab, text(512, WORDS[0]), "representations")
        row("hidden states at 512 tokens", settled(process))
    for word in WORDS[1 : TEXTS + 1]:
        with session.opened(url, {}) as tab:
            session.drawn(tab, text(512, word), "attention")
    row(f"{TEXTS} more texts of 512 tokens", settled(process))
    with ExitStack() as tabs:
        for _ in range(SESSIONS):
            session.drawn(tabs.enter_context(session.opened(url, {})), text(128, WORDS[0]), "attention")
        row(f"{SESSIONS} sessions open at once", settled(process))


def row(what: str, found: tuple[int, int]) -> None:
    sys.stdout.write(f"| {what} | {found[0]:,} | {found[1]:,} |\n")
    sys.stdout.flush()


def main() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("torch", "transformers", "streamlit")
    )
    sys.stdout.write(
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.machine()}, Python "
        f"{platform.python_version()}, {versions}\n\n| step | MiB now | MiB at most so far |\n| --- | --- | --- |\n"
    )
    with tempfile.TemporaryDirectory() as home, open(Path(home) / "log", "wb") as log:
        environment = os.environ | {"HOME": home, "INSIDE_BERT_ALLOW_HUB": "0"}
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
        server = subprocess.Popen(
            [*command, "--server.address", "127.0.0.1"], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
        try:
            pause = threading.Event()
            while server.poll() is None:
                try:
                    urllib.request.urlopen(f"{url}/_stcore/health", timeout=5).close()
                    break
                except OSError:
                    pause.wait(0.05)
            steps(server.pid, url)
        finally:
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    main()
