"""A text of 8,192 tokens in the dashboard: from the key press to the figure of another head, and memory."""

import os
import re
import statistics
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.pages.layers import STILL, switched
from benchmarks.pages.server import FLAGS, chromium, served
from benchmarks.report import ROOT
from benchmarks.timing import Row

RUN_MS = 900_000
SWITCHES = 6
TEXT = "one two three four " * 2100


def rows(folder: str) -> list[Row]:
    """Rows of the table for the long text, with the model "long" in this models folder."""
    os.environ["INSIDE_BERT_MODELS_DIR"] = folder
    with served(ROOT / "app.py") as (url, process), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"{url}/attention?model=long&layer=10&head=6", timeout=120_000)
        page.wait_for_selector(STILL, timeout=120_000)
        _run(page)
        times = switched(
            page, page.get_by_role("spinbutton", name=re.compile("^Head")), ("ArrowUp", "ArrowDown"), SWITCHES, RUN_MS
        )
        peak = _peak_gb(process)
        browser.close()
    middle = statistics.median(times) / 1000
    return [
        Row("another head at 8,192 tokens in the page, painted, p50", f"{middle:.2f} s", "", "< 1 s", middle < 1),
        Row("peak memory of the server", f"{peak:.2f} GB", "eager needs 70 GB", "< 6 GB", peak < 6),
    ]


def _run(page: Page) -> None:
    """Type the text into the sidebar, since it is too long for an address, and run the model."""
    page.get_by_label("Text", exact=True).fill(TEXT)
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Run the model").click(timeout=120_000)


def _peak_gb(process: int) -> float:
    """Peak memory of a process in GB."""
    found = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1e6 if found else float("nan")
