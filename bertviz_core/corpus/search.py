"""Search a corpus: its index and its queries."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from jaxtyping import Float, Int

from bertviz_core.corpus.exact_search import exact_cosines, nearest_rows
from bertviz_core.corpus.folder import TEXT_COLUMN, Corpus, plain_values
from bertviz_core.corpus.manifest import sentence_plan
from bertviz_core.corpus.results import CorpusHit, CorpusHits, IndexFacts, RankedRows
from bertviz_core.corpus.writing import refusal, write_whole
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.isolation.regular_files import open_regular
from bertviz_core.lazy_imports import optional
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.store.vectors import Vectors
from bertviz_core.settings import Settings
from bertviz_core.text import quoted
from bertviz_core.trace.tokenization import TextTokenizer

if TYPE_CHECKING:
    from usearch.index import Index

INDEX_FILE, FACTS_FILE = "index.usearch", "index.json"
INDEXES_FOLDER = "search-indexes"
"""Subfolder of the folder of stored vectors, with one folder per indexed corpus."""
FORMAT_VERSION = 1
WORTHWHILE = 1_000_000
"""Number of rows from which on an index is suggested: below, an exact search takes less than half a second."""
CONNECTIVITY, EXPANSION_ADD = 16, 128
"""Neighbours per row, and rows compared to find them: defaults of usearch."""
EXPANSIONS = (64, 128, 256, 512, 1024)
"""Rows compared per query, increased in this order until the recall is reached."""
RECALL = 0.95
"""Target recall of an index."""
QUERIES, COUNT, SEED = 100, 10, 0
"""Number of held-out query rows for the recall, nearest rows requested for each, and seed of the sample."""
SPARE = 16
"""Number of additional rows with recomputed cosines."""
BLOCK_ROWS = 8_192
"""Number of rows added to the graph between two progress reports."""
MAX_FACTS_NBYTES = 64 * 1024


class IndexTrial(NamedTuple):
    """Recall and speed of a graph on held-out rows."""

    queries: int
    """Number of query rows."""
    candidates: int
    """Number of nearest rows per query."""
    recall: float
    """Share of the true nearest rows that were found, 0 to 1."""
    expansion: int
    """Number of rows compared per query."""
    seconds_per_query: float
    """Median duration of a query in seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchIndex:
    """An opened index; its file is memory-mapped."""

    facts: IndexFacts
    """Facts about the index, such as its recall."""
    graph: "Index"
    """usearch index of all rows; keys are rows."""


def index_folder(corpus: Corpus, settings: Settings) -> Path:
    """Return the folder of this installation's index of a corpus, by the path of the corpus."""
    path = str(corpus.path.resolve()).encode("utf-8", "surrogateescape")
    return settings.vector_store_dir / INDEXES_FOLDER / hashlib.blake2b(path, digest_size=16).hexdigest()


