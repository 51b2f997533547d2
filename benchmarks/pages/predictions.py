"""A click on a token of the predictions page: from the click to the painted words at that position."""

import statistics
import tempfile
import urllib.parse
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.models.predictions import MINILM, saved
from benchmarks.pages.browser import RECEIVED
from benchmarks.pages.layers import STILL
from benchmarks.pages.server import FLAGS, chromium, served
from benchmarks.report import ROOT
from benchmarks.timing import Row

CLICKS = 15
TEXT = "the bank of the river by the old python " * 14
"""128 tokens: 14 x 9 and two special ones."""
MOST_MS = 120_000
PAINTED = """(position) => {
  window.__painted = new Promise((done) => addEventListener("mouseup", () => {
    const start = performance.now();
    const look = () => {
      const titles = [...document.querySelectorAll(".st-key-predictions_words .gtitle")];
      if (titles.some((title) => title.textContent.includes(`position ${position} `)))
        requestAnimationFrame(() => done([performance.now() - start, window.__received - start]));
      else requestAnimationFrame(look);
    };
    look();
  }, { once: true, capture: true }));
  return 0;
}"""


def rows() -> list[Row]:
    """Row of the table for the click."""
    with tempfile.TemporaryDirectory() as folder:
        saved(Path(folder) / "made", "BertForMaskedLM", **MINILM)
        environment = {"INSIDE_BERT_MODELS_DIR": folder}
        with served(ROOT / "app.py", environment) as (url, _), sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.add_init_script(RECEIVED)
            page.goto(f"{url}/predictions?model=made&text={urllib.parse.quote(TEXT)}", timeout=MOST_MS)
            times = clicked(page)
            browser.close()
    middle, received = (statistics.median(each) for each in zip(*times, strict=True))
    note = f"{min(times)[0]:.0f} to {max(times)[0]:.0f} ms; the server's last message after {received:.0f} ms"
    return [
        Row("click on a token of 128 to its words, painted, p50", f"{middle:.0f} ms", note, "<= 200 ms", middle <= 200)
    ]


def clicked(page: Page) -> list[tuple[float, float]]:
    """Milliseconds of each click, and until the server's last message before it was painted; without the first two."""
    page.wait_for_selector(".st-key-predictions_words .gtitle", timeout=MOST_MS)
    page.wait_for_selector(STILL, timeout=MOST_MS)
    times: list[tuple[float, float]] = []
    for position in range(3, 5 + CLICKS):
        token = page.locator(".st-key-predictions_text .js-plotly-plot .textpoint").nth(position)
        token.scroll_into_view_if_needed()
        page.evaluate(PAINTED, position)
        token.click(force=True)
        painted, received = page.evaluate("window.__painted")
        times.append((float(painted), float(received)))
        page.wait_for_selector(STILL)
    return times[2:]
