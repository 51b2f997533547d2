"""A switch of the layer on the representations page: from the key press to the painted figure."""

import statistics
import urllib.parse

from playwright.sync_api import Locator, Page, sync_playwright

from benchmarks.pages.server import FLAGS, chromium, served
from benchmarks.report import ROOT
from benchmarks.timing import Row

SWITCHES = 24
TEXT = "the bank of the river by the old python " * 14
"""128 tokens and a few more with the bundled tokenizer: 14 x 9 and two special ones."""
STILL = "[data-testid=stApp][data-test-script-state=notRunning]"
PAINTED = """() => {
  const picture = document.querySelector('.heatmaplayer image');
  const seen = () => { const p = document.querySelector('.heatmaplayer image');
    return p && (p.getAttribute('xlink:href') ?? p.getAttribute('href')); };
  const before = seen(), start = performance.now();
  window.__painted = new Promise(done => {
    const look = () => { const now = seen();
      if (now && now !== before) requestAnimationFrame(() => done(performance.now() - start));
      else requestAnimationFrame(look); };
    look();
  });
}"""


def rows() -> list[Row]:
    """Rows of the table for the layer switch."""
    with served(ROOT / "app.py") as (url, _), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"{url}/representations?view=Values&text={urllib.parse.quote(TEXT)}", timeout=120_000)
        times = sorted(switched(page, page.get_by_role("slider", name="Layer"), ("ArrowLeft", "ArrowRight"), SWITCHES))
        browser.close()
    middle, high = statistics.median(times), times[int(len(times) * 0.95) - 1]
    return [
        Row(
            "layer switch at 128 tokens, painted, p50",
            f"{middle:.0f} ms",
            "BertViz: 54 s to load",
            "<= 150 ms",
            middle <= 150,
        ),
        Row("the same, p95", f"{high:.0f} ms", "", "<= 300 ms", high <= 300),
    ]


def switched(page: Page, control: Locator, keys: tuple[str, str], count: int, most_ms: float = 120_000) -> list[float]:
    """Milliseconds from each step of a widget to the new heatmap, without the first two steps."""
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=most_ms)
    page.wait_for_selector(STILL, timeout=most_ms)
    control.focus()
    times = []
    for switch in range(count + 2):
        page.evaluate(PAINTED)
        page.keyboard.press(keys[switch // 3 % 2])
        times.append(float(page.evaluate("window.__painted")))
        page.wait_for_selector(STILL)
    return times[2:]
