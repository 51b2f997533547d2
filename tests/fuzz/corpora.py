"""Fuzzed corpora: the manifest, the shards, the file of vectors, an index."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bertviz_core.corpus.analysis.duplicates import column_values
from bertviz_core.corpus.analysis.row_samples import texts_of
from bertviz_core.corpus.corpora_folder import corpus_folder, corpus_names, stamp
from bertviz_core.corpus.folder import VECTORS_FILE, Corpus, open_corpus, shard_path
from bertviz_core.corpus.search import FACTS_FILE, INDEX_FILE, index_folder, make_index, open_index, search
from bertviz_core.errors import BertvizError
from bertviz_core.settings import Settings
from tests.fuzz.cases import Brought, Case
from tests.fuzz.mutations import changed_bytes, changed_json, repeated
from tests.helpers.made_corpora import MANIFEST, made_corpus

NAME, FILTERS = "mine", ("year=2003", "kind=a", "text=null", "truncated=true", 'kind="null"')
SMALL = {"rows": 41, "rows_per_shard": 20, "shards": 3}
FOOTER_NBYTES = 1_500
"""Approximate number of bytes at the end of a shard that describe its content."""
SUFFIX = 8
"""The last of them, with the footer's position and the magic number."""
MOST_REPEATS = 1_000
MOST_TABLE_NBYTES = 256 * 1024**2
"""Most bytes of a table with repeated rows: far above the limits of a corpus, and quick to write."""


def manifests(folder: Path) -> Case:
    """Manifests of a corpus folder, and filters of its rows."""
    place = made_corpus(folder / NAME).path
    right = msgspec.to_builtins(MANIFEST)

    def case(rng: Random) -> Brought:
        raw = json.dumps(changed_json(rng, right) if rng.random() < 0.7 else right).encode()
        raw = changed_bytes(rng, raw) if rng.random() < 0.3 else raw
        (place / "manifest.json").write_bytes(raw)
        where = changed_bytes(rng, rng.choice(FILTERS).encode()).decode("utf-8", "replace")
        return Brought(len(raw) + len(where) + nbytes_of(place), lambda: open_corpus(place).mask(where))

    return case


def shards(folder: Path) -> Case:
    """Parquet files that are damaged, have other columns, or expand."""
    place = made_corpus(folder / NAME, **SMALL).path
    right = [shard_path(place, index).read_bytes() for index in range(SMALL["shards"])]
    settings = replace(Settings.from_environment(), corpora_dir=folder)

    def case(rng: Random) -> Brought:
        for index, raw in enumerate(right):
            shard_path(place, index).write_bytes(_shard(rng, raw) if rng.random() < 0.5 else raw)
        (place / VECTORS_FILE).unlink(missing_ok=True)
        where = rng.choice(FILTERS)

        def read() -> None:
            assert corpus_names(settings) == (NAME,)
            assert stamp(corpus_folder(NAME, settings))
            _look_at_all(open_corpus(place), where)

        return Brought(nbytes_of(place), read)

    return case


def vectors(folder: Path) -> Case:
    """Files of all vectors: false headers, invalid numbers, and truncated files."""
    corpus = made_corpus(folder / NAME, **SMALL)
    corpus.vectors()
    path = corpus.path / VECTORS_FILE
    right = path.read_bytes()
    head = len(right) - corpus.rows * corpus.dimensions * 2

    def case(rng: Random) -> Brought:
        begun, ended = right[:head], right[head:]
        raw = changed_bytes(rng, begun) + ended if rng.random() < 0.5 else begun + changed_bytes(rng, ended)
        path.write_bytes(raw)
        return Brought(nbytes_of(corpus.path), lambda: _look_at_all(open_corpus(corpus.path), ""))

    return case


def indexes(folder: Path) -> Case:
    """Damaged indexes of this installation, and forged ones inside a corpus."""
    corpus = made_corpus(folder / NAME, **SMALL)
    settings = replace(Settings.from_environment(), vector_store_dir=folder / "store")
    make_index(corpus, settings)
    kept = index_folder(corpus, settings)
    right = {name: (kept / name).read_bytes() for name in (INDEX_FILE, FACTS_FILE)}
    query = np.ones(corpus.dimensions, dtype=np.float32)

    def read() -> None:
        index = open_index(corpus, settings)
        assert index is not None
        found = search(corpus, "a text", query, 5, index=index)
        assert all(0 <= hit.row < corpus.rows for hit in found.hits)

    def case(rng: Random) -> Brought:
        facts = json.dumps(changed_json(rng, json.loads(right[FACTS_FILE]))).encode()
        graph = changed_bytes(rng, right[INDEX_FILE])
        (kept / FACTS_FILE).write_bytes(facts if rng.random() < 0.5 else changed_bytes(rng, right[FACTS_FILE]))
        (kept / INDEX_FILE).write_bytes(graph if rng.random() < 0.3 else right[INDEX_FILE])
        for name, raw in ((INDEX_FILE, graph), (FACTS_FILE, facts)):
            (corpus.path / name).write_bytes(raw)
        return Brought(nbytes_of(kept) + nbytes_of(corpus.path), read)

    return case


