"""Corpora opened for whoever asks, and what is found in them: kept by the corpus' fingerprint, long work on a board."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import streamlit as st
from jaxtyping import Float

from bertviz_core.corpus.analysis.clusters import corpus_clusters
from bertviz_core.corpus.analysis.duplicates import duplicate_groups
from bertviz_core.corpus.analysis.probes import corpus_probe_scores
from bertviz_core.corpus.analysis.profiles import head_profiles
from bertviz_core.corpus.analysis.projection import corpus_map
from bertviz_core.corpus.analysis.results import ClusterMethod, CorpusClusters, CorpusMap, DuplicateGroups, HeadProfiles
from bertviz_core.corpus.analysis.values import ColumnValues, column_values
from bertviz_core.corpus.folder import TEXT_COLUMN, Corpus, open_corpus
from bertviz_core.corpus.places import corpus_folder, stamp
from bertviz_core.corpus.search.index import open_index
from bertviz_core.corpus.search.query import check_weights, query_vector, search
from bertviz_core.corpus.search.results import CorpusHits
from bertviz_core.errors import BertvizError, Progress
from bertviz_core.models.files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.predictions.labelled.results import ProbeScores
from bertviz_core.questions.byte_cache import held_nbytes
from bertviz_core.sentences.batches import edge_tokens
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.sentences.results import MapMethod, Pooling
from ui.cache import models
from ui.cache.decorator import cached_by_bytes, results
from ui.cache.jobs import JobBoard
from ui.cache.sources import SourceKey, source, source_key
from ui.session import settings
from ui.views.corpus.controls import allow_work, work_allowed
from ui.widgets.formatting import escape_markdown
from ui.widgets.lists.progress import awaited

T = TypeVar("T")
SHORT_WORK = 512
"""Work of more steps waits for its turn."""
ASKED_ABOVE = 20_000
"""Rows above which the reader is asked before what takes minutes."""
PATIENCE_S = 2.0
"""Seconds for which the page waits without a way to end the work."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedCorpus:
    """A corpus under the name that the page calls it by."""

    name: str
    """Name of its folder."""
    corpus: Corpus
    """The corpus, its shards looked at."""


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> JobBoard[Any]:
    """What this server works out about corpora."""
    return JobBoard(SHORT_WORK, held_nbytes, results())


def opened(name: str, folder: Path | None = None) -> NamedCorpus:
    """The corpus of a name as its files are now.

    Args:
        name: of the corpus.
        folder: where it is; None for below the folder of corpora.

    Raises:
        CorpusError: as corpus_folder and open_corpus.
    """
    folder = folder or corpus_folder(name, settings())
    return NamedCorpus(name, _opened(str(folder), stamp(folder)))


def worked_out(what: tuple[object, ...], total: int, noun: str, work: Callable[[Progress], T], question: str = "") -> T:
    """The result of long work on a corpus, made once for whoever asks; the page ends here until it is there.

    Args:
        what: what the result depends on, the corpus' fingerprint among it.
        total: steps of the work.
        noun: what is counted.
        work: makes the result.
        question: what the reader is asked before it begins; "" where it begins at once.

    Raises:
        BertvizError: the work's own.
    """
    key = sha256(repr(what).encode("utf-8", "backslashreplace")).hexdigest()
    board = jobs()
    if question and board.find(key) is None and not work_allowed(key):
        st.info(question, icon=":material/timer:")
        st.button("Begin", type="primary", key="start_work", on_click=allow_work, args=(key,))
        st.stop()
    job = board.start(key, total, work)
    result: T = awaited(jobs, key, job, noun, PATIENCE_S, allow_work, kind=f"corpus {what[0]}")
    return result


def placed(named: NamedCorpus, method: MapMethod) -> CorpusMap:
    """Every row as a point.

    Raises:
        BertvizError: as corpus_map.
    """
    corpus = named.corpus

    def work(tell: Progress) -> CorpusMap:
        return corpus_map(corpus.vectors(), method, tell=tell)

    question = (
        f"UMAP learns from a sample and then places the other rows, one after the other: of {corpus.rows:,} that takes "
        "long. You see how far it is, and can cancel."
    )
    asked = question if method == "umap" and corpus.rows > ASKED_ABOVE else ""
    return worked_out(("map", corpus.fingerprint, method), 2 * corpus.rows, "rows", work, asked)


def values(named: NamedCorpus, column: str) -> ColumnValues:
    """What a column says of each row, as places in a list of few values."""
    return _values(named.corpus.fingerprint, column, named.corpus)


@cached_by_bytes("Reading the column")
def _values(fingerprint: str, column: str, _corpus: Corpus) -> ColumnValues:
    return column_values(_corpus.column(column))


def first_text(named: NamedCorpus) -> str:
    """The text of the first row; "" where the corpus keeps no texts."""
    return _first_text(named.corpus.fingerprint, named.corpus)


@cached_by_bytes()
def _first_text(fingerprint: str, _corpus: Corpus) -> str:
    if TEXT_COLUMN not in _corpus.columns:
        return ""
    return str(_corpus.read([0], [TEXT_COLUMN]).column(TEXT_COLUMN).to_pylist()[0] or "")


