"""The attention page: atlas with 512 tokens, head switches with 128, one head with 8,192 tokens; against BertViz."""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.models.trace import CHECKPOINT
from benchmarks.pages import long_text
from benchmarks.pages.browser import RECEIVED
from benchmarks.pages.layers import STILL
from benchmarks.pages.model_view import model_view
from benchmarks.pages.server import FLAGS, chromium, served
from benchmarks.report import ROOT
from benchmarks.timing import PEAK, Row

SWITCHES = 24
PAINTED = ".stage[data-full='true']"
OPENED = """(root) => {
  const cell = root.getRootNode().activeElement.dataset, name = `${cell.layer}.${cell.head}`;
  const start = performance.now();
  window.__opened = new Promise(done => {
    const look = () => root.querySelector(`.stage[data-shown='${name}'][data-full='true']`)
      ? requestAnimationFrame(() => done([performance.now() - start, window.__received - start]))
      : requestAnimationFrame(look);
    look(); }); }"""
LONG = """
import json, sys, time
import torch, transformers
from pathlib import Path
transformers.logging.set_verbosity_error()
from bertviz_core.attention.atlas import pooled_map
from bertviz_core.models.loading import load_model
from bertviz_core.settings import Settings
from bertviz_core.models.sources import folder_source
from bertviz_core.trace.tokenization import tokenize
from bertviz_core.trace.tokenization import load_tokenizer
from bertviz_core.trace.run import trace
settings = Settings.from_environment(any_folder=True)
source = folder_source("long", Path(sys.argv[1]))
loaded = load_model(source, settings)
tokens = tokenize(load_tokenizer(source, settings), "one two three four " * 2100)
start = time.perf_counter()
found = trace(loaded, tokens)
run = time.perf_counter() - start
times = []
for layer, head in ((0, 0), (1, 3), (2, 5), (11, 7), (21, 11)):
    start = time.perf_counter()
    pooled_map(found, layer, head)
    times.append(time.perf_counter() - start)
print(json.dumps([len(tokens), run, sorted(times)[2], peak() * 2**20 / 1e9]))
"""
MODERNBERT = (
    CHECKPOINT.replace("BertModel(transformers.BertConfig(vocab_size=1000))", "ModernBertModel(CONFIG)")
    .replace(
        "torch.manual_seed(0)",
        "torch.manual_seed(0)\nCONFIG = transformers.ModernBertConfig(vocab_size=1000, pad_token_id=0, bos_token_id=2, "
        "eos_token_id=3, cls_token_id=2, sep_token_id=3)",
    )
    .replace("model_max_length=512", "model_max_length=8192")
)


