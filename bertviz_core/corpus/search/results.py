"""Results of a search in a corpus: nearest rows, their columns, the recall of an index."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

SearchMethod = Literal["exact", "index"]
"""Exact comparison with every row, or an approximate search by an index."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """Rows nearest to a query in descending order, ties by row."""

    rows: Int[np.ndarray, " hits"]
    """The rows."""
    scores: Float[np.ndarray, " hits"]
    """Cosine with the query, -1 to 1."""


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """A search index of a corpus, and its measured recall."""

    format_version: int
    """Version of the two files."""
    fingerprint: str
    """Fingerprint of the indexed corpus."""
    sha256: str
    """SHA-256 of the index file."""
    rows: int
    """Number of rows."""
    dimensions: int
    """Length of a vector."""
    connectivity: int
    """Neighbours per row in the graph."""
    expansion_add: int
    """Rows compared to find the neighbours of a row."""
    expansion_search: int
    """Rows compared per query."""
    seed: int
    """Seed of the sample of queries."""
    queries: int
    """Number of queries: rows of the corpus, searched without themselves."""
    count: int
    """Number of nearest rows per query."""
    recall: float
    """Share of the true nearest rows that were found, 0 to 1."""
    seconds_to_make: float
    """Duration of the build in seconds."""
    seconds_per_query: float
    """Median duration of a query in seconds, the exact cosines included."""


@dataclass(frozen=True, slots=True, eq=False)
class CorpusHit:
    """A row of a corpus found by a search."""

    row: int
    """Row number, from 0."""
    score: float
    """Cosine with the query, -1 to 1."""
    text: str | None
    """Text; None if the corpus stores none."""
    columns: Mapping[str, Any]
    """The user's columns: name -> value."""


@dataclass(frozen=True, slots=True, eq=False)
class CorpusHits:
    """Results of a search in a corpus, nearest first."""

    query: str
    """The query."""
    corpus: str
    """Name of the corpus' folder."""
    model: str
    """Name of the model of the vectors."""
    hits: tuple[CorpusHit, ...]
    """The rows."""
    method: SearchMethod
    """Search method."""
    where: str
    """The filter, as column=value; "" for none."""
    searched: int
    """Number of rows that pass the filter."""
    rows: int
    """Number of rows of the corpus."""
    recall: float | None
    """Measured recall of the index, 0 to 1; None for an exact search, which has recall 1."""
    seconds: float
    """Duration of the search in seconds, without the model's run."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""
