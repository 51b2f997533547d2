"""Sparse encoders whose queries are read from a table of weights, against sentence-transformers.

Covers the way of queries in `bertviz_core/models/static_folder.py`, `bertviz_core/sentences/encoding.py` and
`bertviz_core/questions/predictions/masked_lm.py`.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling
from transformers import AutoTokenizer

from bertviz_core import open_model
from bertviz_core.errors import BertvizError
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.masked_lm import query_terms, shared_terms, term_weights
from bertviz_core.questions.texts.sentences import encoded_by, neighbours, own_plan
from bertviz_core.settings import Settings
from tests.helpers.tiny_heads import save_tiny_head

TEXTS = ("I love my pet python.", "the river bank, THE rivers playing", "a pet [SEP] zebra", "river bank " * 30)
QUERY = "my River river banks"
SETTINGS = Settings.from_environment(any_folder=True)


def save_free(folder: Path, family: str = "bert", weight: torch.Tensor | None = None, **settings: Any) -> SparseEncoder:
    """Save a router with a table of weights for queries and an encoder for documents."""
    source = save_tiny_head(family, "masked-lm", folder.with_name(f"{folder.name}-head"))
    tokenizer = AutoTokenizer.from_pretrained(source)
    if weight is None:
        weight = torch.rand(len(tokenizer.get_vocab()), generator=torch.Generator().manual_seed(3))
    documents = [Transformer(str(source), transformer_task="fill-mask"), SpladePooling()]
    queries = [SparseStaticEmbedding(tokenizer, weight)]
    model = SparseEncoder(modules=[Router({"query": queries, "document": documents})], device="cpu", **settings)
    model.save_pretrained(str(folder))
    return SparseEncoder(str(folder), device="cpu")


def dense(vectors: Any) -> np.ndarray:
    """Vectors of the library as an array."""
    return vectors.to_dense().numpy()


def both_ways(folder: Path) -> tuple[OpenedModel, OpenedModel]:
    """The model of documents and that of queries."""
    settings = replace(SETTINGS, models_dir=folder.parent)
    return OpenedModel(folder.name, settings), OpenedModel(f"{folder.name}+query", settings)


def vectors(opened: OpenedModel, texts: tuple[str, ...] = TEXTS) -> np.ndarray:
    """Vectors of texts by the plan of a folder."""
    return encoded_by(opened, own_plan(opened), texts).result.vectors


@pytest.mark.parametrize("family", ["bert", "distilbert", "modernbert"])
def test_each_way_is_that_of_sentence_transformers(tmp_path: Path, family: str) -> None:
    model = save_free(tmp_path / "free", family)
    opened, asking = both_ways(tmp_path / "free")
    documents, queries = dense(model.encode_document(list(TEXTS))), dense(model.encode_query(list(TEXTS)))
    assert np.abs(vectors(opened) - documents).max() < 1e-5
    assert np.array_equal(vectors(asking), queries)
    assert source_ledger(asking.source, SETTINGS).total == queries.shape[1]
    found = neighbours(opened, Options(TEXTS, values={"query_sentence": QUERY})).result
    scores = documents @ dense(model.encode_query([QUERY]))[0]
    library = open_model(str(tmp_path / "free")).sentences(TEXTS).nearest(QUERY, k=len(TEXTS)).data
    assert np.array_equal(library.score, found.score)
    assert found.measure == "dot"
    assert found.index.tolist() == np.argsort(-scores, kind="stable").tolist()
    assert np.abs(found.score - np.sort(scores)[::-1]).max() < 1e-5


def test_the_words_of_a_query_have_their_weights_and_add_up_to_the_score(tmp_path: Path) -> None:
    model = save_free(tmp_path / "free")
    opened, asking = both_ways(tmp_path / "free")
    query, documents = dense(model.encode_query([QUERY]))[0], dense(model.encode_document(list(TEXTS)))
    answer = query_terms(opened, Options(TEXTS, values={"query_sentence": QUERY}))
    best = int((documents @ query).argmax())
    weights, ledger = answer.drawn["term_weights"], answer.result
    assert weights.ids.tolist() == np.argsort(-query, kind="stable")[: len(weights.ids)].tolist()
    assert np.array_equal(weights.weights, query[weights.ids])
    assert np.count_nonzero(query) == len(weights.ids)
    assert ledger.score == pytest.approx(float(query @ documents[best]), abs=1e-5)
    assert np.abs(ledger.shares - (query * documents[best])[ledger.ids]).max() < 1e-6
    assert np.array_equal(term_weights(asking, Options((QUERY,))).result.weights, weights.weights)
    first, second = dense(model.encode_query([QUERY, TEXTS[1]]))
    assert shared_terms(asking, Options((QUERY,), TEXTS[1])).result.score == pytest.approx(
        float(first @ second), abs=1e-6
    )


def test_prompts_zero_and_negative_weights_are_followed(tmp_path: Path) -> None:
    weight = torch.linspace(-1, 1, 37).round(decimals=1)
    model = save_free(tmp_path / "free", weight=weight, prompts={"query": "the bank ", "document": "a "})
    _, asking = both_ways(tmp_path / "free")
    plan = replace(own_plan(asking), prompt="the bank ")
    expected = dense(model.encode_query(list(TEXTS)))
    assert np.array_equal(encoded_by(asking, plan, TEXTS).result.vectors, expected)


@pytest.mark.parametrize(
    ("tensors", "settings", "words"),
    [
        ({"weight": torch.ones(3, 2)}, {}, r"as a list weight, and has shape \(3, 2\)"),
        ({"other": torch.ones(3)}, {}, "and has none; save it again"),
        ({"weight": torch.ones(37)}, {"path": "idf.json"}, "and has its weights in 'idf.json'"),
    ],
)
def test_a_table_that_is_not_read_is_refused(
    tmp_path: Path, tensors: Mapping[str, torch.Tensor], settings: Mapping[str, Any], words: str
) -> None:
    save_free(tmp_path / "free")
    inside = tmp_path / "free" / "query_0_SparseStaticEmbedding"
    save_file(dict(tensors), inside / "model.safetensors")
    (inside / "config.json").write_text(json.dumps({"frozen": False, **settings}))
    with pytest.raises(BertvizError, match=words):
        _ = both_ways(tmp_path / "free")[1].source


def test_a_table_alone_opens_and_its_terms_are_drawn(tmp_path: Path) -> None:
    save_free(tmp_path / "free")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "free-head")
    alone = SparseEncoder(modules=[SparseStaticEmbedding(tokenizer, torch.rand(37))], device="cpu")
    alone.save_pretrained(str(tmp_path / "alone"))
    model = open_model(str(tmp_path / "alone"))
    assert np.array_equal(model.sentences(TEXTS).vectors, dense(alone.encode(list(TEXTS))))
    assert model.figure("terms", QUERY).to_html()
    shares = model.compute("term-score", TEXTS[1], pair=QUERY)
    assert shares.score == pytest.approx(float(np.prod(dense(alone.encode([TEXTS[1], QUERY])), axis=0).sum()), abs=1e-6)
