"""Export the attention of all heads with its metadata: as npz, or as Parquet with a row per weight."""

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bertviz_core.attention.results import AttentionMap, Axis
from bertviz_core.trace.results import Trace

MOST_CELLS = 20_000_000
"""Maximum weights of a file: all heads of BERT-base for 372 tokens, 80 MB."""
Maps = Sequence[Sequence[AttentionMap]]
"""Maps by layer and head, with the same axes and options; rollout and value zeroing have one per layer."""


def about(maps: Maps, trace: Trace) -> dict[str, Any]:
    """The metadata of the maps as plain values."""
    first, tokens = maps[0][0], trace.tokens
    return {
        "model": trace.model,
        "revision": trace.revision,
        "text": tokens.text,
        "pair": tokens.pair,
        "layers": len(maps),
        "heads": len(maps[0]),
        "weights": first.options.weights,
        "words_merged": first.options.words,
        "special_tokens_hidden": first.options.hide_special,
        "punctuation_hidden": first.options.hide_punctuation,
        "part": first.options.block,
    }


def npz_bytes(maps: Maps, trace: Trace) -> bytes:
    """A NumPy archive, which `numpy.load` opens without pickle.

    attention (layers, heads, queries, keys) float32; hidden_share (layers, heads, queries), the share of each row
    on keys that are not shown; query_tokens and key_tokens; query_positions and key_positions, of the first token of
    each entry, -1 for the attention sink; about, the metadata as JSON.
    """
    first, target = maps[0][0], io.BytesIO()
    np.savez_compressed(
        target,
        attention=np.array([[each.weights for each in row] for row in maps], dtype=np.float32),
        hidden_share=np.array([[each.hidden_share for each in row] for row in maps], dtype=np.float32),
        query_tokens=np.array(first.queries.labels),
        query_positions=_positions(first.queries),
        key_tokens=np.array(first.keys.labels),
        key_positions=_positions(first.keys),
        about=np.array(json.dumps(about(maps, trace), ensure_ascii=False)),
    )
    return target.getvalue()


def parquet_bytes(maps: Maps, trace: Trace) -> bytes:
    """A Parquet file with a row for each weight: layer, head, query, key, query_token, key_token, weight.

    Query and key are positions in the input, those of the first token if words are merged; -1 is the attention sink.
    The head is null for rollout and value zeroing. The metadata is stored as JSON in the schema, under "inside_bert".
    Each layer is a row group, so that only one is in memory.
    """
    first = maps[0][0]
    queries, keys = len(first.queries), len(first.keys)
    word, text = pa.dictionary(pa.int32(), pa.string()), pa.string()
    schema = pa.schema(
        [
            ("layer", pa.int16()),
            ("head", pa.int16()),
            ("query", pa.int32()),
            ("key", pa.int32()),
            ("query_token", word),
            ("key_token", word),
            ("weight", pa.float32()),
        ],
        metadata={"inside_bert": json.dumps(about(maps, trace), ensure_ascii=False)},
    )
    names = [pa.array(axis.labels, type=text) for axis in (first.queries, first.keys)]
    row, column = (np.arange(count, dtype=np.int32) for count in (queries, keys))
    target = io.BytesIO()
    with parquet.ParquetWriter(target, schema) as writer:
        for layer, heads in enumerate(maps):
            cells = queries * keys
            rows = np.tile(np.repeat(row, keys), len(heads))
            columns = np.tile(column, queries * len(heads))
            places = np.repeat(np.arange(len(heads), dtype=np.int16), cells)
            arrays = [
                pa.array(np.full(len(rows), layer, dtype=np.int16)),
                pa.array(places) if first.head is not None else pa.nulls(len(rows), pa.int16()),
                pa.array(_positions(first.queries)[rows]),
                pa.array(_positions(first.keys)[columns]),
                pa.DictionaryArray.from_arrays(rows, names[0]),
                pa.DictionaryArray.from_arrays(columns, names[1]),
                pa.array(np.concatenate([each.weights.ravel() for each in heads])),
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return target.getvalue()


def _positions(axis: Axis) -> np.ndarray:
    return np.array([positions[0] if positions else -1 for positions in axis.positions], dtype=np.int32)
