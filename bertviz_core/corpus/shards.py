"""Read, embed and write one shard; called by every runner."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from bertviz_core.corpus.folder import TEXT_COLUMN, TOKENS_COLUMN, TRUNCATED_COLUMN, VECTOR_COLUMN, shard_path
from bertviz_core.corpus.int8 import Int8Model, int8_model
from bertviz_core.corpus.manifest import sentence_plan
from bertviz_core.corpus.reading import shard_table
from bertviz_core.corpus.results import InputSurvey, Manifest, ShardOutcome, ShardRows
from bertviz_core.corpus.writing import write_table
from bertviz_core.errors import BertvizError, CorpusError, OutOfMemoryError, is_out_of_memory
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.models.sources import resolve
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.results import SentencePlan, SentenceVectors
from bertviz_core.settings import Settings
from bertviz_core.text import quoted
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class ShardWork:
    """All data for embedding a shard in any process."""

    folder: Path
    """The corpus folder, shared by all workers."""
    model: str
    """Name or absolute path of the model."""
    manifest: Manifest
    """Manifest of the corpus."""
    survey: InputSurvey
    """Survey of the input; its shards are passed one by one."""
    settings: Settings
    """Settings with the limits for a model."""
    batch_tokens: int | None
    """Maximum number of tokens per batch; None for the default of the device."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """A model prepared for a corpus."""

    loaded: LoadedModel
    tokenizer: TextTokenizer
    plan: SentencePlan
    int8: Int8Model | None = None
    """The model that runs instead, in int8."""


def embed_shard(work: ShardWork, shard: ShardRows) -> ShardOutcome:
    """Embed one shard; a BertvizError becomes part of the outcome, so that it passes between processes.

    The model is loaded once per process. Texts of similar length run together; the rows are written in the order of the
    input.
    """
    try:
        encoder = _encoder(work.model, work.manifest, work.settings)
        return _embedded(work, shard, encoder)
    except BertvizError as error:
        return ShardOutcome(shard.index, 0, (), str(error))


def embed_shards(work: ShardWork, shards: Sequence[ShardRows]) -> Iterator[ShardOutcome]:
    """Embed shards one after another in this process: the runner "local"."""
    for shard in shards:
        yield embed_shard(work, shard)


def vectors_of(encoder: Encoder, texts: list[str], manifest: Manifest, batch_tokens: int | None) -> SentenceVectors:
    """Compute the vectors of some texts before rounding."""
    dtype = "float32" if manifest.run_dtype == "int8" else manifest.run_dtype
    with _memory_errors_explained(encoder.loaded.device):
        return sentence_vectors(
            encoder.loaded, encoder.tokenizer, texts, encoder.plan, dtype, batch_tokens=batch_tokens, model=encoder.int8
        )


@lru_cache(maxsize=1)
def _encoder(model: str, manifest: Manifest, settings: Settings) -> Encoder:
    """Load the model of a corpus."""
    source = resolve(model, settings)
    if weights_sha256(weights_folder(source, settings)) != manifest.weights_sha256:
        raise CorpusError(
            f"The weights of {quoted(manifest.model)} are others here than those that the corpus was begun with; put "
            "the same files on every machine."
        )
    loaded = load_model(source, settings)
    plan = sentence_plan(manifest, source, settings, loaded.num_hidden_layers)
    tokenizer = load_tokenizer(source, settings)
    int8 = int8_model(loaded, tokenizer, plan) if manifest.run_dtype == "int8" else None
    return Encoder(loaded, tokenizer, plan, int8)


def write_shard(
    work: ShardWork,
    shard: ShardRows,
    rows: pa.Table,
    vectors: Float[np.ndarray, "rows dimensions"],
    token_counts: Int[np.ndarray, " rows"],
    truncated: Bool[np.ndarray, " rows"],
) -> None:
    """Write the rows of a shard with their vectors, in the number format of the corpus.

    Args:
        rows: its rows of the input, see shard_table.
        vectors: a vector for each row, before rounding.
        token_counts: number of tokens of each row.
        truncated: whether tokens of a row were cut off.
    """
    manifest = work.manifest
    columns = {column.name: rows.column(column.input_name) for column in manifest.columns}
    if manifest.text_column is not None:
        columns[TEXT_COLUMN] = rows.column(work.survey.text_column).cast(pa.string())
    columns[TOKENS_COLUMN] = pa.array(token_counts.astype(np.int32))
    columns[TRUNCATED_COLUMN] = pa.array(truncated)
    flat = pa.array(_rounded(vectors, manifest).ravel())
    columns[VECTOR_COLUMN] = pa.FixedSizeListArray.from_arrays(flat, manifest.dimensions)
    write_table(shard_path(work.folder, shard.index), pa.table(columns))


def _embedded(work: ShardWork, shard: ShardRows, encoder: Encoder) -> ShardOutcome:
    rows = shard_table(work.survey, shard)
    texts = rows.column(work.survey.text_column).to_pylist()
    found = vectors_of(encoder, texts, work.manifest, work.batch_tokens)
    write_shard(work, shard, rows, found.vectors, found.token_counts, found.truncated)
    return ShardOutcome(shard.index, shard.rows, found.notices)


def _rounded(vectors: np.ndarray, manifest: Manifest) -> np.ndarray:
    """Return the vectors in the number format of the corpus."""
    if vectors.shape[1] != manifest.dimensions:
        raise CorpusError(
            f"The model gives vectors of {vectors.shape[1]:,} numbers, and the corpus was begun with "
            f"{manifest.dimensions:,}; embed it again in another folder."
        )
    with np.errstate(over="ignore"):
        rounded = vectors.astype(manifest.vector_dtype)
    if not np.array_equal(np.isfinite(rounded), np.isfinite(vectors)):
        raise CorpusError(
            f"A vector has a number of {np.nanmax(np.abs(vectors)):,.0f}, too large for {manifest.vector_dtype}; "
            "give --dtype float32."
        )
    return rounded


@contextmanager
def _memory_errors_explained(device: str) -> Iterator[None]:
    """Raise an error with advice if the memory does not suffice for one text."""
    try:
        yield
    except (MemoryError, RuntimeError, OutOfMemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise CorpusError(
            f"There is not enough memory ({device}) even for one text at a time; use a machine with more, fewer "
            "processes, or a smaller model."
        ) from error
