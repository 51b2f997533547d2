"""A hostile visitor who repeats requests that once stopped a server: long words, and hostile corpora and weights."""

import asyncio
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from benchmarks.load.run import Beside
from benchmarks.load.visitor import Visitor, visiting
from benchmarks.models.trace import CHECKPOINT
from benchmarks.report import ROOT

LETTERS = 200_000
LONG_WORDS = (
    ("representations", "One word, two texts", ("word", "first", "second")),
    ("corpus", "Search", ("where", "corpus_query")),
    ("words", "Classes", ("text",)),
    ("tokens", "", ("text", "pair")),
)
CORPORA = ("crafted", "swollen", "equal", "pipes", "million")
VIEWS = ("Search", "Map", "Probes", "About")
CUT = "cut"
"""A model whose weights are rewritten while they are read."""
MAKE = """
import json, sys
from pathlib import Path
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from bertviz_core.corpus.folder import shard_path
from tests.helpers.template_corpus import make_corpus, seeded_vectors
root, *names = Path(sys.argv[1]), *sys.argv[2:]
for name in names:
    make_corpus(root / name, 400, seeded_vectors(0))
for name, text, rows in (("swollen", "a text of a hundred kilobytes " * 3_400, 40_000), ("equal", "the same", 200_000)):
    path = shard_path(root / name, 0)
    table = pq.read_table(path)
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, table.schema, compression="zstd") as file:
        for _ in range(rows // 500):
            columns = {each: pa.repeat(table.column(each)[0], 500) for each in table.column_names}
            flat = rng.standard_normal(500 * 384).astype(np.float16)  # as many bytes as a corpus of so many rows has
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat), 384)
            file.write_table(pa.table({**columns, "text": pa.array([text] * 500), "vector": vectors}, table.schema))
    (root / name / "vectors.npy").unlink(missing_ok=True)
    manifest = root / name / "manifest.json"
    facts = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**facts, "rows": rows, "rows_per_shard": rows, "shards": 1}))
"""
"""Script that writes the corpora; in two of them many rows share a text, and a copy per row would exhaust memory."""


@dataclass(slots=True)
class Harm:
    """Record of the hostile visitor's requests."""

    requests: Counter[str] = field(default_factory=Counter)
    """Kind of request -> number of requests."""
    errors: Counter[str] = field(default_factory=Counter)
    """Fault, other than a page or a message, -> number of times."""


def set_traps(home: Path) -> dict[str, str]:
    """Write hostile corpora and a hostile model; returns the settings of an instance that uses them.

    Args:
        home: the home folder.
    """
    corpora, model = home / "corpora", home / "models" / CUT
    subprocess.run([sys.executable, "-c", MAKE, str(corpora), *CORPORA], cwd=ROOT, check=True, capture_output=True)
    _index_that_lies(corpora / "crafted")
    for name in ("shards/part-00000.parquet", "vectors.npy"):
        (corpora / "pipes" / name).unlink(missing_ok=True)
        os.mkfifo(corpora / "pipes" / name)
    manifest = corpora / "million" / "manifest.json"
    facts = {**json.loads(manifest.read_text()), "shards": 10**6, "rows": 10**9, "rows_per_shard": 1_000}
    manifest.write_text(json.dumps(facts))
    model.mkdir(parents=True)
    subprocess.run([sys.executable, "-c", CHECKPOINT, str(model)], check=True, capture_output=True)
    (home / "whole").mkdir()
    shutil.copyfile(model / "model.safetensors", home / "whole" / "model.safetensors")
    return {"INSIDE_BERT_CORPORA_DIR": str(corpora), "INSIDE_BERT_MODELS_DIR": str(home / "models")}


def hostile(url: str, home: Path, harm: Harm) -> Beside:
    """Create a visitor who repeats all hostile requests.

    Args:
        url: address of the instances.
        home: home folder with the hostile files.
        harm: record of requests and faults.
    """

    async def go(is_over: Callable[[], bool]) -> None:
        async with visiting(url) as visitor:
            for what, page, query in cycle(_attempts()):
                if is_over():
                    break
                written = asyncio.create_task(asyncio.to_thread(_write_anew, home)) if what == CUT else None
                await _try(visitor, what, page, query, harm)
                if written is not None:
                    await written

    return go


def _attempts() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield kind of request, page, and query of its address."""
    for page, view, names in LONG_WORDS:
        for name in names:
            word = ("kind=" if name == "where" else "") + "x" * LETTERS
            yield "long words", page, {"view": view, name: word}
    for corpus in CORPORA:
        for view in VIEWS:
            yield corpus, "corpus", {"view": view, "corpus": corpus, "corpus_query": "A storm."}
    yield CUT, "representations", {"model": CUT}


async def _try(visitor: Visitor, what: str, page: str, query: dict[str, str], harm: Harm) -> None:
    visit = await visitor.visit(page, **query)
    harm.requests[what] += 1
    harm.errors.update(f"{what}: {line[:200]}" for line in visit.errors)


def _write_anew(home: Path) -> None:
    """Truncate a model's weights and rewrite them in place, like cp."""
    shutil.copyfile(home / "whole" / "model.safetensors", home / "models" / CUT / "model.safetensors")


def _index_that_lies(corpus: Path) -> None:
    """Write an invalid graph with a correct digest next to a corpus."""
    graph = random.Random(0).randbytes(90_000)
    (corpus / "index.usearch").write_bytes(graph)
    facts = {"format_version": 1, "sha256": hashlib.sha256(graph).hexdigest(), "rows": 400, "expansion_search": 64}
    (corpus / "index.json").write_text(json.dumps(facts))
