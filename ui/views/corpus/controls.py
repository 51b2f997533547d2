"""Widgets of the page Corpus; keys are in the address, but for what is typed."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from bertviz_core.attention.results import HeadMeasure
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
from bertviz_core.sentences.results import MapMethod, Pooling
from bertviz_core.text import escape_controls, quoted
from ui.address.bounds import keep_among, keep_within
from ui.session import CORPUS_QUERY
from ui.widgets.controls import BOUND
from ui.widgets.formatting import escape_markdown

CORPUS, QUERY, HIT = "corpus", "corpus_query", "hit"
"""Keys beside those of the questions' parameters."""
THRESHOLDS = ("0.6", "0.7", "0.8", "0.9", "0.95", "0.97", "0.98", "0.99", "0.995")
LEAST_THRESHOLD = float(THRESHOLDS[0])
T = TypeVar("T", bound=str)
COLUMN_KINDS = ("text", "number", "boolean")
"""Kinds of columns whose values can colour a map or be labels."""
WIDTH, NARROW, QUERY_WIDTH, PART_WIDTH = 240, 130, 310, 168
"""Pixels of controls: all of a view stand in one row of a window 1,400 wide."""
MOST_HITS = 100
LONGEST_PLACEHOLDER = 60
"""Characters of a text that stand in an empty field."""


def corpus_select(names: Sequence[str]) -> str:
    """One of the corpora."""
    if st.session_state.get(CORPUS, names[0]) not in names:
        asked, first = (escape_markdown(quoted(str(name), 40)) for name in (st.session_state[CORPUS], names[0]))
        st.toast(f"There is no corpus {asked} here; {first} is shown.")
        st.session_state[CORPUS] = names[0]
    chosen = st.selectbox("Corpus", list(names), key=CORPUS, format_func=escape_controls, width=WIDTH, **BOUND)
    return str(chosen or names[0])


def query_input(example: bool, first: str) -> str:
    """The text that is searched for; nothing typed stands for the corpus' first text.

    Args:
        example: whether the corpus is the example, which has a query of its own to begin with.
        first: the first text of the corpus; "" where its texts are not kept.
    """
    held = st.session_state.get(QUERY)
    if held is None or (held == CORPUS_QUERY and not example):
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
    return whole_number("Hits", HITS.key, 1, most, min(FIRST_HITS, most))


def hit_select(count: int) -> int:
    """The hit that is looked at more closely, by its place; the address holds its number and never its text."""
    return whole_number("Open hit", HIT, 1, count, 1) - 1


def whole_number(label: str, key: str, least: int, most: int, first: int, help_text: str | None = None) -> int:
    """A whole number within bounds that another corpus may have narrowed."""
    keep_within(key, least, most)
    return int(st.number_input(label, least, most, first, step=1, key=key, help=help_text, width=NARROW, **BOUND))


def option(
    label: str, options: Sequence[T], key: str, first: T, help_text: str | None = None, width: int = WIDTH, **more: Any
) -> T:
    """One of several words in a list."""
    keep_among(key, options, first)
    chosen = st.selectbox(
        label, list(options), index=list(options).index(first), key=key, help=help_text, width=width, **BOUND, **more
    )
    return chosen or first


def column_select(
    label: str, key: str, columns: Mapping[str, str], none: str = "", first: str = "", width: int = WIDTH
) -> str:
    """A column of the corpus whose values can be told apart; "" for none.

    Args:
        label: what it is for.
        key: of the control.
        columns: name -> kind.
        none: how it is said that no column is meant; "" where one must be chosen.
        first: the one to begin with, where it is there.
        width: of the control in pixels.
    """
    names = [name for name, kind in columns.items() if kind in COLUMN_KINDS and name != "text"]
    options = [*([""] if none else []), *names]
    if not options:
        return ""
    first = first if first in options else options[0]
    keep_among(key, options, first)
    chosen = st.selectbox(
        label,
        options,
        index=options.index(first),
        key=key,
        width=width,
        format_func=lambda name: escape_controls(name) or none,
        **BOUND,
    )
    return str(chosen or "")


def map_method(umap: bool) -> MapMethod:
    """How rows are placed: nothing to choose where UMAP is not installed."""
    if not umap:
        return METHODS[0]
    words = {"pca": "principal components", "umap": "UMAP"}
    return option("Map", METHODS, PLACED.key, METHODS[0], format_func=words.__getitem__)


def threshold_select() -> float:
    """Cosine from which two rows are near duplicates."""
    help_text = "Two rows whose vectors have at least this cosine are a pair; pairs that share a row are one group."
    return float(option("Cosine at least", THRESHOLDS, ALIKE.key, str(THRESHOLD), help_text))


def cluster_method() -> ClusterMethod:
    """How clusters are found."""
    return option("Method", CLUSTER_METHODS, CLUSTERING.key, CLUSTER_METHODS[0])


def sample_select(label: str, key: str, sizes: Sequence[int], first: int) -> int:
    """How many rows are drawn."""
    words = "So many rows are drawn by a fixed seed; more take longer."
    return int(option(label, [str(size) for size in sizes], key, str(first), words, NARROW))


def pooling_select(offered: Sequence[Pooling]) -> Pooling:
    """How the vectors of a text's tokens become the one that a probe reads."""
    return option("Pooling", offered, POOLING.key, offered[0])


def measure_select(words: Mapping[HeadMeasure, str]) -> HeadMeasure:
    """What is told of every head."""
    return option("Measure", list(words), MEASURE.key, next(iter(words)), format_func=words.__getitem__)


def part_select(names: Sequence[str]) -> int:
    """One of the parts of a sample by its place; 0 for all of it."""
    options = ["all", *names]
    return options.index(option("Part", options, PART.key, "all", width=PART_WIDTH, format_func=escape_controls))
