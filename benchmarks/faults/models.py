"""Hostile models: each gives its own reader one message, and hardly slows other readers down.

Some are just within the limits and are built: their reader gets the pages, and others do not wait longer for that.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.faults.cases import one_sentence, row, summary, went_well
from benchmarks.load.server import Server, running
from benchmarks.load.visitor import Visitor, VisitResult, visiting
from benchmarks.report import ROOT
from benchmarks.timing import Row

MAKE = """
import json, sys
from pathlib import Path
from tests.helpers.hostile import CONFIGS, MILLION, REPEATS, TOKENIZERS, set_json
from tests.helpers.tiny_models import save_tiny
home, names = Path(sys.argv[1]), {}
def folder(words, kind):
    name = f"m{len(names)}"
    names[name] = (kind, words)
    (home / name).mkdir(parents=True)
    return home / name
for words, (entries, _) in CONFIGS.items():
    (folder(words, "config") / "config.json").write_text('{"model_type": "bert", ' + entries + "}")
for family, entries in REPEATS.items():
    path = folder(f"{family}: a million times {next(iter(entries))}", "config")
    (path / "config.json").write_text(json.dumps({"model_type": family, **entries}))
layers = {"model_type": "bert", "num_hidden_layers": 2000}
(folder("2,000 layers, as many as an entry may ask for", "modules") / "config.json").write_text(json.dumps(layers))
towers = {"model_type": "switch_transformers", "num_experts": 2000, "num_layers": 200, "num_sparse_encoder_layers": 200}
(folder("2,000 experts in each of 200 layers", "modules") / "config.json").write_text(json.dumps(towers))
layers = {"model_type": "bert", "num_hidden_layers": 90}
(folder("90 layers, which pass", "passes") / "config.json").write_text(json.dumps(layers))
experts = {**towers, "num_layers": 2, "num_decoder_layers": 2, "num_experts": 480, "d_model": 16, "d_ff": 16, "d_kv": 4}
experts |= {"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_heads": 4}
(folder("4,900 modules, which just pass", "passes") / "config.json").write_text(json.dumps(experts))
for words, (make, _) in TOKENIZERS.items():
    make(save_tiny("bert", folder(words, "tokenizer")))
print(json.dumps(names))
"""
PAGES = {
    "config": ("", "parameters", "tokens"),
    "modules": ("architecture", "parameters"),
    "passes": ("", "parameters", "architecture"),
    "tokenizer": ("tokens",),
}
TEXT = "a" * 64 + "!"
WAITS_S, GROWS = 1.0, 50 * 1024**2
ALONE = 10
FIRST = 60 * 1024**2
"""Memory of the server after the first trial, besides the trial itself: the library's modules."""


def rows(home: Path) -> list[Row]:
    """Rows of the table for hostile models."""
    models = home / "models"
    done = subprocess.run([sys.executable, "-c", MAKE, str(models)], cwd=ROOT, check=True, capture_output=True)
    names: dict[str, tuple[str, str]] = json.loads(done.stdout.splitlines()[-1])
    with running(home, {"INSIDE_BERT_CHILD_SECONDS": "10"}) as server:
        return asyncio.run(_all(server, names))


async def _all(server: Server, names: dict[str, tuple[str, str]]) -> list[Row]:
    async with visiting(server.url) as innocent:
        alone = max([(await _look(innocent, number)).seconds for number in range(ALONE)][1:])
        found = []
        for name, (kind, words) in names.items():
            found.append(await _opened(server, innocent, name, kind, words, alone))
    return found


async def _opened(server: Server, innocent: Visitor, name: str, kind: str, words: str, alone: float) -> Row:
    """One reader opens a hostile model, while another reads pages of the bundled one."""
    before, seen, number = server.rss, [], 0
    opening = asyncio.create_task(_pages(server, name, kind))
    while not opening.done():
        number += 1
        seen.append(await _look(innocent, f"{name} {number}"))
    pages = await opening
    waited, grown = max((each.seconds for each in seen), default=0.0) - alone, server.rss - before
    passes = kind == "passes"
    answered = all(not page.errors if passes else one_sentence(page) for page in pages)
    holds = answered and waited <= WAITS_S and all(map(went_well, seen)) and grown <= GROWS + FIRST
    holds = holds and server.alive and not server.tracebacks()
    return row(
        f"{kind}: {words}",
        summary(pages),
        f"another reader waits {max(waited, 0):.1f} s longer at most; {max(grown, 0) / 1e6:,.0f} MB more",
        f"{'no error' if passes else 'one sentence'}, <= {WAITS_S:.0f} s, <= {(GROWS + FIRST) / 1e6:.0f} MB",
        holds,
    )


async def _pages(server: Server, name: str, kind: str) -> list[VisitResult]:
    async with visiting(server.url) as visitor:
        return [await visitor.visit(page, model=name, text=TEXT) for page in PAGES[kind]]


async def _look(visitor: Visitor, number: object) -> VisitResult:
    return await visitor.visit("tokens", text=f"another text {number}")
