"""The Journey: its first message and drawing, 24 layers x 512 tokens, and clicks that open a layer, head and cell."""

import base64
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Sequence

from playwright.sync_api import Page, sync_playwright

from benchmarks.models.trace import CHECKPOINT
from benchmarks.pages.layers import STILL, TEXT
from benchmarks.pages.server import FLAGS, chromium, served
from benchmarks.report import ROOT
from benchmarks.timing import Row
from bertviz_core import open_model
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.journey import payload
from bertviz_core.figures.journey.html_file import HTML, script, style
from bertviz_core.journey.results import Journey

RUNS, CLICKS = 7, 24
SHAPES = {"12": "", "24": "num_hidden_layers=24, hidden_size=240, num_attention_heads=12, "}
"""Layers -> further settings of a model of BERT-base shape, whose values are random."""
DRAWN = """async (text) => {
  const data = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)), root = document.querySelector('.journey');
  root.view = undefined;
  root.querySelector('.bar').replaceChildren();
  const start = performance.now();
  journeyView({ data, parentElement: document.body, setStateValue: () => {} });
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""
"""Milliseconds from a message to the painted drawing."""
CLICKED = """async (root, [name, shown]) => {
  const start = performance.now();
  let longest = 0, last = start;
  root.querySelector(`[data-name="${name}"]`).dispatchEvent(new MouseEvent('click', { bubbles: true }));
  const open = () => !root.textContent.includes('one moment') && root.querySelector(shown);
  for (;;) {
    const now = await new Promise(requestAnimationFrame);
    [longest, last] = [Math.max(longest, now - last), now];
    if (open()) return [performance.now() - start, longest];
  }
}"""
"""Milliseconds from a click to the painted part, and the longest frame meanwhile."""


def rows() -> list[Row]:
    """Rows of the table for the Journey."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        tab.set_content(f"<style>{style()}</style>{HTML}")
        tab.add_script_tag(content=script())
        drawings = [row for layers, tokens in ((12, 128), (12, 512), (24, 512)) for row in _drawn(tab, layers, tokens)]
        with served(ROOT / "app.py") as (url, _):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(f"{url}/journey?text={urllib.parse.quote(TEXT)}", timeout=120_000)
            page.wait_for_selector('[data-name="Open layer 0"]', timeout=120_000)
            page.wait_for_selector(STILL, timeout=120_000)
            clicks = _clicks(page)
        browser.close()
    return [*drawings, *clicks]


def _drawn(tab: Page, layers: int, tokens: int) -> list[Row]:
    """Size of the first message, and the time from a run to the painted drawing."""
    journey = _journey(layers, tokens)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        message = payload.journey_payload(journey, theme=LIGHT, path=payload.Path())
        made_s = time.perf_counter() - start
        times.append(made_s + tab.evaluate(DRAWN, base64.b64encode(message).decode()) / 1000)
    middle, most = statistics.median(times), 1.0 if layers == 12 else 1.5
    work = f"Journey of {tokens} tokens x {layers} layers"
    size, most_kb = len(message) / 1000, 100 if tokens == 128 else 300
    drawn = Row(f"{work}, drawn from its numbers", f"{middle:.2f} s", "", f"<= {most:g} s", middle <= most)
    if layers > 12:
        return [drawn]
    return [drawn, Row("its first message", f"{size:.0f} kB", "", f"<= {most_kb} kB", size <= most_kb)]


def _journey(layers: int, tokens: int) -> Journey:
    """The journey of a text through a model of random values."""
    with tempfile.TemporaryDirectory() as folder:
        code = CHECKPOINT.replace("vocab_size=1000", f"{SHAPES[str(layers)]}vocab_size=1000")
        subprocess.run([sys.executable, "-c", code, folder], capture_output=True, check=True)
        return open_model(folder).journey("one two three four " * (tokens // 4) if tokens < 512 else "one " * 510).data


def _clicks(page: Page) -> list[Row]:
    """Times of clicks that open layers, heads and cells, each for the first time, on a page at rest."""
    times: dict[str, list[float]] = {"layer": [], "head": [], "cell": []}
    frames: list[float] = []

    def click(part: str, name: str, shown: str) -> None:
        page.wait_for_selector(STILL)
        page.evaluate("() => new Promise(requestIdleCallback)")
        used, longest = page.locator(".journey").evaluate(CLICKED, [name, shown])
        times[part].append(used)
        frames.append(longest)

    for turn in range(CLICKS):
        layer, head = turn % 6, turn // 6
        click("layer", f"Open layer {layer}", ".ribbon")
        click("head", f"Head {head} of layer {layer}", f'[data-name="Head {head} of layer {layer}"][aria-pressed=true]')
        key = page.locator('[data-name^="Key "]').last.get_attribute("data-name")
        click("cell", str(key), f'[data-name="{key}"][aria-pressed=true]')
        page.locator(".journey").evaluate(CLICKED, [f"Close layer {layer}", f'[data-name="Open layer {layer}"]'])
    return [row for part, each in times.items() for row in _percentiles(part, sorted(each))] + [
        Row("longest frame while it opens", f"{max(frames):.0f} ms", "", "<= 100 ms", max(frames) <= 100)
    ]


def _percentiles(part: str, times: Sequence[float]) -> list[Row]:
    middle, high = statistics.median(times), times[int(len(times) * 0.95) - 1]
    return [
        Row(f"Journey: click to an open {part}, painted, p50", f"{middle:.0f} ms", "", "<= 100 ms", middle <= 100),
        Row("the same, p95", f"{high:.0f} ms", "", "<= 250 ms", high <= 250),
    ]
