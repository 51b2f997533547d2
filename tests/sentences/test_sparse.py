"""Vectors of sparse encoders: those of sentence-transformers, their words, and what is said of bad folders.

Covers `bertviz_core/sentences/plan.py`, `bertviz_core/sentences/encoding.py`, `bertviz_core/predictions/classes.py`.
"""

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sparse_encoder.modules import SpladePooling

from bertviz_core import open_model
from bertviz_core.cli.app import main
from bertviz_core.errors import BertvizError
from bertviz_core.sentences import encoding
from bertviz_core.sentences.similarity import narrow
from tests.helpers.multi_vector import change
from tests.helpers.tiny_heads import save_tiny_head

TEXTS = ("I love my pet python.", "the bank", "a river, my river", "river bank " * 9)


def save_sparse(
    folder: Path, family: str = "bert", strategy: Any = "max", activation: Any = "relu", **settings: Any
) -> Path:
    """Save a sparse encoder as sentence-transformers does."""
    source = save_tiny_head(family, "masked-lm", folder.with_name(f"{folder.name}-head"))
    encoder = Transformer(str(source), transformer_task="fill-mask", max_seq_length=settings.pop("length", None))
    pooling = SpladePooling(strategy, activation)
    SparseEncoder(modules=[encoder, pooling], device="cpu", **settings).save_pretrained(str(folder))
    return folder


@pytest.mark.parametrize("family", ["bert", "modernbert", "distilbert", "deberta-v2"])
def test_vectors_are_those_of_sentence_transformers(family: str, tmp_path: Path) -> None:
    for strategy, activation in product(("max", "sum"), ("relu", "log1p_relu")):
        folder = save_sparse(tmp_path / f"{strategy}-{activation}", family, strategy, activation)
        own = SparseEncoder(str(folder), device="cpu")
        expected = own.encode(list(TEXTS), convert_to_sparse_tensor=False).numpy()
        made = open_model(str(folder)).sentences(TEXTS)
        assert np.abs(made.vectors - expected).max() < 1e-5
        assert np.allclose(made.similarity, own.similarity(expected, expected).numpy(), rtol=1e-6, atol=1e-5)
        assert made.notices == (made.notices[0],)
        assert made.notices[0].startswith(
            "The checkpoint's own modules: a weight for each word of the vocabulary, the "
        )


@pytest.mark.parametrize(("measure", "own"), [("dot", "dot"), ("cosine", "cosine"), ("euclidean", "euclidean")])
def test_the_similarity_is_that_of_the_folder(measure: str, own: str, tmp_path: Path) -> None:
    folder = save_sparse(tmp_path / "model", similarity_fn_name=measure)
    library = SparseEncoder(str(folder), device="cpu")
    vectors = library.encode(list(TEXTS), convert_to_sparse_tensor=False)
    expected = library.similarity(vectors, vectors).numpy() * (-1 if measure == "euclidean" else 1)
    made = open_model(str(folder)).sentences(TEXTS)
    assert np.abs(made.similarity - expected).max() < 1e-3
    assert made.nearest("the river", k=1).data.measure == own


def test_prompt_length_and_case_are_followed(tmp_path: Path) -> None:
    prompts = {"query": "the river , ", "document": ""}
    folder = save_sparse(tmp_path / "model", length=5, prompts=prompts, default_prompt_name="query")
    expected = SparseEncoder(str(folder), device="cpu").encode(list(TEXTS), convert_to_sparse_tensor=False).numpy()
    model = open_model(str(folder))
    assert np.abs(model.sentences(TEXTS).vectors - expected).max() < 1e-5
    terms = model.predict(TEXTS[0], view="terms").data
    scattered = np.zeros(expected.shape[1], np.float32)
    scattered[terms.ids] = terms.weights
    assert np.abs(scattered - expected[0]).max() < 1e-5


