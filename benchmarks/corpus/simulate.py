"""Drive the planner, the writer, search, index and map over growing corpora of made vectors.

Each work runs in a process of its own, which prints its seconds and the memory that it took above its start. One corpus
is on the disk at a time: 1.6 GB for a million rows, half of it the file of all vectors.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus.growth import Growth, Law
from benchmarks.corpus.made import MadeRunner, linked_corpus, made_corpus, written_input
from benchmarks.report import ROOT
from bertviz_core.corpus.embedding import ROWS_PER_SHARD
from bertviz_core.corpus.folder import open_corpus

ROWS = 1_000_000
"""Rows of the largest corpus."""
Measured = Mapping[str, float]


class Sizes(NamedTuple):
    """At which sizes each part is measured; all but the vectors are small on the disk."""

    corpora: tuple[int, ...]
    """Rows of corpora."""
    embedded: tuple[int, ...]
    """Rows that the model embeds."""
    planned: tuple[int, ...]
    """Shards into which one input of as many rows as the smallest corpus is cut."""
    opened: tuple[int, ...]
    """Shards of corpora that are opened."""
    indexed: tuple[int, ...]
    """Rows of indexes."""
    umap: tuple[int, ...]
    """Rows of maps by UMAP."""
    compared: tuple[int, ...]
    """Rows of which every pair is compared."""
    points: tuple[int, ...]
    """Points of maps that are drawn."""

    @classmethod
    def upto(cls, rows: int) -> "Sizes":
        """Return sizes in proportion to those of a largest corpus of this many rows."""
        return cls(
            corpora=(rows // 10, rows * 3 // 10, rows),
            embedded=(rows // 500, rows // 250, rows // 125),
            planned=tuple(max(rows // 10 // per_shard, 1) for per_shard in (1_000, 100, 10)),
            opened=(rows // 1_000, rows // 200, rows // 40),
            indexed=(rows // 100, rows * 3 // 100, rows // 10),
            umap=(rows // 100, rows // 50, rows // 20),
            compared=(rows // 100, rows * 3 // 100, rows // 10),
            points=(rows, 3 * rows, 10 * rows),
        )


def growths(sizes: Sizes, parts: Sequence[str] = ()) -> dict[str, Growth]:
    """Measure all parts, or some, and return the growth of each quantity, by its name."""
    found: dict[str, Growth] = {}
    for name, part in PARTS.items():
        if not parts or name in parts:
            with tempfile.TemporaryDirectory() as place:
                found |= part(Path(place), sizes)
    return found


def _embedding(place: Path, sizes: Sizes) -> dict[str, Growth]:
    texts = [written_input(place / f"{rows}.csv", rows) for rows in sizes.embedded]
    runs = [_child("embed", path, place / path.stem) for path in texts]
    return {"embedding seconds": _growth("n", "rows", sizes.embedded, runs, "seconds")}


def _planning(place: Path, sizes: Sizes) -> dict[str, Growth]:
    longest = written_input(place / "shards.csv", sizes.corpora[0])
    cuts = [_child("plan", longest, -(-sizes.corpora[0] // shards)) for shards in sizes.planned]
    rows = []
    for count in sizes.corpora:
        rows.append(_child("plan", written_input(place / "rows.csv", count), ROWS_PER_SHARD))
    return {
        "planning seconds": _growth("n", "rows", sizes.corpora, rows, "seconds"),
        "planning seconds by shards": _growth("n", "shards", sizes.planned, cuts, "seconds"),
        "memory of planned shards": _growth("n", "shards", sizes.planned, cuts, "nbytes"),
    }


def _opening(place: Path, sizes: Sizes) -> dict[str, Growth]:
    made_corpus(place / "one", written_input(place / "one.csv", ROWS_PER_SHARD), ROWS_PER_SHARD, MadeRunner())
    source, runs = open_corpus(place / "one"), []
    for shards in sizes.opened:
        linked_corpus(source, place / f"corpora-{shards}" / "linked", shards)
        runs.append(_child("open", place / f"corpora-{shards}" / "linked"))
    names = {"opening seconds": "seconds", "opening memory": "nbytes", "finding seconds": "finding"}
    return {name: _growth("n", "shards", sizes.opened, runs, key) for name, key in names.items()}


def _corpora(place: Path, sizes: Sizes) -> dict[str, Growth]:
    runs = []
    for rows in sizes.corpora:
        with tempfile.TemporaryDirectory(dir=place) as name:
            folder, texts = Path(name) / "corpus", written_input(Path(name) / "texts.csv", rows)
            written = _child("write", texts, folder)
            works = ("join", "search", "search_from_disk", "filter", "pca")
            done = {f"{work} {key}": value for work in works for key, value in _child(work, folder).items()}
            runs.append({**written, **done})
    names = {
        "writing seconds": "seconds",
        "shards on the disk": "shards",
        "file of vectors": "vectors",
        "joining seconds": "join seconds",
        "exact search seconds": "search seconds",
        "exact search seconds from the disk": "search_from_disk seconds",
        "exact search memory": "search nbytes",
        "filter seconds": "filter seconds",
        "filter memory": "filter nbytes",
        "principal components seconds": "pca seconds",
        "principal components memory": "pca nbytes",
    }
    laws: dict[str, Law] = {"exact search memory": "constant", "principal components memory": "constant"}
    return {name: _growth(laws.get(name, "n"), "rows", sizes.corpora, runs, key) for name, key in names.items()}


def _few_rows(place: Path, sizes: Sizes) -> dict[str, Growth]:
    """Works that take too long for all rows, on the first rows of one corpus."""
    folder, most = place / "few", max(*sizes.indexed, *sizes.umap, *sizes.compared)
    made_corpus(folder, written_input(place / "few.csv", most), ROWS_PER_SHARD, MadeRunner())
    indexes, maps, pairs = (
        [_child(work, folder, rows) for rows in counts]
        for work, counts in (("index", sizes.indexed), ("umap", sizes.umap), ("duplicates", sizes.compared))
    )
    return {
        "index seconds": _growth("n log n", "rows", sizes.indexed, indexes, "seconds"),
        "index memory": _growth("n", "rows", sizes.indexed, indexes, "nbytes"),
        "file of the index": _growth("n", "rows", sizes.indexed, indexes, "file"),
        "index search seconds": _growth("log n", "rows", sizes.indexed, indexes, "query"),
        "UMAP seconds": _growth("n", "rows", sizes.umap, maps, "seconds"),
        "near duplicates seconds": _growth("n²", "rows", sizes.compared, pairs, "seconds"),
    }


def _density(_: Path, sizes: Sizes) -> dict[str, Growth]:
    runs = [_child("density", count) for count in sizes.points]
    return {
        "density seconds": _growth("n", "rows", sizes.points, runs, "seconds"),
        "density memory": _growth("constant", "rows", sizes.points, runs, "nbytes"),
    }


PARTS: Mapping[str, Callable[[Path, Sizes], dict[str, Growth]]] = {
    "embedding": _embedding,
    "planning": _planning,
    "opening": _opening,
    "corpora": _corpora,
    "few rows": _few_rows,
    "density": _density,
}
"""Name of a part -> measures it in an empty folder."""


def _growth(law: Law, of: str, sizes: Sequence[int], runs: Sequence[Measured], key: str) -> Growth:
    return Growth(law, "rows" if of == "rows" else "shards", tuple(sizes), tuple(run[key] for run in runs))


def _child(work: str, *arguments: object) -> Measured:
    """Run a work in a new process."""
    command = [sys.executable, "-m", "benchmarks.corpus.works", work, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    print(work, *(each for each in arguments if isinstance(each, int)), done.stdout.splitlines()[-1], flush=True)
    measured: Measured = json.loads(done.stdout.splitlines()[-1])
    return measured
