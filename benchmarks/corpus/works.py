"""Works of the simulation, each run in a process of its own: `python -m benchmarks.corpus.works NAME ARGUMENTS`.

A work prints the seconds that it took and, where its memory matters, the bytes by which the process grew at its peak.
"""

import json
import os
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import psutil

from benchmarks.corpus.made import MadeRunner, made_corpus
from benchmarks.timing import peak_mb
from bertviz_core.corpus.analysis.clusters import map_density, whole_window
from bertviz_core.corpus.analysis.duplicates import ColumnValues, duplicate_groups
from bertviz_core.corpus.analysis.projection import SUMMED_ROWS, corpus_map
from bertviz_core.corpus.corpora_folder import corpus_folder, stamp
from bertviz_core.corpus.embedding import ROWS_PER_SHARD
from bertviz_core.corpus.exact_search import nearest_rows
from bertviz_core.corpus.folder import SHARDS_FOLDER, VECTORS_FILE, open_corpus
from bertviz_core.corpus.reading import survey
from bertviz_core.corpus.results import InputSurvey
from bertviz_core.corpus.search import built_graph
from bertviz_core.corpus.shards import embed_shards
from bertviz_core.sentences.store.vectors import VectorFile
from bertviz_core.settings import Settings

QUERIES, DISK_QUERIES, HITS = 9, 3, 10
MOST_CHARACTERS = 1_000
RESET_PEAK = "5"
"""What Linux reads in clear_refs as the order to forget the largest memory so far."""


def main() -> None:
    """Run a work, and print what it measured as JSON."""
    name, *arguments = sys.argv[1:]
    print(json.dumps(WORKS[name](*arguments)))


def grown(work: Callable[[], object]) -> dict[str, float]:
    """Measure a work.

    Returns:
        `seconds` of processors, all threads together, which programs beside it lengthen far less than those of the
        clock; `clock`, these; `nbytes`, by which this process grew at its peak.
    """
    process = psutil.Process()
    Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    before, started, busy = process.memory_info().rss, perf_counter(), process_time()
    work()
    seconds, clock = process_time() - busy, perf_counter() - started
    return {"seconds": seconds, "clock": clock, "nbytes": max(0.0, peak_mb() * 1024**2 - before)}


def embed(texts: str, folder: str) -> dict[str, float]:
    """Embed a table by the bundled model."""
    return grown(lambda: made_corpus(Path(folder), Path(texts), ROWS_PER_SHARD, embed_shards))


def plan(texts: str, rows_per_shard: str) -> dict[str, float]:
    """Survey a table, and cut it into shards; the bytes are those of what Python keeps of them."""

    def cut() -> InputSurvey:
        return survey(texts, "text", int(rows_per_shard), MOST_CHARACTERS)

    run = grown(cut)
    tracemalloc.start()
    found = cut()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()  # it makes everything after it four times as slow
    return {**run, "nbytes": kept, "shards": len(found.shards)}


def write(texts: str, folder: str) -> dict[str, float]:
    """Write the shards of a table with made vectors."""
    runner, place = MadeRunner(), Path(folder)
    made_corpus(place, Path(texts), ROWS_PER_SHARD, runner)
    shards = sum(path.stat().st_size for path in (place / SHARDS_FOLDER).iterdir())
    return {"seconds": runner.seconds, "shards": shards, "vectors": (place / VECTORS_FILE).stat().st_size}


def join(folder: str) -> dict[str, float]:
    """Make the file of all vectors out of the shards."""
    (Path(folder) / VECTORS_FILE).unlink()
    corpus = open_corpus(Path(folder))
    return grown(corpus.vectors)


def search(folder: str) -> dict[str, float]:
    """Compare queries with every row, whose file the system has in memory; the median of the seconds."""
    vectors = open_corpus(Path(folder)).vectors()
    first, *queries = _queries(vectors, QUERIES + 1)
    nearest_rows(vectors, first, HITS)
    runs = [grown(partial(nearest_rows, vectors, query, HITS)) for query in queries]
    return {key: float(np.median([run[key] for run in runs])) for key in runs[0]}


