"""Corpus folders without a model: seeded vectors, numbered texts, and columns of every kind."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bertviz_core.corpus.folder import Corpus, open_corpus, shard_path
from bertviz_core.corpus.manifest import FORMAT_VERSION, write_manifest
from bertviz_core.corpus.results import CorpusColumn, Manifest
from bertviz_core.corpus.writing import write_table
from bertviz_core.tables.results import InputFile

ROWS, PER_SHARD, DIMENSIONS = 1_301, 600, 7
MANIFEST = Manifest(
    format_version=FORMAT_VERSION,
    code_version="0.1.0",
    model="all-MiniLM-L6-v2",
    revision="r1",
    weights_sha256="0123456789abcdef" * 4,
    pooling="mean",
    layer=6,
    prompt="",
    normalized=True,
    max_tokens=256,
    run_dtype="float32",
    vector_dtype="float16",
    dimensions=DIMENSIONS,
    inputs=(InputFile("/data/rows.parquet", 999, "sha256:1"),),
    input_column="sentence",
    text_column="text",
    columns=(CorpusColumn("kind", "kind", "text"), CorpusColumn("year", "year", "number")),
    rows=ROWS,
    rows_per_shard=PER_SHARD,
    shards=3,
    complete=True,
)


def made_columns(manifest: Manifest = MANIFEST) -> dict[str, Any]:
    """Columns of such a corpus, rows in order; "vector" is a float32 array (rows, dimensions), rounded as stored."""
    rng = np.random.default_rng(0)
    rows = range(manifest.rows)
    vectors = rng.standard_normal((manifest.rows, manifest.dimensions)).astype(manifest.vector_dtype)
    return {
        "kind": [None if row % 11 == 0 else ("a", "b", "null")[row % 3] for row in rows],
        "year": [None if row % 13 == 0 else 2000 + row % 5 for row in rows],
        "text": [f"Row {row} of the corpus." for row in rows],
        "tokens": [5 + row % 4 for row in rows],
        "truncated": [row % 17 == 0 for row in rows],
        "vector": vectors.astype(np.float32),
    }


def made_corpus(folder: Path, **changes: Any) -> Corpus:
    """Write a corpus with this manifest and some changes, as the embedding does."""
    manifest = replace(MANIFEST, **changes)
    (folder / "shards").mkdir(parents=True)
    columns = made_columns(manifest)
    vectors = columns.pop("vector").astype(manifest.vector_dtype)
    if manifest.text_column is None:
        columns.pop("text")
    types = {
        "kind": pa.string(),
        "year": pa.int64(),
        "text": pa.string(),
        "tokens": pa.int32(),
        "truncated": pa.bool_(),
    }
    for shard in range(manifest.shards):
        part = slice(shard * manifest.rows_per_shard, (shard + 1) * manifest.rows_per_shard)
        flat = pa.array(vectors[part].ravel())
        table = {name: pa.array(values[part], type=types[name]) for name, values in columns.items()}
        table["vector"] = pa.FixedSizeListArray.from_arrays(flat, manifest.dimensions)
        write_table(shard_path(folder, shard), pa.table(table))
    write_manifest(folder, manifest)
    return open_corpus(folder)
