"""All heads' attention as one file, with what made it inside: NumPy's npz, or Parquet with a row for each weight."""

import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bertviz_core.attention.results import AttentionMap, Axis
from bertviz_core.trace.results import Trace

MOST_CELLS = 20_000_000
"""Most weights in a file: all heads of BERT-base over 372 tokens, 80 MB as numbers."""
Maps = Sequence[Sequence[AttentionMap]]
"""Maps of all heads by layer and head, of the same axes and options; rollout and value zeroing have one a layer."""


def about(maps: Maps, trace: Trace) -> dict[str, Any]:
    """What made the maps, as plain values."""
    first, read = maps[0][0], trace.tokens
    return {
        "model": trace.model,
        "revision": trace.revision,
        "text": read.text,
        "pair": read.pair,
        "layers": len(maps),
        "heads": len(maps[0]),
        "weights": first.options.weights,
        "words_merged": first.options.words,
        "special_tokens_hidden": first.options.hide_special,
        "punctuation_hidden": first.options.hide_punctuation,
        "part": first.options.block,
    }


def npz_bytes(maps: Maps, trace: Trace) -> bytes:
    """NumPy's file of named arrays, which `numpy.load` opens without pickle.

    attention (layers, heads, queries, keys) float32; hidden_share (layers, heads, queries), the rest of each row that
    lies on keys which are not shown; query_tokens and key_tokens; query_positions and key_positions, of the first token
    of each entry; about, a JSON text that says what made them.
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

    Query and key are positions in the input, of the first token where words are merged. Rollout and value
    zeroing have no heads, so their head is null. What made the file stands as JSON in the metadata of its schema, under
    "inside_bert". A layer is a row group, so that no more than one is in memory.
    """
    import pyarrow
    import pyarrow.parquet

    first = maps[0][0]
    queries, keys = len(first.queries), len(first.keys)
    word, text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), pyarrow.string()
    schema = pyarrow.schema(
        [
            ("layer", pyarrow.int16()),
            ("head", pyarrow.int16()),
            ("query", pyarrow.int32()),
            ("key", pyarrow.int32()),
            ("query_token", word),
            ("key_token", word),
            ("weight", pyarrow.float32()),
        ],
        metadata={"inside_bert": json.dumps(about(maps, trace), ensure_ascii=False)},
    )
    names = [pyarrow.array(axis.labels, type=text) for axis in (first.queries, first.keys)]
    row, column = (np.arange(count, dtype=np.int32) for count in (queries, keys))
    target = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(target, schema) as writer:
        for layer, heads in enumerate(maps):
            cells = queries * keys
            rows = np.tile(np.repeat(row, keys), len(heads))
            columns = np.tile(column, queries * len(heads))
            places = np.repeat(np.arange(len(heads), dtype=np.int16), cells)
            arrays = [
                pyarrow.array(np.full(len(rows), layer, dtype=np.int16)),
                pyarrow.array(places) if first.head is not None else pyarrow.nulls(len(rows), pyarrow.int16()),
                pyarrow.array(_positions(first.queries)[rows]),
                pyarrow.array(_positions(first.keys)[columns]),
                pyarrow.DictionaryArray.from_arrays(rows, names[0]),
                pyarrow.DictionaryArray.from_arrays(columns, names[1]),
                pyarrow.array(np.concatenate([each.weights.ravel() for each in heads])),
            ]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
    return target.getvalue()


def _positions(axis: Axis) -> np.ndarray:
    return np.array([positions[0] for positions in axis.positions], dtype=np.int32)
