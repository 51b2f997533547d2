"""Widgets of the page Corpus."""

from collections.abc import Mapping, Sequence

import streamlit as st

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.corpus.analysis.duplicates import unlike
from bertviz_core.corpus.analysis.results import CLUSTER_METHODS, ClusterMethod
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
from ui.session import CORPUS_QUERY

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