def nbytes_of(folder: Path) -> int:
    """Bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _look_at_all(corpus: Corpus, where: str) -> None:
    """Read what the views of a corpus read: vectors, columns, rows; each refusal ends only its own part."""
    asks: Sequence[Any] = (
        lambda: [block.sum() for _, block in corpus.blocks(16)],
        lambda: search(corpus, "a text", np.ones(corpus.dimensions, dtype=np.float32), 5, where),
        lambda: texts_of(corpus, np.arange(corpus.rows)),
        lambda: corpus.read(range(min(9, corpus.rows)), list(corpus.columns)).to_pylist(),
        *(lambda name=name: column_values(corpus.column(name)) for name in corpus.columns),
    )
    for ask in asks:
        with suppress(BertvizError):
            ask()


def _shard(rng: Random, raw: bytes) -> bytes:
    """Damage a shard: its bytes, its footer, or its cells."""
    kind = rng.random()
    if kind < 0.25:
        return changed_bytes(rng, raw)
    if kind < 0.6:
        return raw[:-FOOTER_NBYTES] + changed_bytes(rng, raw[-FOOTER_NBYTES:-SUFFIX]) + raw[-SUFFIX:]
    table = pq.read_table(pa.BufferReader(raw))
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(table.num_columns)
        table = table.set_column(place, table.schema.names[place], _cells(rng, table.column(place)))
    if rng.random() < 0.2:
        repeats = min(rng.choice((0, 2, MOST_REPEATS)), max(2, MOST_TABLE_NBYTES // table.nbytes))
        table = table.take(pa.array(np.arange(table.num_rows).repeat(repeats)))
    data = pa.BufferOutputStream()
    size = rng.choice((1, 7, 1_000_000))
    pq.write_table(table, data, row_group_size=size, use_dictionary=rng.random() < 0.5, compression="zstd")
    return data.getvalue().to_pybytes()


def _cells(rng: Random, column: pa.ChunkedArray) -> pa.Array:
    """Other cells for a column: of another kind, missing, not numeric, long, or of another type."""
    rows = len(column)
    long = repeated(rng, rng.choice((b"a", "é".encode(), b"http://", b"9"))).decode()
    made: tuple[Any, ...] = (
        lambda: pa.nulls(rows, column.type),
        lambda: pa.nulls(rows),
        lambda: pa.array([long] * rows),
        lambda: pa.array([f"{row}{long}" for row in range(min(rows, 3))] * rows)[:rows],
        lambda: pa.array([b"\xff\xfe"] * rows),
        lambda: pa.array([[row] * 3 for row in range(rows)]),
        lambda: pa.array([{"a": {"b": row}} for row in range(rows)]),
        lambda: pa.array([2**63] * rows, pa.uint64()),
        lambda: pa.array([float("nan"), float("inf"), -0.0, 1e308] * rows)[:rows],
        lambda: pa.array([10**6, -(2**31)] * rows, pa.date32())[:rows],
        lambda: pa.array([2**62] * rows, pa.timestamp("ns")),
        lambda: pa.array([2**62] * rows, pa.timestamp("us", "Europe/Berlin")),
        lambda: pa.array([True, None] * rows)[:rows],
        lambda: pa.FixedSizeListArray.from_arrays(
            pa.array(np.full(rows * MANIFEST.dimensions, rng.choice((np.nan, np.inf, 0)), np.float16)),
            MANIFEST.dimensions,
        ),
        lambda: pa.FixedSizeListArray.from_arrays(
            pa.array([None] * rows * MANIFEST.dimensions, pa.float16()), MANIFEST.dimensions
        ),
        lambda: (
            column.combine_chunks().cast(pa.dictionary(pa.int32(), pa.string()))
            if pa.types.is_string(column.type)
            else column.combine_chunks()
        ),
    )
    return rng.choice(made)()
