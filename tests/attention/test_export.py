"""A file of all heads contains the heads' maps at the positions that it names."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from bertviz_core.attention.export import npz_bytes, parquet_bytes
from bertviz_core.attention.maps import attention_map, attention_probs
from bertviz_core.attention.results import AttentionMap, MapOptions
from bertviz_core.trace.results import Trace
from tests.helpers.families_table import family_run
from tests.helpers.tiny_models import HEADS, LAYERS


def maps_of(trace: Trace, options: MapOptions) -> list[list[AttentionMap]]:
    """Maps of all heads; of a rollout, maps of all layers."""
    heads = [None] if options.weights == "rollout" else range(HEADS)
    return [[attention_map(trace, layer, head, options) for head in heads] for layer in range(LAYERS)]


@pytest.fixture
def pair() -> Trace:
    """A run over two texts."""
    traces = family_run("bert").traces
    assert traces is not None
    return traces[1]


def test_an_npz_holds_every_weight_and_the_tokens(pair: Trace) -> None:
    found = np.load(io.BytesIO(npz_bytes(maps_of(pair, MapOptions()), pair)), allow_pickle=False)
    expected = np.array([attention_probs(pair, layer) for layer in range(LAYERS)])
    np.testing.assert_allclose(found["attention"], expected, atol=1e-7)
    assert found["query_tokens"].tolist() == list(pair.tokens.tokens)
    assert json.loads(str(found["about"]))["text"] == pair.tokens.text


def test_what_is_hidden_and_shown_add_up_in_an_npz(pair: Trace) -> None:
    hidden = MapOptions(hide_special=True, block="A to B")
    found = np.load(io.BytesIO(npz_bytes(maps_of(pair, hidden), pair)), allow_pickle=False)
    np.testing.assert_allclose(found["attention"].sum(-1) + found["hidden_share"], 1, atol=1e-5)
    sides = np.array(pair.tokens.sequence)
    assert found["query_positions"].tolist() == np.flatnonzero(sides == 0).tolist()
    assert found["key_positions"].tolist() == np.flatnonzero(sides == 1).tolist()


@pytest.mark.parametrize("words", [False, True])
def test_a_row_of_a_parquet_file_is_a_cell_of_a_map(pair: Trace, words: bool) -> None:
    maps = maps_of(pair, MapOptions(words=words))
    data = parquet_bytes(maps, pair)
    table = pd.read_parquet(io.BytesIO(data))
    first = maps[0][0]
    assert len(table) == LAYERS * HEADS * len(first.queries) * len(first.keys)
    query, key = 3, 1
    chosen = table[(table["layer"] == 1) & (table["head"] == HEADS - 1)]
    cell = chosen[
        (chosen["query"] == first.queries.positions[query][0]) & (chosen["key"] == first.keys.positions[key][0])
    ]
    assert cell["weight"].tolist() == [maps[1][HEADS - 1].weights[query, key]]
    assert cell["query_token"].tolist() == [first.queries.labels[query]]
    assert cell["key_token"].tolist() == [first.keys.labels[key]]
    schema = pyarrow.parquet.read_schema(io.BytesIO(data))
    assert json.loads(schema.metadata[b"inside_bert"])["words_merged"] is words


def test_a_rollout_has_no_heads(pair: Trace) -> None:
    table = pd.read_parquet(io.BytesIO(parquet_bytes(maps_of(pair, MapOptions("rollout")), pair)))
    assert table["head"].isna().all()
    assert len(table) == LAYERS * len(pair.tokens) ** 2
