"""A cold start of the server: until its health check succeeds, and until a browser has painted the first chart."""

import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.pages.browser import plain_tab
from benchmarks.report import ROOT
from benchmarks.timing import Row

RUNS = 5
MOST_TIMES_BARE = 1.5
"""Most times as long as a Streamlit server with a single chart."""
FIRST_CHART = ".js-plotly-plot .main-svg"
BARE = "import streamlit as st\nimport plotly.graph_objects as go\nst.plotly_chart(go.Figure(go.Bar(y=[1, 2])))\n"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def rows() -> list[Row]:
    """Rows of the table for the server, against a minimal Streamlit app with one chart."""
    with tempfile.TemporaryDirectory() as folder:
        bare, app = Path(folder) / "bare.py", Path(folder) / "bare_app.py"
        bare.write_text(BARE)
        app.write_text(f"import streamlit as st\napp = st.App({str(bare)!r})\n")
        scripts = ((ROOT / "app.py", "/parameters"), (bare, "/"), (app, "/"))
        starts = [[_plain_start(script, page) for script, page in scripts] for _ in range(RUNS)]
        debugged = [(_debugged_start(ROOT / "app.py", "/parameters"), _debugged_start(bare, "/")) for _ in range(RUNS)]
    ours, theirs, as_app = (
        [statistics.median(times) for times in zip(*each, strict=True)] for each in zip(*starts, strict=True)
    )
    slow, bare_slow = (statistics.median(times) for times in zip(*debugged, strict=True))
    messages = f"last message {ours[2]:.2f} s after the start, the bare one's {theirs[2]:.2f} s"
    return [
        _row("server start to health", ours[0], theirs[0], f"as an st.App {as_app[0]:.2f} s"),
        _row("server start to first chart", ours[1], theirs[1], messages),
        Row(
            "the same with Playwright's debugger attached",
            f"{slow:.2f} s",
            f"{bare_slow:.2f} s bare Streamlit",
            "told, no budget",
            True,
        ),
    ]


def _row(name: str, seconds: float, bare: float, parts: str) -> Row:
    """A time and that of minimal Streamlit in the same run; met within MOST_TIMES_BARE of it."""
    beside = f"{bare:.2f} s bare Streamlit: {seconds / bare:.2f}x; {parts}"
    return Row(name, f"{seconds:.2f} s", beside, f"<= {MOST_TIMES_BARE}x", seconds <= MOST_TIMES_BARE * bare)


def chromium() -> str:
    """Path of the browser, which `make bench` sets."""
    return os.environ.get("CHROMIUM", "/usr/bin/chromium")


def _plain_start(script: Path, page: str) -> tuple[float, float, float]:
    """Seconds from the process's start to a healthy server, the first painted chart, and its last message before that.

    The browser already runs.
    """
    with plain_tab(chromium(), FLAGS) as tab:
        start = time.perf_counter()
        with served(script) as (url, _):
            health = time.perf_counter() - start
            tab.open(url + page)
            tab.wait_for(FIRST_CHART)
            chart = time.perf_counter() - start
            return health, chart, chart - float(tab.wait_until("performance.now() - window.__received")) / 1000


def _debugged_start(script: Path, page: str) -> float:
    """Seconds from the process's start to the first painted chart in Playwright's browser."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        start = time.perf_counter()
        with served(script) as (url, _):
            tab.goto(url + page)
            tab.wait_for_selector(FIRST_CHART, timeout=60_000)
            seconds = time.perf_counter() - start
        browser.close()
    return seconds


@contextlib.contextmanager
def served(script: Path, environment: Mapping[str, str] | None = None) -> Iterator[tuple[str, int]]:
    """Serve a Streamlit script on a free port; yields address and process id once the health check succeeds.

    Args:
        script: the script.
        environment: additional environment variables.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    command = [sys.executable, "-m", "streamlit", "run", str(script), *options]
    variables = {**os.environ, **(environment or {})}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=ROOT, env=variables, **quiet)
    url = f"http://127.0.0.1:{port}"
    pause = threading.Event()
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
                if answer.status == 200:
                    break
            pause.wait(0.02)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(10)
