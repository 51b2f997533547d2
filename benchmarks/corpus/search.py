"""Search in a corpus and its map: exact search, an index of neighbours, density of a map, and their growth with rows.

Vectors are seeded mixtures of directions, as clustered as those of sentences, in a temporary folder; no model runs.
Each search is measured in its own process. Search, index and map read the file slice by slice (VectorFile), like the
dashboard; NumPy and torch map it, so that their peak resident memory includes the mapped file.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.timing import Row, peak_mb

if TYPE_CHECKING:
    from bertviz_core.sentences.store.vectors import Vectors

COUNTS = (50_000, 200_000, 1_000_000)
"""Numbers of rows; budgets apply to the last."""
INDEXED = (50_000,)
"""Numbers of rows of indexes; on two cores an index of a million rows takes almost an hour."""
DIMENSIONS, MIXTURES, NOISE = 384, 5_000, 0.8
QUERIES, PEER_QUERIES, HITS = 15, 3, 10
BLOCK_ROWS = 50_000


def rows(counts: tuple[int, ...] = COUNTS, indexed: tuple[int, ...] = INDEXED) -> list[Row]:
    """Rows of the table for search and map, the largest corpus last."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        for count in counts:
            path = Path(name) / f"{count}.npy"
            made_vectors(path, count)
            found += [*_exact(path, count, count == counts[-1]), *([_index(path, count)] if count in indexed else [])]
            found += _map(path, count, count == counts[-1])
            path.unlink()
    return found


def made_vectors(path: Path, count: int) -> None:
    """Write float16 unit vectors around seeded directions to a file."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((MIXTURES, DIMENSIONS)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    vectors = np.lib.format.open_memmap(path, "w+", np.float16, (count, DIMENSIONS))
    for start in range(0, count, BLOCK_ROWS):
        some = min(BLOCK_ROWS, count - start)
        noise = rng.standard_normal((some, DIMENSIONS), dtype=np.float32) * np.float32(NOISE / np.sqrt(DIMENSIONS))
        block = directions[rng.integers(MIXTURES, size=some)] + noise
        vectors[start : start + some] = block / np.linalg.norm(block, axis=1, keepdims=True)
    vectors.flush()


def _exact(path: Path, count: int, last: bool) -> list[Row]:
    ours, numpy, torch = (_child(kernel, path) for kernel in ("usearch", "numpy", "torch"))
    note = f"NumPy in blocks {numpy['p50']:.2f} s, torch in blocks {torch['p50']:.2f} s"
    work = f"exact search over {count:,} x {DIMENSIONS} float16, p50"
    budget, met = ("<= 0.5 s", ours["p50"] <= 0.5) if last else ("told, no budget", True)
    found = [Row(work, f"{ours['p50']:.3f} s", note, budget, met)]
    if last:
        note = f"NumPy {numpy['peak']:.0f} MB, torch {torch['peak']:.0f} MB"
        found.append(Row("its resident memory", f"{ours['peak']:.0f} MB", note, "<= 1,200 MB", ours["peak"] <= 1_200))
    return found


def _index(path: Path, count: int) -> Row:
    """An index from bertviz_core.corpus.search, with its recall measured on held-out rows."""
    seen = _child("hnsw", path)
    note = (
        f"recall@{HITS} {seen['recall']:.1%} on {seen['queries']} held-out rows; made in {seen['seconds']:.0f} s, "
        f"file {seen['megabytes']:.0f} MB"
    )
    met = seen["p50"] <= 0.01 and seen["recall"] >= 0.95
    return Row(f"search by an index of {count:,} rows, p50", f"{1000 * seen['p50']:.1f} ms", note, "<= 10 ms, 95%", met)


def _map(path: Path, count: int, last: bool) -> list[Row]:
    from bertviz_core.corpus.analysis.clusters import map_density, map_points, whole_window
    from bertviz_core.corpus.analysis.duplicates import ColumnValues
    from bertviz_core.corpus.analysis.projection import corpus_map
    from bertviz_core.sentences.store.vectors import VectorFile

    started = perf_counter()
    points = corpus_map(VectorFile(path)).points
    placed = perf_counter() - started
    window = whole_window(points)
    values = ColumnValues(("a", "b", "c"), np.random.default_rng(0).integers(3, size=count).astype(np.int16))
    times = [_timed(lambda: map_density(points, window, values)) for _ in range(5)]
    listed = _timed(lambda: map_points(points, window))
    density = map_density(points, window, values)
    nbytes = density.counts.nbytes + (density.majority.nbytes if density.majority is not None else 0)
    note = f"placed by PCA in {placed:.1f} s; its points sampled in {listed:.2f} s; {nbytes / 1e6:.2f} MB"
    budget, met = ("<= 0.5 s", float(np.median(times)) <= 0.5) if last else ("told, no budget", True)
    return [Row(f"density of a map of {count:,} rows by a column", f"{np.median(times):.3f} s", note, budget, met)]


def _timed(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def _child(kernel: str, path: Path) -> dict[str, float]:
    """Measure in a new process."""
    command = [sys.executable, "-m", "benchmarks.corpus.search", kernel, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    given: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return given


def _measured(kernel: str, path: Path) -> dict[str, float]:
    """Median seconds of a query after a warm-up, and peak resident memory in MB."""
    if kernel == "hnsw":
        return _measured_index(path)
    from bertviz_core.sentences.store.vectors import VectorFile

    vectors = VectorFile(path) if kernel == "usearch" else np.load(path, mmap_mode="r")
    rng = np.random.default_rng(1)
    drawn = vectors[np.sort(rng.integers(len(vectors), size=QUERIES + 1))].astype(np.float32)
    queries = drawn + 0.01 * rng.standard_normal(drawn.shape).astype(np.float32)
    search = {"usearch": _usearch, "numpy": _numpy, "torch": _torch}[kernel](vectors)
    times = [
        _timed(lambda query=query: search(query)) for query in queries[: None if kernel == "usearch" else PEER_QUERIES]
    ]
    return {"p50": float(np.median(times[1:])), "peak": peak_mb()}


def _usearch(vectors: "Vectors") -> Callable[[np.ndarray], object]:
    from bertviz_core.corpus.exact_search import nearest_rows

    return lambda query: nearest_rows(vectors, query, HITS)


def _numpy(vectors: np.ndarray) -> Callable[[np.ndarray], object]:
    def search(query: np.ndarray) -> object:
        parts = [vectors[at : at + 16_384].astype(np.float32) @ query for at in range(0, len(vectors), 16_384)]
        return np.argpartition(-np.concatenate(parts), HITS)[:HITS]

    return search


def _torch(vectors: np.ndarray) -> Callable[[np.ndarray], object]:
    import torch

    def search(query: np.ndarray) -> object:
        vector = torch.from_numpy(query)
        blocks = (np.array(vectors[at : at + 16_384]) for at in range(0, len(vectors), 16_384))
        return torch.topk(torch.cat([torch.from_numpy(block).float() @ vector for block in blocks]), HITS)

    return search


def _measured_index(path: Path) -> dict[str, float]:
    from bertviz_core.corpus.search import built_graph
    from bertviz_core.sentences.store.vectors import VectorFile

    started = perf_counter()
    graph, recall = built_graph(VectorFile(path))
    return {
        "p50": recall.seconds_per_query,
        "recall": recall.recall,
        "queries": recall.queries,
        "seconds": perf_counter() - started,
        "megabytes": graph.serialized_length / 1e6,
    }


if __name__ == "__main__":
    print(json.dumps(_measured(sys.argv[1], Path(sys.argv[2]))))
