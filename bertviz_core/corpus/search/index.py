"""Build and query a search index of a corpus (HNSW); its recall is measured and stored with it.

Hierarchical navigable small worlds: Malkov & Yashunin 2018. A query follows the graph from row to row, so it looks at
some thousand rows of a million. It may miss some of the nearest, for that and because it keeps every number in one byte
(beside float16 that took 40 % less time to make and half the time to ask, at the same recall); what it gives gets its
cosine from the corpus' own vectors.

A graph is native code's data and is not checked as it is followed, so a made-up one could end the process. That is why
an index never lies beside the corpus, which may come from anyone: it is kept in the folder of this installation's
vectors, to which it alone writes, and only indexes from there are read.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from jaxtyping import Float, Int

from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.search.exact import exact_cosines, nearest_rows
from bertviz_core.corpus.search.results import IndexFacts, RankedRows
from bertviz_core.corpus.writing import refusal, write_whole
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.isolation.regular_files import open_regular
from bertviz_core.sentences.store.vector_rows import Vectors
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

if TYPE_CHECKING:
    from usearch.index import Index

INDEX_FILE, FACTS_FILE = "index.usearch", "index.json"
INDEXES_FOLDER = "search-indexes"
"""Below the folder of kept vectors; holds a folder for each indexed corpus."""
FORMAT_VERSION = 1
WORTHWHILE = 1_000_000
"""Rows from which on an index is suggested: below, an exact search takes less than half a second."""
CONNECTIVITY, EXPANSION_ADD = 16, 128
"""Neighbours of a row, and rows looked at to find them: usearch's own defaults."""
EXPANSIONS = (64, 128, 256, 512, 1024)
"""Rows looked at for a query, tried in this order until the recall is reached."""
RECALL = 0.95
"""Recall that an index is to reach."""
QUERIES, COUNT, SEED = 100, 10, 0
"""Rows held back as queries to measure it, nearest rows wanted of each, and the seed that draws them."""
SPARE = 16
"""Rows taken beyond those wanted, whose cosines are computed anew with theirs."""
BLOCK_ROWS = 8_192
"""Rows that are put into the graph between two reports of progress."""
MAX_FACTS_NBYTES = 64 * 1024


class IndexTrial(NamedTuple):
    """Recall and speed of a graph on rows that were not in it."""

    queries: int
    """Rows that were looked for."""
    wanted: int
    """Nearest rows wanted of each."""
    recall: float
    """Share of the truly nearest rows that it gave, 0 to 1."""
    expansion: int
    """Rows looked at for a query."""
    seconds_per_query: float
    """Median duration of a query."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchIndex:
    """An opened index; its file is memory-mapped."""

    facts: IndexFacts
    """What it is worth."""
    graph: "Index"
    """usearch's index of all rows; a key is a row."""


def index_folder(corpus: Corpus, settings: Settings) -> Path:
    """Folder of this installation's index of a corpus; one per path of a corpus."""
    path = str(corpus.path.resolve()).encode("utf-8", "surrogateescape")
    return settings.vector_store_dir / INDEXES_FOLDER / hashlib.blake2b(path, digest_size=16).hexdigest()


def make_index(corpus: Corpus, settings: Settings, progress: Progress | None = None) -> IndexFacts:
    """Build and store an index of all rows; it replaces an earlier one once it is complete.

    Some rows are held back until the others are in the graph; looked for in it and by comparison with every row, they
    give the recall. As many rows are then looked at for a query as the recall of 0.95 needs, if it can be reached.

    Args:
        corpus: the corpus.
        settings: name the folder of kept vectors and its limit; indexes unused the longest make room.
        progress: called as progress(rows done, rows); may raise to stop the work, and nothing is written.

    Raises:
        CorpusError: a vector holds NaN or infinity, or the disk refuses.
    """
    started = perf_counter()
    graph, trial = built_graph(corpus.vectors(), progress)
    folder = index_folder(corpus, settings)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise refusal(folder, error) from error
    _write(folder / INDEX_FILE, graph)
    facts = IndexFacts(
        format_version=FORMAT_VERSION,
        fingerprint=corpus.fingerprint,
        sha256=_digest(folder / INDEX_FILE),
        rows=corpus.rows,
        dimensions=corpus.dimensions,
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=trial.expansion,
        seed=SEED,
        queries=trial.queries,
        count=trial.wanted,
        recall=trial.recall,
        seconds_to_make=perf_counter() - started,
        seconds_per_query=trial.seconds_per_query,
    )
    raw = msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n"
    write_whole(folder / FACTS_FILE, lambda file: file.write(raw))
    _make_room(folder, settings.max_store_bytes)
    return facts


