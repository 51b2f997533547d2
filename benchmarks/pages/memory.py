"""Memory of a server at rest, beside that of the libraries that it imports."""

import json
import subprocess
import sys
import threading
import time

import psutil

from benchmarks.pages.browser import plain_tab
from benchmarks.pages.server import FIRST_CHART, FLAGS, chromium, served
from benchmarks.report import ROOT
from benchmarks.timing import Row

MOST_MB = 600
REST_S, MOST_S = 6.0, 120.0
"""The server is at rest when its memory has not changed by a megabyte for so long; seconds after which it has to be."""
IMPORTS = ("streamlit", "pandas", "plotly.graph_objects", "torch", "transformers.models.bert.modeling_bert")
IMPORTED = """
import importlib, json, sys
import psutil
found = [psutil.Process().memory_info().rss]
for name in sys.argv[1:]:
    importlib.import_module(name)
    found.append(psutil.Process().memory_info().rss)
print(json.dumps(found))
"""


def rows() -> list[Row]:
    """Row of the table for the memory of a server that has drawn one page and imported its libraries."""
    with plain_tab(chromium(), FLAGS) as tab, served(ROOT / "app.py") as (url, pid):
        tab.open(f"{url}/parameters")
        tab.wait_for(FIRST_CHART)
        found = _at_rest(psutil.Process(pid))
    done = subprocess.run([sys.executable, "-c", IMPORTED, *IMPORTS], capture_output=True, text=True, check=True)
    sizes = [nbytes / 1e6 for nbytes in json.loads(done.stdout)]
    grown = zip(IMPORTS, sizes, sizes[1:], strict=False)
    parts = ", ".join(f"{name.partition('.')[0]} {after - before:.0f}" for name, before, after in grown)
    beside = f"{sizes[-1]:.0f} MB the imports alone: Python {sizes[0]:.0f}, {parts}"
    return [Row("memory of a server at rest", f"{found:.0f} MB", beside, f"<= {MOST_MB} MB", found <= MOST_MB)]


def _at_rest(process: psutil.Process) -> float:
    """Megabytes of a process once they have stopped to change.

    Raises:
        TimeoutError: they go on changing.
    """
    pause, end = threading.Event(), time.monotonic() + MOST_S
    last, since = 0.0, time.monotonic()
    while time.monotonic() < end:
        now = process.memory_info().rss / 1e6
        if abs(now - last) >= 1:
            last, since = now, time.monotonic()
        elif time.monotonic() - since >= REST_S:
            return now
        pause.wait(0.2)
    raise TimeoutError("the server's memory goes on changing")