def make_index(corpus: Corpus, settings: Settings, progress: Progress | None = None) -> IndexFacts:
    """Build and store an index of all rows; it replaces an earlier one once complete.

    The recall is measured with held-out rows, which are searched in the graph of the others and by exact comparison.
    The number of rows compared per query is the smallest that reaches a recall of 0.95, if any does.

    Args:
        settings: settings with the folder of stored vectors and its limit; the least recently used indexes are evicted.
        progress: called as progress(rows done, rows); may raise to cancel without writing.
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
        count=trial.candidates,
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
    """Build the graph of all rows, and measure it on initially held-out rows."""
    with optional("corpus", "usearch", "The index of a corpus"):
        from usearch.index import Index

    count, dimensions = vectors.shape
    graph = Index(ndim=dimensions, metric="cos", dtype="i8", connectivity=CONNECTIVITY, expansion_add=EXPANSION_ADD)
    query_rows = np.random.default_rng(SEED).choice(count, min(QUERIES, count // 2), replace=False)
    for start in range(0, count, BLOCK_ROWS):
        block = np.asarray(vectors[start : start + BLOCK_ROWS], dtype=np.float32)
        if not np.isfinite(block).all():
            raise CorpusError("A vector of the corpus holds NaN or infinity; embed the corpus again.")
        rows = np.arange(start, start + len(block))
        entering = ~np.isin(rows, query_rows)
        graph.add(rows[entering], unit(block[entering]))
        if progress is not None:
            progress(start + len(block), count)
    trial = _trial(graph, vectors, query_rows, min(COUNT, count - len(query_rows)))
    if len(query_rows):
        graph.add(query_rows, unit(np.asarray(vectors[query_rows], dtype=np.float32)))
    return graph, trial


def index_facts(corpus: Corpus, settings: Settings) -> IndexFacts | None:
    """Return facts about this installation's index of a corpus; None if there is none."""
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

    The file is compared with its digest when it is first opened or has changed.
    """
    facts, path = index_facts(corpus, settings), index_folder(corpus, settings) / INDEX_FILE
    if facts is None:
        return None
    try:
        state = path.stat()
        with suppress(PermissionError):  # in another user's folder the time of use is not updated
            os.utime(path.parent)
        return _opened(path.absolute(), (state.st_size, state.st_mtime_ns, state.st_ino), facts)
    except (OSError, RuntimeError, ValueError) as error:
        raise CorpusError(
            f"{INDEX_FILE} of {quoted(corpus.path.name)} is missing or damaged; make the index again with `python -m "
            "bertviz_core corpus search FOLDER TEXT --index`, or search without it."
        ) from error


@lru_cache(maxsize=4)
def _opened(path: Path, state: tuple[int, int, int], facts: IndexFacts) -> SearchIndex:
    """Open the index in a file of this state."""
    with optional("corpus", "usearch", "The index of a corpus"):
        from usearch.index import Index

    if _digest(path) != facts.sha256:  # a truncated file would be read beyond its end
        raise ValueError("another digest")
    graph = Index.restore(str(path), view=True)
    if graph is None or len(graph) != facts.rows or graph.ndim != facts.dimensions:
        raise ValueError("another index")
    graph.expansion_search = facts.expansion_search  # type: ignore[misc]  # its setter stands apart from its getter
    return SearchIndex(facts, graph)


def nearest_in_index(
    index: SearchIndex, vectors: Float[Vectors, "rows dimensions"], query: Float[np.ndarray, " dimensions"], count: int
) -> RankedRows:
    """Find nearest rows by the graph, with exact cosines and in the order of an exact search.

    Args:
        vectors: all vectors of the corpus.
    """
    if not np.isfinite(query).all():
        raise CorpusError("The query's vector holds NaN or infinity, so nothing is near it; try another text.")
    return _ranked(index.graph, vectors, query, count)


def _ranked(
    graph: "Index", vectors: Float[Vectors, "rows dimensions"], query: Float[np.ndarray, " dimensions"], count: int
) -> RankedRows:
    candidates = min(2 * count + SPARE, len(graph))  # more than requested: the graph's cosines are rounded
    rows = np.asarray(graph.search(unit(np.asarray(query, dtype=np.float32)), candidates).keys, dtype=np.int64)
    scores = exact_cosines(vectors, query, rows)
    order = np.lexsort((rows, -scores))[:count]
    return RankedRows(rows[order], scores[order])


def _trial(
    graph: "Index", vectors: Float[Vectors, "rows dimensions"], query_rows: Int[np.ndarray, " queries"], count: int
) -> IndexTrial:
    """Measure recall with the smallest expansion that reaches RECALL."""
    if not len(query_rows):
        return IndexTrial(0, count, 1.0, EXPANSIONS[0], 0.0)
    queries = np.asarray(vectors[query_rows], dtype=np.float32)
    nearest = []
    for query in queries:
        rows = nearest_rows(vectors, query, count + len(query_rows)).rows
        nearest.append(rows[~np.isin(rows, query_rows)][:count])
    trials = (_tried(graph, vectors, (queries, nearest), count, expansion) for expansion in EXPANSIONS)
    trial = next(trials)
    while trial.recall < RECALL and trial.expansion < EXPANSIONS[-1]:
        trial = next(trials)
    return trial


def _tried(
    graph: "Index",
    vectors: Float[Vectors, "rows dimensions"],
    known: tuple[Float[np.ndarray, "queries dimensions"], Sequence[Int[np.ndarray, " _"]]],
    count: int,
    expansion: int,
) -> IndexTrial:
    """Measure recall and median seconds of queries with known nearest rows."""
    graph.expansion_search = expansion  # type: ignore[misc]  # as above
    hits, times = [], []
    for query, true in zip(*known, strict=True):
        started = perf_counter()
        rows = _ranked(graph, vectors, query, count).rows
        times.append(perf_counter() - started)
        hits.append(np.isin(true, rows).mean())
    return IndexTrial(len(hits), count, float(np.mean(hits)), expansion, float(np.median(times)))


def _write(path: Path, graph: "Index") -> None:
    """Write the file of the index atomically."""

    def save(file: BinaryIO) -> Any:
        try:
            graph.save(file.name)  # usearch reopens the file by name
        except RuntimeError as error:
            raise OSError(0, str(error)) from error

    write_whole(path, save)


def _make_room(current: Path, max_nbytes: int) -> None:
    """Evict the least recently used indexes down to a size limit, but not the current one."""
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


MAX_HITS = 1_000
"""Maximum number of requested rows."""


def query_vector(
    corpus: Corpus,
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    source: ModelSource,
    settings: Settings,
    text: str,
    reader: ModelSource | None = None,
) -> Float[np.ndarray, " dimensions"]:
    """Encode a text by the corpus' model, pooling, layer and prompt, or by the plan of the model that reads queries.

    Args:
        loaded: the model that reads queries, in float32; that of the corpus for most.
        source: the model of the corpus.
        settings: limits of the instance.
        reader: the model that reads queries; None for that of the corpus.
    """
    if not text.strip():
        raise CorpusError("There is nothing to look for; give a text.")
    check_weights(corpus, source.name, _weights_of(weights_folder(source, settings), source.revision))
    if reader is None or reader.name == source.name:
        plan = sentence_plan(corpus.manifest, source, settings, loaded.num_hidden_layers)
    else:
        plan = replace(recommended(reader, settings), prompt=corpus.manifest.prompt)
    vector: np.ndarray = sentence_vectors(loaded, tokenizer, (text,), plan).vectors[0]
    if len(vector) != corpus.dimensions:
        raise CorpusError(
            f"{quoted(loaded.name)} gives vectors of {len(vector):,} numbers, and those of {quoted(corpus.path.name)} "
            f"have {corpus.dimensions:,}; search it with the model that made it."
        )
    return vector


@lru_cache(maxsize=8)
def _weights_of(folder: Path, revision: str) -> str:
    """Return the SHA-256 of a model's weights, computed once per revision."""
    return weights_sha256(folder)


