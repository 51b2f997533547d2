"""Results of a search in a corpus: nearest rows, their columns, the recall of an index."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

SearchMethod = Literal["exact", "index"]
"""Every row compared with the query, or those that a graph of neighbours leads to."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """Rows nearest to a query in descending order, ties by row."""

    rows: Int[np.ndarray, " hits"]
    """Row of each."""
    scores: Float[np.ndarray, " hits"]
    """Cosine with the query, -1 to 1."""


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """A search index of a corpus, and its measured recall."""

    format_version: int
    """Version of the two files."""
    fingerprint: str
    """That of the corpus that the index was made of."""
    sha256: str
    """Digest of the index's file."""
    rows: int
    """Rows in it."""
    dimensions: int
    """Length of a vector."""
    connectivity: int
    """Neighbours that each row keeps in the graph."""
    expansion_add: int
    """Rows that were looked at to find the neighbours of one."""
    expansion_search: int
    """Rows that are looked at to answer a query."""
    seed: int
    """Seed of the queries that it was tried with."""
    queries: int
    """How many there were: rows of the corpus, each looked for without itself."""
    count: int
    """Nearest rows wanted of each."""
    recall: float
    """Share of the truly nearest rows that were among those it gave, 0 to 1."""
    seconds_to_make: float
    """Duration of making it."""
    seconds_per_query: float
    """Median duration of a query, its scores computed anew among them."""


@dataclass(frozen=True, slots=True, eq=False)
class CorpusHit:
    """A row of a corpus found by a search."""

    row: int
    """Its number, from 0."""
    score: float
    """Cosine with the query, -1 to 1."""
    text: str | None
    """Its text; None where the corpus keeps none."""
    columns: Mapping[str, Any]
    """The user's columns of the row: name -> value."""


@dataclass(frozen=True, slots=True, eq=False)
class CorpusHits:
    """Results of a search in a corpus, the nearest first."""

    query: str
    """The text that was looked for."""
    corpus: str
    """Name of the corpus' folder."""
    model: str
    """Name of the model that made the vectors."""
    hits: tuple[CorpusHit, ...]
    """The rows."""
    method: SearchMethod
    """How they were looked for."""
    where: str
    """The filter, as column=value; "" for none."""
    searched: int
    """Rows that the filter left."""
    rows: int
    """Rows of the corpus."""
    recall: float | None
    """Of an index the recall that was measured, 0 to 1; None for an exact search, whose recall is 1."""
    seconds: float
    """Duration of the search, without the model's run."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""
