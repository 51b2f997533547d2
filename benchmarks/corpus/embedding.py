"""Embedding of corpora: one and two processes, memory and rate for a long input, growth with rows, overhead of Ray."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.device import share
from benchmarks.models.sentences import OurModel, made_sentences
from benchmarks.report import ROOT
from benchmarks.timing import PEAK, Row, median_s

WORDS_A_SENTENCE = 7
FULL = 200_000
MOST_OF_PEERS = 20_000
"""Most rows for peers, however long the input."""
PER_SHARD = 1_000
CHILD = """
import json, sys, time
from dataclasses import replace
from functools import partial
from pathlib import Path
from bertviz_core.corpus.embedding import EmbeddingOptions, embed_corpus
from bertviz_core.corpus.runners import processes, ray
from bertviz_core.corpus.shards import embed_shards
from bertviz_core.settings import Settings
texts, out, runner, count, per_shard, device = sys.argv[1:7]
begun = []
def progress(done, total):
    begun.append((time.perf_counter(), done, peak() * 1024 * 1024))
runners = {
    "local": embed_shards,
    "processes": partial(processes.run, count=int(count)),
    "ray": partial(ray.run, count=int(count), address=None),
}
options = EmbeddingOptions(rows_per_shard=int(per_shard))
settings = replace(Settings.from_environment(any_folder=True), device=device)
if __name__ == "__main__":
    start = time.perf_counter()
    embed_corpus("all-MiniLM-L6-v2", texts, Path(out), settings, options, runners[runner], progress)
    print(json.dumps([time.perf_counter() - start, begun]))
"""
POOL = """
import json, sys, time
from sentence_transformers import SentenceTransformer
from bertviz_core.models.catalog import bundled_folder
if __name__ == "__main__":
    texts = open(sys.argv[1]).read().splitlines()
    peer = SentenceTransformer(str(bundled_folder()), device="cpu")
    peer.encode(texts[:64])
    start = time.perf_counter()
    if sys.argv[2] == "1":
        peer.encode(texts)
    else:
        pool = peer.start_multi_process_pool(["cpu"] * int(sys.argv[2]))
        start = time.perf_counter()
        peer.encode(texts, pool=pool)
    print(json.dumps(time.perf_counter() - start))
    if sys.argv[2] != "1":
        peer.stop_multi_process_pool(pool)