def built_graph(
    vectors: Float[Vectors, "rows dimensions"], progress: Progress | None = None
) -> tuple["Index", IndexTrial]:
    """The graph of all rows, and its trial on rows held out at first.

    Args:
        vectors: all vectors, such as Corpus.vectors() opens them.
        progress: called as progress(rows done, rows); may raise to cancel.

    Raises:
        CorpusError: a vector holds NaN or infinity.
    """
    from usearch.index import Index

    count, dimensions = vectors.shape
    graph = Index(ndim=dimensions, metric="cos", dtype="i8", connectivity=CONNECTIVITY, expansion_add=EXPANSION_ADD)
    held_back = np.random.default_rng(SEED).choice(count, min(QUERIES, count // 2), replace=False)
    for start in range(0, count, BLOCK_ROWS):
        block = np.asarray(vectors[start : start + BLOCK_ROWS], dtype=np.float32)
        if not np.isfinite(block).all():
            raise CorpusError("A vector of the corpus holds NaN or infinity; embed the corpus again.")
        rows = np.arange(start, start + len(block))
        entering = ~np.isin(rows, held_back)
        graph.add(rows[entering], unit(block[entering]))
        if progress is not None:
            progress(start + len(block), count)
    trial = _trial(graph, vectors, held_back, min(COUNT, count - len(held_back)))
    if len(held_back):
        graph.add(held_back, unit(np.asarray(vectors[held_back], dtype=np.float32)))
    return graph, trial


def index_facts(corpus: Corpus, settings: Settings) -> IndexFacts | None:
    """Facts about this installation's index of a corpus; None if there is none.

    Raises:
        CorpusError: it was made of another state of the corpus, by another version, or is damaged.
    """
    try:
        with open_regular(index_folder(corpus, settings) / FACTS_FILE) as file:
            raw = file.read(MAX_FACTS_NBYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CorpusError(f"{FACTS_FILE} of {quoted(corpus.path.name)} cannot be read ({error.strerror}).") from error
    again = "make it again with `python -m bertviz_core corpus search FOLDER TEXT --index`, or search without it"
    try:
        facts = msgspec.json.decode(raw[:MAX_FACTS_NBYTES], type=IndexFacts)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorpusError(f"The search index of {quoted(corpus.path.name)} is damaged; {again}.") from error
    if facts.expansion_search not in EXPANSIONS or not 0 <= facts.recall <= 1:
        raise CorpusError(f"The search index of {quoted(corpus.path.name)} is damaged; {again}.")
    if facts.format_version != FORMAT_VERSION:
        raise CorpusError(f"The search index of {quoted(corpus.path.name)} is of another version; {again}.")
    if (facts.fingerprint, facts.rows, facts.dimensions) != (corpus.fingerprint, corpus.rows, corpus.dimensions):
        raise CorpusError(
            f"The search index of {quoted(corpus.path.name)} was made before the corpus was changed; {again}."
        )
    return facts


def open_index(corpus: Corpus, settings: Settings) -> SearchIndex | None:
    """Open this installation's index of a corpus; None if there is none.

    Its file is compared with its digest when it is first opened, and again when it has changed.

    Raises:
        CorpusError: as index_facts; or its file is missing or damaged.
    """
    facts, path = index_facts(corpus, settings), index_folder(corpus, settings) / INDEX_FILE
    if facts is None:
        return None
    try:
        state = path.stat()
        with suppress(PermissionError):  # of another user's folder the time of use stays
            os.utime(path.parent)
        return _opened(path.absolute(), (state.st_size, state.st_mtime_ns, state.st_ino), facts)
    except (OSError, RuntimeError, ValueError) as error:
        raise CorpusError(
            f"{INDEX_FILE} of {quoted(corpus.path.name)} is missing or damaged; make the index again with `python -m "
            "bertviz_core corpus search FOLDER TEXT --index`, or search without it."
        ) from error


@lru_cache(maxsize=4)
def _opened(path: Path, state: tuple[int, int, int], facts: IndexFacts) -> SearchIndex:
    """The index in a file of this state."""
    from usearch.index import Index

    if _digest(path) != facts.sha256:  # a file that was cut off would be read beyond its end
        raise ValueError("another digest")
    graph = Index.restore(str(path), view=True)
    if graph is None or len(graph) != facts.rows or graph.ndim != facts.dimensions:
        raise ValueError("another index")
    graph.expansion_search = facts.expansion_search  # type: ignore[misc]  # its setter stands apart from its getter
    return SearchIndex(facts, graph)


def nearest_in_index(
    index: SearchIndex,
    vectors: Float[Vectors, "rows dimensions"],
    query: Float[np.ndarray, " dimensions"],
    count: int,
) -> RankedRows:
    """Nearest rows found by the graph, with exact cosines and in the order of an exact search.

    Args:
        index: the index.
        vectors: all vectors of its corpus.
        query: what is looked for.
        count: how many rows.

    Raises:
        CorpusError: the query holds NaN or infinity.
    """
    if not np.isfinite(query).all():
        raise CorpusError("The query's vector holds NaN or infinity, so nothing is near it; try another text.")
    return _ranked(index.graph, vectors, query, count)


def _ranked(
    graph: "Index", vectors: Float[Vectors, "rows dimensions"], query: Float[np.ndarray, " dimensions"], count: int
) -> RankedRows:
    wanted = min(2 * count + SPARE, len(graph))  # some more: the graph's own cosines are rounded
    rows = np.asarray(graph.search(unit(np.asarray(query, dtype=np.float32)), wanted).keys, dtype=np.int64)
    scores = exact_cosines(vectors, query, rows)
    order = np.lexsort((rows, -scores))[:count]
    return RankedRows(rows[order], scores[order])


def _trial(
    graph: "Index", vectors: Float[Vectors, "rows dimensions"], held_back: Int[np.ndarray, " queries"], count: int
) -> IndexTrial:
    """Recall with the smallest expansion that reaches RECALL."""
    if not len(held_back):
        return IndexTrial(0, count, 1.0, EXPANSIONS[0], 0.0)
    queries = np.asarray(vectors[held_back], dtype=np.float32)
    nearest = []
    for query in queries:
        rows = nearest_rows(vectors, query, count + len(held_back)).rows
        nearest.append(rows[~np.isin(rows, held_back)][:count])
    trials = (_tried(graph, vectors, (queries, nearest), count, expansion) for expansion in EXPANSIONS)
    trial = next(trials)
    while trial.recall < RECALL and trial.expansion < EXPANSIONS[-1]:
        trial = next(trials)
    return trial


def _tried(
    graph: "Index",
    vectors: Float[Vectors, "rows dimensions"],
    known: tuple[Float[np.ndarray, "queries dimensions"], Sequence[Int[np.ndarray, " count"]]],
    count: int,
    expansion: int,
) -> IndexTrial:
    """Recall and median seconds of queries with known nearest rows."""
    graph.expansion_search = expansion  # type: ignore[misc]  # as above
    hits, times = [], []
    for query, true in zip(*known, strict=True):
        started = perf_counter()
        rows = _ranked(graph, vectors, query, count).rows
        times.append(perf_counter() - started)
        hits.append(np.isin(true, rows).mean())
    return IndexTrial(len(hits), count, float(np.mean(hits)), expansion, float(np.median(times)))


def _write(path: Path, graph: "Index") -> None:
    """Write the index's file atomically."""

    def save(file: BinaryIO) -> Any:
        try:
            graph.save(file.name)  # usearch opens the file anew by its name
        except RuntimeError as error:
            raise OSError(0, str(error)) from error

    write_whole(path, save)


def _make_room(current: Path, max_nbytes: int) -> None:
    """Delete the least recently used indexes until all take at most so many bytes; this one stays."""
    folders = [(folder.stat().st_mtime_ns, folder) for folder in current.parent.iterdir() if folder != current]
    nbytes = sum(file.stat().st_size for file in current.parent.glob("*/*"))
    for _, folder in sorted(folders):
        if nbytes <= max_nbytes:
            return
        nbytes -= sum(file.stat().st_size for file in folder.iterdir())
        shutil.rmtree(folder, ignore_errors=True)


def _digest(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