def check_weights(corpus: Corpus, name: str, weights_sha256: str) -> None:
    """Check that a corpus was made with these weights: cosines between vectors of two models are meaningless.

    Args:
        weights_sha256: SHA-256 of its weights, as in a manifest.
    """
    if weights_sha256 != corpus.manifest.weights_sha256:
        same = name == corpus.manifest.model
        what = "other weights of that name are here" if same else f"{quoted(name)} has other weights"
        raise CorpusError(
            f"The corpus {quoted(corpus.path.name)} was made with {quoted(corpus.manifest.model)}, revision "
            f"{quoted(corpus.manifest.revision)}; {what}. Search it with the model that made it, or embed it again."
        )


def search(
    corpus: Corpus,
    text: str,
    vector: Float[np.ndarray, " dimensions"],
    count: int = 10,
    where: str = "",
    index: SearchIndex | None = None,
) -> CorpusHits:
    """Find the rows of a corpus nearest to a query, with their texts and columns.

    With a filter, all rows that pass it are compared exactly, even with an index.

    Args:
        vector: vector of the query, from query_vector.
        where: a filter, see Corpus.mask; "" for none.
        index: an index of the corpus; None compares every row.
    """
    if not 1 <= count <= MAX_HITS:
        raise CorpusError(f"{count:,} rows were requested; give 1 to {MAX_HITS:,}.")
    mask, notices = (corpus.mask(where) if where else None), []
    vectors, started = corpus.vectors(), perf_counter()
    used = index if mask is None else None
    if used is not None:
        ranked = nearest_in_index(used, vectors, vector, count)
        notices.append(
            f"Found by an index whose recall@{used.facts.count} was {used.facts.recall:.1%} on {used.facts.queries:,} "
            "held-out rows: some of the nearest rows may be missing."
        )
    else:
        ranked = nearest_rows(vectors, vector, count, mask)
    seconds = perf_counter() - started
    if index is not None and used is None:
        notices.append("With a filter every row that it leaves is compared; the index is not used.")
    if index is None and corpus.rows >= WORTHWHILE:
        notices.append(f"Every one of {corpus.rows:,} rows was compared; an index (--index) would be quicker.")
    searched = corpus.rows if mask is None else int(mask.sum())
    if where and not searched:
        notices.append(f"No row has {where}.")
    return CorpusHits(
        query=text,
        corpus=corpus.path.name,
        model=corpus.manifest.model,
        hits=_hits(corpus, ranked),
        method="exact" if used is None else "index",
        where=where,
        searched=searched,
        rows=corpus.rows,
        recall=None if used is None else used.facts.recall,
        seconds=seconds,
        notices=tuple(notices),
    )


def _hits(corpus: Corpus, ranked: RankedRows) -> tuple[CorpusHit, ...]:
    """Read texts and columns of the rows."""
    own = [column.name for column in corpus.manifest.columns]
    has_text = corpus.manifest.text_column is not None
    table = corpus.read(ranked.rows.tolist(), [*own, TEXT_COLUMN] if has_text else own)
    columns = {name: plain_values(table.column(name)) for name in table.column_names}
    cells = [{name: values[place] for name, values in columns.items()} for place in range(len(ranked.rows))]
    return tuple(
        CorpusHit(row, score, str(cell.pop(TEXT_COLUMN) or "") if has_text else None, cell)
        for row, score, cell in zip(ranked.rows.tolist(), ranked.scores.tolist(), cells, strict=True)
    )