def rows() -> list[Row]:
    """Rows of the table for the attention page."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        base.mkdir()
        _python(CHECKPOINT, base)
        peer = model_view(str(base))
        found = [
            *_browser_rows("base", folder, peer.megabytes, peer.write_s),
            *_browser_rows("all-MiniLM-L6-v2", folder, 0, 0),
        ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "long").mkdir()
        _python(MODERNBERT, Path(folder) / "long")
        seq, run, head, peak = _python(PEAK + LONG, Path(folder) / "long")
        in_app = long_text.rows(folder)
    work = f"one head at {seq:,.0f} tokens, ModernBERT-base shape (run: {run:.0f} s)"
    return [
        *found,
        Row(work, f"{head:.2f} s", "eager needs 70 GB", "< 1 s", head < 1),
        Row("peak memory of that process", f"{peak:.2f} GB", "eager needs 70 GB", "< 6 GB", peak < 6),
        *in_app,
    ]


def _browser_rows(model: str, folder: str, peer_mb: float, peer_s: float) -> list[Row]:
    """Atlas with 512 tokens and head switches with 128, in a browser."""
    os.environ["INSIDE_BERT_MODELS_DIR"] = folder
    with served(ROOT / "app.py") as (url, _), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.add_init_script(RECEIVED)
        received: list[int] = []
        page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(len(data))))
        after, sizes = _atlas(page, f"{url}/attention?model={model}&text={_text(510)}", received)
        times = _switches(page, f"{url}/attention?model={model}&text={_text(126)}", _row_by_row)
        far = _switches(page, f"{url}/attention?model={model}&text={_text(125)}", _diagonally)
        browser.close()
    painted = sorted(each for each, _ in times)
    middle, high = statistics.median(painted), painted[int(len(painted) * 0.95) - 1]
    unsent, last = (statistics.median(each) for each in zip(*far, strict=True))
    size, largest = sum(sizes), f"the largest {max(sizes) / 1e6:.2f} MB"
    peer = f"BertViz at 128 tokens: {peer_mb:.0f} MB, {peer_s:.1f} s to write" if peer_mb else ""
    return [
        Row(f"atlas at 512 tokens, {model}, after the run", f"{after:.2f} s", peer, "<= 2 s", after <= 2),
        Row("all messages up to then", f"{size / 1e6:.2f} MB", largest, "<= 1 MB", size <= 1e6),
        Row(f"another head at 128 tokens, {model}, p50", f"{middle:.0f} ms", "", "<= 150 ms", middle <= 150),
        Row("the same, p95", f"{high:.0f} ms", "", "<= 300 ms", high <= 300),
        Row(
            "the same, of another layer, none of which was sent ahead",
            f"{unsent:.0f} ms",
            f"the server's last message after {last:.0f} ms",
            "<= 300 ms",
            unsent <= 300,
        ),
    ]


def _atlas(page: Page, address: str, received: list[int]) -> tuple[float, list[int]]:
    """Seconds from the end of the run to the painted atlas and head, and the bytes of each message by then."""
    page.goto(address.split("&text")[0], timeout=120_000)
    page.wait_for_selector(PAINTED, timeout=120_000)  # loads the model, so that only the run is measured
    page.goto("about:blank")
    received.clear()
    page.goto(address, wait_until="commit")
    page.get_by_text("tokens, run in").wait_for(timeout=120_000)
    ended = time.perf_counter()
    page.wait_for_selector(PAINTED, timeout=120_000)
    return time.perf_counter() - ended, list(received)


def _row_by_row() -> Iterator[Sequence[str]]:
    """Key presses that visit every head at most once: along a layer, then back along the next."""
    for switch in range(1, SWITCHES + 3):
        yield ["ArrowDown" if switch % 12 == 0 else "ArrowRight" if switch // 12 % 2 == 0 else "ArrowLeft"]


def _diagonally() -> Iterator[Sequence[str]]:
    """Key presses to heads that the browser has not received: each in another layer, away from the last one."""
    for _ in range(5):  # enough for a model of six layers
        yield "ArrowDown", "ArrowRight"


def _switches(page: Page, address: str, walk: Callable[[], Iterable[Sequence[str]]]) -> list[tuple[float, float]]:
    """Milliseconds from the key press to the painted map of another head, and to the server's last message before it.

    Those of the first two are left out.
    """
    page.goto(address)
    page.wait_for_selector(PAINTED, timeout=120_000)
    page.wait_for_selector(STILL)
    times: list[tuple[float, float]] = []
    page.locator(".cell[tabindex='0']").focus()
    for keys in walk():
        for key in keys:
            page.keyboard.press(key)
        page.locator(".attention").evaluate(OPENED)
        page.keyboard.press("Enter")
        painted, last = page.evaluate("window.__opened")
        times.append((float(painted), float(last)))
        page.wait_for_selector(STILL)
    return times[2:]


def _text(words: int) -> str:
    return urllib.parse.quote(" ".join(("one two three four " * words).split()[:words]))


def _python(code: str, folder: Path) -> Any:
    """Run a program in a new process, so that its peak memory is its own, and parse the JSON it prints last."""
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    last = re.findall(r"^\[.*\]$", done.stdout, re.MULTILINE)
    return json.loads(last[-1]) if last else None