def search_from_disk(folder: str) -> dict[str, float]:
    """Compare queries with every row, whose file the system has forgotten; the seconds are those of the clock."""
    vectors = open_corpus(Path(folder)).vectors()
    runs = []
    for query in _queries(vectors, DISK_QUERIES):
        with vectors.path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        runs.append(grown(partial(nearest_rows, vectors, query, HITS)))
    return {"seconds": float(np.median([run["clock"] for run in runs]))}


def filtered(folder: str) -> dict[str, float]:
    """Find the rows with a value in a column; the bytes are those of Python's largest memory, of one mask or more."""
    corpus = open_corpus(Path(folder))
    run = grown(lambda: corpus.mask("kind=k1"))
    tracemalloc.start()
    corpus.mask("kind=k1")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {**run, "nbytes": most}


def principal_components(folder: str) -> dict[str, float]:
    """Place all rows by their principal components."""
    vectors = open_corpus(Path(folder)).vectors()
    corpus_map(vectors[:SUMMED_ROWS])  # without the libraries' own memory
    return grown(lambda: corpus_map(vectors))


def umap(folder: str, rows: str) -> dict[str, float]:
    """Place the first rows by UMAP, fitted on a sample."""
    vectors = open_corpus(Path(folder)).vectors()[: int(rows)]
    return grown(lambda: corpus_map(vectors, "umap"))


def index(folder: str, rows: str) -> dict[str, float]:
    """Make an index of the first rows and search it."""
    vectors, kept = open_corpus(Path(folder)).vectors()[: int(rows)], []
    run = grown(lambda: kept.append(built_graph(vectors)))
    ((graph, trial),) = kept
    found = {"file": graph.serialized_length, "query": trial.seconds_per_query, "recall": trial.recall}
    return {**run, **found, "compared": trial.expansion}


def duplicates(folder: str, rows: str) -> dict[str, float]:
    """Compare each of the first rows with every other."""
    vectors = open_corpus(Path(folder)).vectors()[: int(rows)]
    return grown(lambda: duplicate_groups(vectors))


def opening(folder: str) -> dict[str, float]:
    """Open a corpus, and find it in the folder of corpora as the dashboard does."""
    path = Path(folder)
    run = grown(lambda: open_corpus(path))
    settings = replace(Settings.from_environment(), corpora_dir=path.parent)
    found = grown(lambda: stamp(corpus_folder(path.name, settings)))
    return {**run, "finding": found["seconds"]}


def density(points: str) -> dict[str, float]:
    """Count the points of a map on a grid, coloured by a column of three values."""
    rng, count = np.random.default_rng(0), int(points)
    made = rng.standard_normal((count, 2), dtype=np.float32)
    values = ColumnValues(("a", "b", "c"), rng.integers(3, size=count, dtype=np.int16))
    window = whole_window(made)
    return grown(lambda: map_density(made, window, values))


WORKS: Mapping[str, Callable[..., dict[str, float]]] = {
    "embed": embed,
    "plan": plan,
    "write": write,
    "join": join,
    "search": search,
    "search_from_disk": search_from_disk,
    "filter": filtered,
    "pca": principal_components,
    "umap": umap,
    "index": index,
    "duplicates": duplicates,
    "open": opening,
    "density": density,
}
"""Name of a work -> runs it with its arguments."""


def _queries(vectors: VectorFile, count: int) -> list[np.ndarray]:
    """Return rows with some noise."""
    rng = np.random.default_rng(1)
    drawn = vectors[np.sort(rng.integers(len(vectors), size=count))].astype(np.float32)
    return list(drawn + 0.01 * rng.standard_normal(drawn.shape, dtype=np.float32))


if __name__ == "__main__":
    main()
