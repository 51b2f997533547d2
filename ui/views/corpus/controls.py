"""Controls of the page Corpus, and its texts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.corpus.analysis.duplicates import unlike
from bertviz_core.corpus.analysis.results import CLUSTER_METHODS, ClusterMethod, DuplicateGroups
from bertviz_core.corpus.corpora_folder import EXAMPLE, corpus_names, example_folder, example_is_there, make_example
from bertviz_core.errors import Progress
from bertviz_core.predictions.probing.reading import example_set
from bertviz_core.questions.corpora import (
    ALIKE,
    CLUSTERING,
    FIRST_HITS,
    HITS,
    MEASURE,
    METHODS,
    PART,
    PLACED,
    POOLING,
    THRESHOLD,
    WHERE,
)
from bertviz_core.questions.parameters import Param
from bertviz_core.sentences.results import MapMethod, Pooling
from bertviz_core.text import escape_controls, escape_markdown, quoted
from ui.address.registry import param
from ui.address.widgets import BOUND, select, whole
from ui.cache.folders import SharedCorpus
from ui.cache.jobs import board
from ui.session import CORPUS_QUERY, settings
from ui.widgets import lists
from ui.widgets.lists import awaited

CORPUS, QUERY = "corpus", "corpus_query"
THRESHOLDS = ("0.6", "0.7", "0.8", "0.9", "0.95", "0.97", "0.98", "0.99", "0.995")
LEAST_THRESHOLD = float(THRESHOLDS[0])
COLUMN_KINDS = ("text", "number", "boolean")
"""Kinds of columns whose values can colour a map or be labels."""
WIDTH, NARROW, QUERY_WIDTH, PART_WIDTH = 240, 130, 310, 168
"""Pixels of widgets; those of a view fit into one row of a window 1,400 pixels wide."""
MOST_HITS = 100
LONGEST_PLACEHOLDER = 60
"""Most characters of a placeholder."""


def corpus_select(names: Sequence[str]) -> str:
    """One of the corpora."""
    if st.session_state.get(CORPUS, names[0]) not in names:
        missing, first = (escape_markdown(quoted(str(name), 40)) for name in (st.session_state[CORPUS], names[0]))
        st.toast(f"There is no corpus {missing} here; {first} is shown.")
        st.session_state[CORPUS] = names[0]
    chosen = st.selectbox("Corpus", list(names), key=CORPUS, format_func=escape_controls, width=WIDTH, **BOUND)
    return str(chosen or names[0])


def query_input(example: bool, first: str) -> str:
    """The query; if empty, the first text of the corpus is used.

    Args:
        example: whether the corpus is the example, which has its own default query.
        first: the first text of the corpus; "" if its texts are not stored.
    """
    stored = st.session_state.get(QUERY)
    if stored is None or (stored == CORPUS_QUERY and not example):
        st.session_state[QUERY] = CORPUS_QUERY if example else ""
    typed = st.text_input(
        "Search for",
        key=QUERY,
        persist_state="session",
        width=QUERY_WIDTH,
        placeholder=escape_controls(first)[:LONGEST_PLACEHOLDER],
        help=None if example else "Empty: the first text of the corpus.",
    )
    return str(typed or "").strip() or first


def where_input(columns: Mapping[str, str]) -> str:
    """A filter column=value; "" for none."""
    named = ", ".join(escape_markdown(name) for name in list(columns)[:12])
    help_text = f"Only rows whose column has this value, as in topic=weather or year=null. Columns: {named}."
    typed = st.text_input(
        "Filter", key=WHERE.key, persist_state="session", placeholder="column=value", help=help_text, width=WIDTH
    )
    return str(typed or "").strip()


def hits_input(rows: int) -> int:
    """How many rows are listed."""
    most = min(MOST_HITS, rows)
    return whole(HITS, "Hits", 1, most, min(FIRST_HITS, most), width=NARROW)


def hit_select(count: int) -> int:
    """Index of the open hit; the address has its number and never its text."""
    return whole(param("hit"), "Open hit", 1, count, 1, width=NARROW) - 1


def column_select(
    column: Param, label: str, columns: Mapping[str, str], none: str = "", first: str = "", width: int = WIDTH
) -> str:
    """A column of the corpus whose values can colour a map or be labels; "" for none.

    Args:
        column: the parameter.
        label: label of the widget.
        columns: name -> kind.
        none: label of the option without a column; "" if one must be chosen.
        first: the default, if it exists.
        width: pixels of the widget.
    """
    names = [name for name, kind in columns.items() if kind in COLUMN_KINDS and name != "text"]
    options = [*([""] if none else []), *names]
    if not options:
        return ""
    first = first if first in options else options[0]
    return select(column, label, options, first, width=width, format_func=lambda name: escape_controls(name) or none)


def map_method(umap: bool) -> MapMethod:
    """The method of projection; no widget where UMAP is not installed."""
    if not umap:
        return METHODS[0]
    words = {"pca": "principal components", "umap": "UMAP"}
    return select(PLACED, "Map", METHODS, format_func=words.__getitem__, width=WIDTH)


def threshold_select(example: bool) -> float:
    """Least cosine of near duplicates; the lowest by default in the example, none of whose rows are nearly equal."""
    first = THRESHOLDS[0] if example else str(THRESHOLD)
    help_text = "Two rows whose vectors have at least this cosine are a pair; pairs that share a row are one group."
    return float(select(ALIKE, "Cosine at least", THRESHOLDS, first, help=help_text, width=WIDTH))


def cluster_method() -> ClusterMethod:
    """The method of clustering."""
    return select(CLUSTERING, "Method", CLUSTER_METHODS, width=WIDTH)


def sample_select(sample: Param, label: str, sizes: Sequence[int], first: int) -> int:
    """Number of rows that are sampled."""
    words = "So many rows are drawn by a fixed seed; more take longer."
    return int(select(sample, label, [str(size) for size in sizes], str(first), help=words, width=NARROW))


def pooling_select(offered: Sequence[Pooling]) -> Pooling:
    """How the token vectors of a text are pooled for a probe."""
    return select(POOLING, "Pooling", offered, width=WIDTH)


def measure_select(words: Mapping[HeadMeasure, str]) -> HeadMeasure:
    """The measure of every head."""
    return select(MEASURE, "Measure", list(words), format_func=words.__getitem__, width=WIDTH)


def part_select(names: Sequence[str]) -> int:
    """Index of a part of the sample; 0 for the whole."""
    options = [unlike("all", names), *names]
    return options.index(select(PART, "Part", options, width=PART_WIDTH, format_func=escape_controls))


NONE_YET = (
    "There is no corpus of yours here yet, so this is an **example**: the 220 labelled sentences that come with this "
    "dashboard. `python -m bertviz_core corpus embed MODEL INPUT -o FOLDER` makes one from a table of texts; this page "
    "lists those in the folder that the setting INSIDE_BERT_CORPORA_DIR names."
)
ABOUT = (
    "A corpus is a folder: Parquet shards with the input's own columns, the texts and a vector for each, beside a "
    "manifest that says which model made the vectors and how. The file of all vectors, in the order of the rows, is "
    "read as a map of memory, so that nothing of it is loaded before it is looked at. The page reads; it never writes "
    "into the folder."
)


MAPS: Mapping[MapMethod, str] = {
    "pca": (
        "Principal component analysis of all rows: their covariance is summed block by block in float64, its two "
        "leading directions are the axes, and every row is projected on them. Points far apart are far apart in the "
        "model too; points close together need not be where the two axes hold little of the variance. "
    ),
    "umap": (
        "UMAP links rows to their nearest by the cosine and looks for points of the plane with the same links (McInnes "
        "et al. 2018). It is fitted on a sample; the other rows are placed among it. Who is whose neighbour can be "
        "read from it; distances between groups, their sizes and the axes cannot. "
    ),
}
SHADING = (
    "The server counts the rows in each cell of the part that is looked at; the shade follows the logarithm of the "
    "count, the colour the value that most rows of a cell have."
)


SEARCH = (
    "The query becomes a vector as the corpus' texts did: by the same weights (their SHA-256 is compared), pooling, "
    "layer and prompt. Its cosine with every row's vector is computed, and the largest are listed; of equal ones the "
    "first row comes first. Where this machine has an index of the corpus, it is searched instead, and the rows that "
    "it returns are compared exactly; with a filter every row that is left is compared."
)
DUPLICATES = (
    "Every row's vector is compared with every other's, block by block; pairs whose cosine reaches the threshold are "
    "edges of a graph, and its connected components are the groups. So two rows of a group may be less alike than the "
    "threshold where others join them. Alike means alike to this model: a negation or a number may be all that differs."
)
CLUSTERS = (
    "On vectors of unit length: k-means looks for so many centres that the squared distances to the nearest are small; "
    "HDBSCAN (Campello et al. 2013) for dense regions, and leaves out what lies between them. Of many rows a sample is "
    "clustered, and the others go to the nearest centre. Typical rows have the largest cosine with the cluster's mean "
    "direction. Another seed, method or count draws other borders: clusters are a way of looking, not a finding."
)
HEADS = (
    "A sample of the texts, drawn by a fixed seed, is run one by one through the model that is chosen on the left. For "
    "each head a measure is averaged over the queries of a text, then over the texts; every text counts alike. Entropy "
    "in nats: 0 for a head that looks at one token. Distance in tokens. Shares of a row: on the first token ([CLS]), "
    "on the other special tokens ([SEP]), on the token before, the one after, and itself (Clark et al. 2019)."
)
PROBES = (
    "A sample of the rows that have a label is run once through the model that is chosen on the left, for all layers. "
    "On each layer multinomial logistic regression is fitted on four fifths of the texts and tried on the fifth that "
    "it has not seen, five times over, and once more with shuffled labels: the *control task* (Hewitt and Liang 2019). "
    "The long-dashed line is always naming the most frequent class. What a probe can read is in the vector; whether "
    "the model uses it, it does not say."
)
RUN_ANEW = ("Heads", "Probes")
"""Views that run the texts through the chosen model; all others use the vectors of the corpus."""
SIDEBAR = f"Used by {' and '.join(RUN_ANEW)}; the other views show what the corpus' own model made."
"""Caption below the model on this page."""
OTHER_MODEL = "The texts are run through {name}, the model chosen on the left; the corpus' vectors play no part here."


def no_duplicates(groups: DuplicateGroups, lower: bool) -> str:
    """The message if no rows are near duplicates.

    Args:
        groups: the empty result.
        lower: whether a lower threshold can be chosen.
    """
    if groups.searched < 2:
        return f"Near duplicates need at least two rows, and this corpus has {groups.searched} to compare."
    advice = " Choose a lower cosine to find rows that are less alike." if lower else ""
    return f"No two of the {groups.searched:,} rows have a cosine of at least {groups.threshold:g}.{advice}"


def chosen_corpus(row: DeltaGenerator) -> SharedCorpus:
    """Return the corpus in the address or the selected one; the page ends here if it does not exist yet.

    Args:
        row: container of the widget.

    Raises:
        CorpusError: the corpus does not exist, or is damaged.
    """
    own = corpus_names(settings())
    names = own if EXAMPLE in own else (*own, EXAMPLE)
    with row:
        name = corpus_select(names)
    if name in own:
        return SharedCorpus(name)
    return SharedCorpus(name, _example(not own))


def _example(alone: bool) -> Path:
    """The folder of the example corpus, computed on request."""
    current = settings()
    if alone:
        st.caption(NONE_YET)
    if example_is_there(current):
        return example_folder(current)

    def work(report: Progress) -> Path:
        return make_example(current, report)

    what = ("example", str(example_folder(current)))
    job = board().find(what)
    if job is None:
        job = board().start(what, len(example_set().texts), work)
    folder: Path = awaited(board, what, job, "sentences", lists.PATIENCE_S, kind="corpus example")
    return folder