def hits(named: NamedCorpus, text: str, where: str, count: int) -> CorpusHits:
    """The rows nearest to a text, by this machine's index of the corpus where there is one.

    Raises:
        BertvizError: as query_vector and search; or the model that made the corpus is not here.
    """
    corpus = named.corpus
    vector = _vector(corpus.fingerprint, source_key(corpus.manifest.model), text, corpus)
    return _hits(corpus.fingerprint, text, where, count, corpus, vector)


@cached_by_bytes("Embedding the query")
def _vector(fingerprint: str, key: SourceKey, text: str, _corpus: Corpus) -> Float[np.ndarray, " dimensions"]:
    loaded, tokenizer = models.loaded(key.name), models.tokenizer(key.name)
    return query_vector(_corpus, loaded, tokenizer, source(key.name), settings(), text)


@cached_by_bytes("Searching")
def _hits(
    fingerprint: str, text: str, where: str, count: int, _corpus: Corpus, _vector: Float[np.ndarray, " dimensions"]
) -> CorpusHits:
    return search(_corpus, text, _vector, count, where, open_index(_corpus, settings()))


def duplicates(named: NamedCorpus, threshold: float) -> DuplicateGroups:
    """Rows that are alike, as groups; of many rows when the reader says so.

    Raises:
        BertvizError: as duplicate_groups.
    """
    corpus = named.corpus
    pairs = corpus.rows * (corpus.rows - 1) // 2
    question = (
        f"Every one of {corpus.rows:,} rows is compared with every other: {pairs:,} pairs. You see how far it is, and "
        "can cancel."
    )

    def work(tell: Progress) -> DuplicateGroups:
        return duplicate_groups(corpus.vectors(), threshold, tell)

    what = ("duplicates", corpus.fingerprint, threshold)
    return worked_out(what, corpus.rows, "blocks", work, question if corpus.rows > ASKED_ABOVE else "")


def clusters(named: NamedCorpus, method: ClusterMethod, count: int, least: int) -> CorpusClusters:
    """Every row in a cluster.

    Raises:
        BertvizError: as corpus_clusters.
    """
    corpus = named.corpus

    def work(tell: Progress) -> CorpusClusters:
        return corpus_clusters(corpus.vectors(), method, count, least, tell=tell)

    return worked_out(("clusters", corpus.fingerprint, method, count, least), corpus.rows, "rows", work)


def profiles(named: NamedCorpus, name: str, column: str, count: int) -> HeadProfiles:
    """What every head of a model does on a sample of the texts.

    Raises:
        BertvizError: as head_profiles and load_model.
    """
    corpus, model, tokenizer = named.corpus, models.loaded(name), models.tokenizer(name)

    def work(tell: Progress) -> HeadProfiles:
        return head_profiles(corpus, model, tokenizer, count, column, tell=tell)

    what = ("heads", corpus.fingerprint, model.name, model.revision, column, count)
    return worked_out(what, count, "sentences", work)


def poolings(name: str) -> tuple[Pooling, ...]:
    """Ways of making one vector of a text's tokens that a model offers, the mean first."""
    first = edge_tokens(models.tokenizer(name)).first
    offered = offered_poolings(first, models.loaded(name).has_pooler, "mean")
    return tuple(sorted(offered, key=lambda each: each != "mean"))


def probes(named: NamedCorpus, name: str, column: str, pooling: Pooling, count: int) -> ProbeScores:
    """How well the values of a column can be read off each layer of a model.

    Raises:
        BertvizError: as corpus_probe_scores and load_model.
    """
    corpus, model, tokenizer = named.corpus, models.loaded(name), models.tokenizer(name)

    def work(tell: Progress) -> ProbeScores:
        return corpus_probe_scores(corpus, model, tokenizer, column, pooling, count, tell=tell)

    what = ("probes", corpus.fingerprint, model.name, model.revision, column, pooling, count)
    return worked_out(what, count, "steps", work)


def model_words(named: NamedCorpus) -> str:
    """Whether the model that made a corpus is here, and with the same weights, as Markdown."""
    manifest = named.corpus.manifest
    name = escape_markdown(manifest.model)
    try:
        origin = source(manifest.model)
    except BertvizError as error:
        return f"The model **{name}** is not here, so nothing can be searched for: {escape_markdown(str(error))}"
    if not origin.has_weights:
        return f"The weights of **{name}** are not on this machine, so nothing can be searched for."
    if refusal := _refusal(named.corpus.fingerprint, source_key(manifest.model), named.corpus):
        return f"The model **{name}** is here, but not as it was: {escape_markdown(refusal)}"
    return f"The model **{name}** is here, with the weights that made the corpus (SHA-256 compared)."


@cached_by_bytes("Comparing the weights")
def _refusal(fingerprint: str, key: SourceKey, _corpus: Corpus) -> str:
    """Why the weights that are here cannot be used with a corpus; "" where they can."""
    try:
        check_weights(_corpus, key.name, weights_sha256(weights_folder(source(key.name), settings())))
    except BertvizError as error:
        return str(error)
    return ""


@cached_by_bytes("Opening the corpus")
def _opened(folder: str, stamped: tuple[tuple[str, int, int], ...]) -> Corpus:
    return open_corpus(Path(folder))
