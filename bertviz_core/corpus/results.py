"""Results for a corpus folder: its description, and the progress of an embedding."""

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from bertviz_core.sentences.results import Pooling, SentenceDtype
from bertviz_core.tables.results import InputFile

VectorDtype = Literal["float16", "float32"]
"""Number formats in which a corpus keeps its vectors."""
VECTOR_DTYPES: tuple[VectorDtype, ...] = ("float16", "float32")
ColumnKind = Literal["text", "number", "boolean", "time", "other"]
"""What the cells of a column are; those of the last kind are kept and can be exported, but not compared."""


@dataclass(frozen=True, slots=True)
class CorpusColumn:
    """A column of the input that the corpus keeps beside text and vector."""

    name: str
    """Name in the corpus."""
    input_name: str
    """Name in the input; another where the corpus has a column of that name itself."""
    kind: ColumnKind
    """What its cells are."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a corpus folder holds and how it was made; the same for the same input, model and options."""

    format_version: int
    """Version of the folder's layout."""
    code_version: str
    """Version of Inside BERT that made it."""
    model: str
    """Name of the model."""
    revision: str
    """Revision of its files."""
    weights_sha256: str
    """SHA-256 of its weights, 64 hexadecimal digits: of the one file, or of the shards' digests in their order."""
    pooling: Pooling
    """How the tokens' vectors became one."""
    layer: int
    """Entry of hidden_states that was pooled, 0 for the embedding output."""
    prompt: str
    """Text put in front of every text; "" for none."""
    normalized: bool
    """Whether every vector was normalised to unit length."""
    max_tokens: int | None
    """Most tokens that were read of a text, special ones included; None for all."""
    run_dtype: SentenceDtype
    """Number format of the model's run."""
    vector_dtype: VectorDtype
    """Number format in which the vectors are kept."""
    dimensions: int
    """Length of a vector."""
    inputs: tuple[InputFile, ...]
    """The files that the rows came from, in their order."""
    input_column: str
    """Column of the input that holds the texts."""
    text_column: str | None
    """Column of the corpus that holds the texts, "text"; None where they were not kept."""
    columns: tuple[CorpusColumn, ...]
    """The input's other columns, in their order."""
    rows: int
    """Rows of all shards together."""
    rows_per_shard: int
    """Most rows of a shard; one of long texts has fewer."""
    shards: int
    """Count of shards."""
    complete: bool
    """Whether every shard is there; a folder of which this is not said is still being made."""


@dataclass(frozen=True, slots=True)
class InputRange:
    """Consecutive rows of one input file."""

    file: int
    """Number of the file among the input's."""
    start: int
    """Where they begin: a row of a Parquet file, a byte of any other."""
    stop: int
    """Where they end."""


@dataclass(frozen=True, slots=True)
class ShardRows:
    """Input rows of one shard."""

    index: int
    """Number of the shard."""
    ranges: tuple[InputRange, ...]
    """Its rows, in their order."""
    rows: int
    """Their count."""


@dataclass(frozen=True, slots=True, eq=False)
class InputSurvey:
    """Contents of an input, learned by reading it once."""

    files: tuple[InputFile, ...]
    """Its files in their order."""
    schema: pa.Schema
    """Every column and its type, that of the texts among them; one for all files."""
    text_column: str
    """The column with the texts."""
    columns: tuple[CorpusColumn, ...]
    """The other columns, in their order."""
    shards: tuple[ShardRows, ...]
    """How its rows are shared out."""
    rows: int
    """Count of rows."""
    notices: tuple[str, ...]
    """What a reader must know about how it was read, one sentence each."""


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """The outcome of one shard."""

    index: int
    """Number of the shard."""
    rows: int
    """Rows that were embedded; 0 where it failed."""
    notices: tuple[str, ...]
    """What a reader must know about its vectors, one sentence each."""
    failure: str = ""
    """Why it was not made, one sentence; "" where it was."""
