"""200 switches between models in one session: memory stops growing once every model has been opened."""

import asyncio
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.load.server import Server, running
from benchmarks.load.visitor import visiting
from benchmarks.report import ROOT
from benchmarks.timing import Row

MODELS, SWITCHES, SETTLED = 8, 200, 50
"""Memory varies with the models loaded at the moment, so the median of 50 measurements is used."""
GROWS = 48 * 1024**2
"""Most growth after the first hundred switches: a quarter of the size of one copy of each model."""
LOADED_BYTES = 64 * 1024**2
"""Limit for about two of the models, so that nearly every switch loads one."""
MAKE = """
import sys
import transformers
from pathlib import Path
from tests.helpers.tiny_models import tiny_tokenizer, vocabulary
config = transformers.BertConfig(vocab_size=len(vocabulary()), hidden_size=512, num_hidden_layers=2,
                                 num_attention_heads=8, intermediate_size=2048)
for name in sys.argv[2:]:
    transformers.BertModel(config).save_pretrained(Path(sys.argv[1]) / name)
    tiny_tokenizer().save_pretrained(Path(sys.argv[1]) / name)
"""
PAGES = ("representations", "attention", "heads", "parameters", "tokens", "sentences")


def memory_rows(home: Path, switches: int = SWITCHES) -> list[Row]:
    """Rows of the table for the switches."""
    names = [f"small-{number}" for number in range(MODELS)]
    command = [sys.executable, "-c", MAKE, str(home / "models"), *names]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    limits = {"INSIDE_BERT_MAX_LOADED_BYTES": LOADED_BYTES, "INSIDE_BERT_MAX_CACHE_BYTES": LOADED_BYTES}
    limits["INSIDE_BERT_MAX_TRACE_BYTES"] = LOADED_BYTES
    with running(home, {name: str(value) for name, value in limits.items()}) as server:
        early, late, errors = asyncio.run(_switched(server, names, switches))
    details = f"{early / 1e6:,.0f} MB from {SETTLED} to {2 * SETTLED}, {late / 1e6:,.0f} MB in the last {SETTLED}"
    return [
        Row(
            f"{switches} switches between {MODELS} models: growth after the first {2 * SETTLED}",
            f"{(late - early) / 1e6:,.0f} MB",
            details,
            f"<= {GROWS / 1e6:,.0f} MB",
            late - early <= GROWS,
        ),
        Row("errors of these switches", f"{errors}", "", "none", errors == 0),
    ]


async def _switched(server: Server, names: list[str], switches: int) -> tuple[int, int, int]:
    """Bytes of memory as the median of 50 switches, early and at the end; and the number of faults."""
    had: list[int] = []
    errors = 0
    async with visiting(server.url) as visitor:
        for number in range(switches):
            # 8 models and 6 pages: all pairs that occur have occurred after 24 switches.
            visit = await visitor.visit(PAGES[number % len(PAGES)], model=names[number % len(names)])
            wrong = [*visit.errors, *visit.refusals]
            if wrong:
                print(*wrong, sep="\n", file=sys.stderr)
            errors += len(wrong)
            had.append(server.rss)
    early, late = had[SETTLED : 2 * SETTLED], had[-SETTLED:]
    return int(statistics.median(early)), int(statistics.median(late)), errors