@pytest.mark.parametrize("settings", list(product(("max", "sum"), ("relu", "log1p_relu"))))
def test_products_of_words_add_up_to_the_similarity(settings: tuple[str, str], tmp_path: Path) -> None:
    model = open_model(str(save_sparse(tmp_path / "model", "bert", *settings)))
    ledger = model.predict(TEXTS[0], pair=TEXTS[2], view="terms").data
    vectors = model.sentences((TEXTS[0], TEXTS[2])).vectors
    assert ledger.score == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-4)
    assert np.abs(ledger.shares - (vectors[0] * vectors[1])[ledger.ids]).max() < 1e-5
    assert ledger.shares.sum() == pytest.approx(ledger.score, abs=1e-4)


def test_the_command_names_the_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_sparse(tmp_path / "model")
    monkeypatch.setattr(sys, "argv", ["bertviz_core", "similarity", str(folder), *TEXTS[:2], "--json"])
    with pytest.raises(SystemExit):
        main()
    answer = json.loads(capsys.readouterr().out)
    vectors = open_model(str(folder)).sentences(TEXTS[:2]).vectors
    assert (answer["measure"], answer["pooling"]) == ("dot", "splade")
    assert np.abs(np.array(answer["similarity"]) - vectors @ vectors.T).max() < 1e-4


def test_older_folders_open_and_any_pooling_can_be_chosen(tmp_path: Path) -> None:
    folder = save_sparse(tmp_path / "model")
    expected = open_model(str(folder)).sentences(TEXTS).vectors
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["type"] = "sentence_transformers.sparse_encoder.models.MLMTransformer"
    modules[1]["type"] = "sentence_transformers.sparse_encoder.models.SpladePooling"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text("{}")
    older = open_model(str(folder))
    assert np.array_equal(older.sentences(TEXTS).vectors, expected)
    mean = older.sentences(TEXTS, pooling="mean")
    assert mean.vectors.shape[1] != expected.shape[1]
    assert mean.data.measure == "cosine"


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("1_SpladePooling/config.json", {"pooling_strategy": "mean"}, "the pooling_strategy 'mean', which"),
        ("1_SpladePooling/config.json", {"activation_function": ["relu"]}, "the activation_function"),
        ("config.json", {"vocab_size": 7}, "37"),
    ],
)
def test_bad_folders_are_refused_in_one_sentence(file: str, changes: Any, message: str, tmp_path: Path) -> None:
    folder = change(save_sparse(tmp_path / "model"), file, **changes)
    with pytest.raises(BertvizError, match=message) as refused:
        open_model(str(folder)).sentences(TEXTS)
    assert "\n" not in str(refused.value)


def test_what_has_no_meaning_for_weights_of_words_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_model(str(save_sparse(tmp_path / "model")))
    made = model.sentences(TEXTS)
    for asked in (made.dimensions, made.bits, lambda: model.table("word-pairs", TEXTS[0], pair=TEXTS[1])):
        with pytest.raises(BertvizError, match="sparse encoder.*choose the pooling mean"):
            asked()
    effects = model.words(TEXTS[0], pair=TEXTS[2])
    cosine = float(made.vectors[0] @ made.vectors[2] / np.prod(np.linalg.norm(made.vectors[[0, 2]], axis=1)))
    assert effects.data.clean == pytest.approx(cosine, abs=1e-5)
    words = made.vectors.shape[1]
    monkeypatch.setattr(encoding, "MOST_WEIGHTS", 2 * words + 1)
    with pytest.raises(BertvizError, match="give at most 2 sentences"):
        model.sentences((*TEXTS, "pet"))


def test_fewer_numbers_keep_every_dot_product() -> None:
    vectors = np.random.default_rng(0).standard_normal((5, 4_099)).astype(np.float32)
    assert narrow(vectors).shape == (5, 5)
    assert np.abs(narrow(vectors) @ narrow(vectors).T - vectors @ vectors.T).max() < 1e-2
    assert narrow(vectors[:, :7]).shape == (5, 7)
