"""Results for a corpus folder: its description, and the progress of an embedding."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from bertviz_core.sentences.results import Pooling, SentenceDtype
from bertviz_core.tables.results import InputFile
from bertviz_core.trace.results import Noticed

VectorDtype = Literal["float16", "float32"]
"""Number formats of the vectors of a corpus."""
VECTOR_DTYPES: tuple[VectorDtype, ...] = ("float16", "float32")
RunDtype = SentenceDtype | Literal["int8"]
"""Number formats of the model's run; in int8 by OpenVINO."""
ColumnKind = Literal["text", "number", "boolean", "time", "other"]
"""Kind of a column's cells; those of the last kind are stored and exported, but not compared."""


@dataclass(frozen=True, slots=True)
class CorpusColumn:
    """A column of the input, stored in the corpus beside text and vector."""

    name: str
    """Name in the corpus."""
    input_name: str
    """Name in the input, which differs if it is reserved in the corpus."""
    kind: ColumnKind


@dataclass(frozen=True, slots=True)
class Int8Receipt:
    """How close vectors of an int8 run are to those of float32, on rows of the input."""

    rows: int
    """Number of compared rows, evenly spaced in the input."""
    mean_cosine: float
    """Mean cosine of the two vectors of a row."""
    worst_cosine: float
    neighbours: int
    """Number of nearest rows of each, among the compared ones."""
    neighbours_kept: float
    """Share of them that are the same in both, 0 to 1; 1 without another row."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of a corpus folder; equal for equal input, model and options."""

    format_version: int
    """Version of the folder's layout."""
    code_version: str
    """Version of Inside BERT that created it."""
    model: str
    revision: str
    weights_sha256: str
    """SHA-256 of its weights, 64 hexadecimal digits: of the single file, or of the concatenated digests of its
    shards."""
    pooling: Pooling
    layer: int
    """Pooled entry of hidden_states; 0 is the embedding output."""
    prompt: str
    """Prefix of every text; "" for none."""
    normalized: bool
    """Whether all vectors are normalised to unit length."""
    max_tokens: int | None
    """Maximum number of tokens per text, special ones included; None for all."""
    run_dtype: RunDtype
    """Number format of the model's run."""
    vector_dtype: VectorDtype
    """Number format of the stored vectors."""
    dimensions: int
    inputs: tuple[InputFile, ...]
    """Files of the input, in order."""
    input_column: str
    """Column of the texts in the input."""
    text_column: str | None
    """Column of the texts in the corpus, "text"; None if not stored."""
    columns: tuple[CorpusColumn, ...]
    """Other columns of the input, in order."""
    rows: int
    rows_per_shard: int
    """Maximum number of rows of a shard; shards of long texts have fewer."""
    shards: int
    complete: bool
    """Whether all shards exist; False while embedding."""
    int8: Int8Receipt | None = None
    """What an int8 run kept, measured before it; None for other runs."""


@dataclass(frozen=True, slots=True)
class InputRange:
    """Consecutive rows of one input file."""

    file: int
    """Index of the file in the input."""
    start: int
    """Start: a row of a Parquet file, a byte of any other."""
    stop: int
    """End, exclusive."""


@dataclass(frozen=True, slots=True)
class ShardRows:
    """Input rows of one shard."""

    index: int
    ranges: tuple[InputRange, ...]
    """Ranges of its rows, in order."""
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class InputSurvey:
    """Contents of an input, found by reading it once."""

    files: tuple[InputFile, ...]
    """Files in order."""
    schema: pa.Schema
    """Names and types of all columns, the texts included; common to all files."""
    stored_schema: pa.Schema
    """The same columns with the types that the files have."""
    text_column: str
    columns: tuple[CorpusColumn, ...]
    """The other columns, in order."""
    shards: tuple[ShardRows, ...]
    """Rows of each shard."""
    rows: int
    notices: tuple[str, ...]
    """Notices about the reading of the input, one sentence each."""


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """The outcome of one shard."""

    index: int
    rows: int
    """Number of embedded rows; 0 after a failure."""
    notices: tuple[str, ...]
    """Notices about its vectors, one sentence each."""
    failure: str = ""
    """Reason of the failure, one sentence; "" for success."""


SearchMethod = Literal["exact", "index"]
"""Exact comparison with every row, or an approximate search by an index."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """Rows nearest to a query in descending order, ties by row."""

    rows: Int[np.ndarray, " hits"]
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
    dimensions: int
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
class CorpusHits(Noticed):
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