"""


class Embedded(NamedTuple):
    """One run of the command."""

    folder: Path
    """The corpus."""
    seconds: float
    """Total time, including the start of processes."""
    a_second: float
    """Rows per second from the first shard on."""
    growth_nbytes: int
    """Peak memory of the process minus its memory before the first row."""


def rows(count: int) -> list[Row]:
    """Rows of the table for embedding.

    Args:
        count: rows of the longest input.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sentences = short_sentences(count)
        inputs = {size: written(folder, sentences[:size]) for size in (count // 20, count // 5, count)}
        done = {size: embedded(folder, texts, "local", 1, None) for size, texts in inputs.items()}
        return [
            _two_processes(folder, written(folder, sentences[: min(count // 5, MOST_OF_PEERS)])),
            *_long(folder, sentences, done[count]),
            _growth(done),
            _ray(folder, inputs[count // 20], done[count // 20]),
        ]


def _two_processes(folder: Path, texts: Path) -> Row:
    """One process on one processor, and two on two."""
    one = embedded(folder, texts, "processes", 1, {0})
    two = embedded(folder, texts, "processes", 2, {0, 1})
    return Row(
        "2 processes against 1, a processor each",
        f"{two.a_second:.0f} rows a second",
        f"{one.a_second:.0f} of one: {two.a_second / one.a_second:.2f}x",
        ">= 1.6x",
        two.a_second >= 1.6 * one.a_second,
    )


def _long(folder: Path, sentences: Sequence[str], done: Embedded) -> list[Row]:
    """Memory and rate of one process for a long input; peers run on a tenth of it, at most 20,000 rows."""
    count = len(sentences)
    some = min(count // 10, MOST_OF_PEERS)
    part = folder / "part.txt"
    part.write_text("\n".join(sentences[:some]))
    alone, pooled = (some / _child(POOL, [str(part), number], None) for number in ("1", "2"))
    products = share(some / done.a_second, median_s(OurModel("cpu").products(sentences[:some]), 1))
    scale = "" if count >= FULL else f", scaled down from {FULL:,}"
    return [
        Row(
            f"{count:,} short sentences as a corpus, one process{scale}",
            f"{done.a_second:.0f} a second",
            f"sentence-transformers {alone:.0f} ({done.a_second / alone:.2f}x), its pool of 2 {pooled:.0f}; {products}",
            ">= 1.15x",
            done.a_second >= 1.15 * alone,
        ),
        Row(
            "memory of that above its start",
            f"{done.growth_nbytes / 1024**2:.0f} MiB",
            "",
            "<= 1.5 GB",
            done.growth_nbytes <= 1.5e9,
        ),
    ]


def _growth(times: dict[int, Embedded]) -> Row:
    """Seconds for inputs of several sizes."""
    note = "; ".join(
        f"{size:,}: {done.seconds:.0f} s, {done.growth_nbytes / 1024**2:.0f} MiB" for size, done in times.items()
    )
    rates = [done.a_second for done in times.values()]
    return Row(
        "growth with the rows, one process", note, "rows a second do not fall", ">= 0.8x", rates[-1] >= 0.8 * rates[0]
    )


def _ray(folder: Path, texts: Path, local: Embedded) -> Row:
    """One worker of a temporary cluster, against this process."""
    cluster = embedded(folder, texts, "ray", 1, None)
    note = f"{local.seconds:.1f} s in one process"
    return Row(
        f"{texts.stem} rows by one Ray worker, its start included", f"{cluster.seconds:.1f} s", note, "told", True
    )


def short_sentences(count: int) -> list[str]:
    """Artificial sentences with the words of the glossary."""
    words = sorted({word for word in (ROOT / "docs" / "glossary.md").read_text().split() if word.isalpha()})
    return made_sentences(words, count, WORDS_A_SENTENCE)


def written(folder: Path, sentences: Sequence[str]) -> Path:
    """Write a table of texts, named by their number, and return its path."""
    path = folder / f"{len(sentences)}.csv"
    path.write_text("text\n" + "\n".join(sentences) + "\n")
    return path


def embedded(
    folder: Path,
    texts: Path,
    runner: str,
    count: int,
    processors: set[int] | None,
    per_shard: int = PER_SHARD,
    device: str = "cpu",
) -> Embedded:
    """Embed a table in a new process, as the command does.

    Args:
        folder: folder for the corpus.
        texts: the table.
        runner: "local", "processes" or "ray".
        count: processes of the runner.
        processors: the processors that it may use; None for all.
        per_shard: rows of a shard.
        device: where the model runs.
    """
    out = Path(tempfile.mkdtemp(dir=folder)) / "out"
    arguments = [str(texts), str(out), runner, str(count), str(per_shard), device]
    seconds, steps = _child(PEAK + CHILD, arguments, processors)
    (first, *_, last) = steps[1:] if len(steps) > 2 else (*steps, *steps)
    return Embedded(out, seconds, (last[1] - first[1]) / max(last[0] - first[0], 1e-9), last[2] - steps[0][2])


def _child(source: str, arguments: Sequence[str], processors: set[int] | None) -> Any:
    """Run a script in a new process on some of the processors, and parse its JSON output."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as script:
        script.write(source)
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    limit = (lambda: os.sched_setaffinity(0, processors)) if processors else None
    done = subprocess.run(
        [sys.executable, script.name, *arguments],
        cwd=ROOT,
        env=variables,
        preexec_fn=limit,
        capture_output=True,
        text=True,
    )
    Path(script.name).unlink()
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])
