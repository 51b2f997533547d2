"""A visitor's first picture of every page, on a warm server: from the address to the painted drawing.

Beside each stands a bare Streamlit page with one plotly heatmap, in the same browser and by turns.
"""

import json
import statistics
import tempfile
from pathlib import Path

from benchmarks.pages.browser import Tab, plain_tab
from benchmarks.pages.server import FLAGS, chromium, served
from benchmarks.report import ROOT
from benchmarks.timing import Row
from bertviz_core.figures.pages import FIRST, PAGES

VISITS = 7
MOST_TIMES_BARE = 1.15
BARE = (
    "import numpy as np\nimport plotly.graph_objects as go\nimport streamlit as st\n"
    "st.plotly_chart(go.Figure(go.Heatmap(z=np.random.default_rng(0).random((30, 30)))))\n"
)
WITH_PAIR = ("causes", "words")
"""Pages whose first view compares two texts."""
DRAWN = """(() => {
  const own = ".st-key-attention_heads, .st-key-journey, .st-key-architecture_tree, .st-key-corpus_plane";
  const roots = [...document.querySelectorAll(own)].flatMap((host) => [host, ...host.querySelectorAll("*")])
    .map((each) => each.shadowRoot).filter(Boolean);
  const drawing = roots.some((each) => each.querySelector("canvas, svg rect, svg path, tr[data-module]"));
  const message = document.querySelector(".st-key-checkpoint_no_run");
  return drawing || message || document.querySelector(".js-plotly-plot .main-svg, .stDataFrame canvas")
    ? `${performance.now()} ${window.__received}` : "";
})()"""
"""Milliseconds since the navigation, and until the server's last message, once a chart, a drawing, a table or the
message in its place stands; "" before."""


def rows() -> list[Row]:
    """Rows of the table, one for each page."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE)
        with served(ROOT / "app.py") as (url, _), served(bare) as (plain, _), plain_tab(chromium(), FLAGS) as tab:
            return [_row(tab, name, url, plain) for name in PAGES]


def _row(tab: Tab, name: str, url: str, plain: str) -> Row:
    pair = "?pair=I+love+coding+in+python." if name in WITH_PAIR else ""
    address = f"{url}/{'' if name == FIRST else name}{pair}"
    for warm in (address, plain):
        _painted_ms(tab, warm)
    both = [(*_painted_ms(tab, address), *_painted_ms(tab, plain)) for _ in range(VISITS)]
    ours, received, theirs, bare_received = (statistics.median(times) for times in zip(*both, strict=True))
    messages = f"last message after {received / 1000:.2f} s, the bare one's after {bare_received / 1000:.2f} s"
    return Row(
        f"first picture of {PAGES[name].title}, warm server",
        f"{ours / 1000:.2f} s",
        f"{theirs / 1000:.2f} s a bare heatmap: {ours / theirs:.2f}x; {messages}",
        f"<= {MOST_TIMES_BARE}x",
        ours <= MOST_TIMES_BARE * theirs,
    )


def _painted_ms(tab: Tab, address: str) -> tuple[float, float]:
    """Milliseconds from the navigation to the first picture and to the server's last message before it."""
    tab.open("about:blank")
    tab.open(address)
    place = json.dumps(address.partition("?")[0])  # the page takes texts out of its address
    painted, received = str(tab.wait_until(f"location.href.startsWith({place}) && {DRAWN}")).split()
    return float(painted), float(received)
