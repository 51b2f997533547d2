"""GTE and JinaBERT, as their authors write them, have the numbers of plain NumPy; no code of theirs is run.

Covers `bertviz_core/models/authors_code.py`, `bertviz_core/models/own/jina_bert.py`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from bertviz_core.attention.maps import attention_probs
from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.models.authors_code import translated
from bertviz_core.models.loading import load_model
from bertviz_core.models.own.jina_bert import slopes
from bertviz_core.models.sources import folder_source
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.predictions.run import load_head
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.texts.sentences import encoded_by, own_plan
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.authors_models import (
    GTE,
    HIDDEN,
    JINA,
    JINA_CODE,
    LAYERS,
    NEOBERT,
    WORDS,
    Plain,
    dense,
    gelu,
    gte_outputs,
    gte_tensors,
    jina_outputs,
    jina_tensors,
    neobert_outputs,
    neobert_tensors,
    norm,
    random_tensors,
    save,
)
from tests.helpers.tiny_heads import opened_head, own_outputs
from tests.helpers.tiny_models import PAIR, TEXT

SETTINGS = Settings.from_environment(any_folder=True)
TOLERANCE = 1e-5
GTES: Mapping[str, Mapping[str, Any]] = {
    "ntk": GTE,
    "unscaled": {**GTE, "rope_scaling": None},
    "a factor of 1": {**GTE, "rope_scaling": {"type": "ntk", "factor": 1.0}},
    "as transformers 5 writes it": {
        **{key: value for key, value in GTE.items() if key not in ("rope_scaling", "rope_theta")},
        "rope_parameters": {"rope_type": "ntk", "factor": 8.0, "rope_theta": 20_000},
    },
    "as Snowflake names the type": {**GTE, "model_type": "gte", "architectures": ["GteModel"]},
    "one type": {**GTE, "type_vocab_size": 1},
    "no types": {**GTE, "type_vocab_size": 0},
}
JINAS: Mapping[str, Mapping[str, Any]] = {
    "geglu": JINA,
    "reglu": {**JINA, "feed_forward_type": "reglu"},
    "an original feed-forward layer": {**JINA, "feed_forward_type": "original"},
    "a table of positions": {**JINA, "position_embedding_type": "absolute"},
    "normalised queries and keys": JINA_CODE,
}


def gte_case(config: Mapping[str, Any]) -> tuple[Any, Any]:
    """The tensors of a config, and the config with the authors' names for the plain computation."""
    return gte_tensors(config["type_vocab_size"]), {"rope_scaling": GTE["rope_scaling"], "rope_theta": 20_000} | config


def compare(folder: Path, outputs: Any, tensors: Any, config: Mapping[str, Any]) -> None:
    """Compare every hidden state and every head of a text and of a pair."""
    source = folder_source("m", folder)
    loaded, tokenizer = load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)
    for texts in ((TEXT,), (TEXT, PAIR)):
        tokens = tokenize(tokenizer, *texts)
        run = trace(loaded, tokens)
        types = np.minimum(np.array(tokens.token_type_ids), max(config["type_vocab_size"], 1) - 1)
        states, maps = outputs(tensors, config, np.array(tokens.input_ids), types)
        np.testing.assert_allclose(run.hidden_states, np.stack(states), rtol=0, atol=TOLERANCE)
        for layer in range(LAYERS):
            np.testing.assert_allclose(attention_probs(run, layer), maps[layer], rtol=0, atol=TOLERANCE)
        assert run.attention_source == "recorded"


@pytest.mark.parametrize("config", GTES.values(), ids=GTES)
def test_gte_has_the_numbers_of_a_plain_computation(tmp_path: Path, config: Mapping[str, Any]) -> None:
    tensors, plain = gte_case(config)
    compare(save(tmp_path, config, tensors), gte_outputs, tensors, plain)


@pytest.mark.parametrize("config", JINAS.values(), ids=JINAS)
def test_jinabert_has_the_numbers_of_a_plain_computation(tmp_path: Path, config: Mapping[str, Any]) -> None:
    tensors = jina_tensors(config)
    compare(save(tmp_path, config, tensors), jina_outputs, tensors, config)


NEOBERTS: Mapping[str, Mapping[str, Any]] = {
    "as published": NEOBERT,
    "as its training code writes it": {
        **NEOBERT,
        "rope": True,
        "rms_norm": True,
        "hidden_act": "SwiGLU",
        "ngpt": False,
    },
    "without the author's code": {key: value for key, value in NEOBERT.items() if key != "auto_map"},
}


@pytest.mark.parametrize("config", NEOBERTS.values(), ids=NEOBERTS)
def test_neobert_has_the_numbers_of_a_plain_computation(tmp_path: Path, config: Mapping[str, Any]) -> None:
    tensors = neobert_tensors()
    folder = save(tmp_path, config, tensors)
    compare(folder, neobert_outputs, tensors, {**config, "type_vocab_size": 1})
    ledger = source_ledger(folder_source("m", folder), SETTINGS)
    assert ledger.total == sum(values.size for values in tensors.values())
    counts = {part.name: part.total for part in ledger.components}
    assert counts["embeddings"] == WORDS * HIDDEN
    assert {row.part for row in ledger.parameters if row.layer is not None} == {
        *("query_key_value", "attention_output", "feed_forward", "layer_norm")
    }


def test_padding_changes_no_vector_of_a_neobert(tmp_path: Path) -> None:
    tensors = neobert_tensors()
    source = folder_source("m", save(tmp_path, NEOBERT, tensors))
    loaded, tokenizer = load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)
    sentences = (TEXT, "my pet", "the river bank , the language .")
    found = sentence_vectors(loaded, tokenizer, sentences, recommended(source, SETTINGS))
    for vector, sentence in zip(found.vectors, sentences, strict=True):
        states, _ = neobert_outputs(tensors, NEOBERT, np.array(tokenize(tokenizer, sentence).input_ids), None)
        np.testing.assert_allclose(vector, states[-1].mean(axis=0), rtol=0, atol=TOLERANCE)


def test_the_heads_of_a_neobert_have_the_logits_of_a_plain_computation(tmp_path: Path) -> None:
    words = {"decoder.weight": (WORDS, HIDDEN), "decoder.bias": (WORDS,)}
    classes = {**dense("dense", HIDDEN, HIDDEN), **dense("classifier", 2, HIDDEN)}
    labels = {"id2label": {"0": "no", "1": "yes"}, "label2id": {"no": 0, "yes": 1}}
    for name, shapes in (("NeoBERTLMHead", words), ("NeoBERTForSequenceClassification", classes)):
        tensors = neobert_tensors("model.", **shapes)
        config = {**NEOBERT, "architectures": [name], **(labels if shapes is classes else {})}
        head, tokenizer = opened_head(save(tmp_path / name, config, tensors))
        tokens = tokenize(tokenizer, TEXT, PAIR)
        base = {key.removeprefix("model."): values for key, values in tensors.items()}
        last = neobert_outputs(base, config, np.array(tokens.input_ids), None)[0][-1]
        plain = Plain(tensors)
        expected = (
            plain.linear("decoder", last)
            if shapes is words
            else plain.linear("classifier", np.tanh(plain.linear("dense", last[0])))
        )
        np.testing.assert_allclose(own_outputs(head, head.model, [tokens]).logits[0], expected, rtol=0, atol=2e-5)
        ledger = source_ledger(folder_source("m", tmp_path / name), SETTINGS)
        assert ledger.total == sum(values.size for values in tensors.values())
        assert {part.name for part in ledger.components} == {"embeddings", "encoder", "task head"}


def test_slopes_are_those_of_the_paper_for_powers_of_two() -> None:
    assert slopes(8) == [2.0**-power for power in range(1, 9)]
    assert slopes(12)[:8] == slopes(8)
    np.testing.assert_allclose(slopes(12)[8:], [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5])


@pytest.mark.parametrize("kind", ["gte", "jina"])
def test_padding_changes_no_vector(tmp_path: Path, kind: str) -> None:
    """A list of sentences of different lengths has the vectors of each alone: the mean of its plain states."""
    tensors = gte_tensors() if kind == "gte" else jina_tensors(JINA)
    outputs, config = (gte_outputs, GTE) if kind == "gte" else (jina_outputs, JINA)
    source = folder_source("m", save(tmp_path, config, tensors))
    loaded, tokenizer = load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)
    sentences = (TEXT, "my pet", "the river bank , the language .")
    found = sentence_vectors(loaded, tokenizer, sentences, recommended(source, SETTINGS))
    for vector, sentence in zip(found.vectors, sentences, strict=True):
        ids = np.array(tokenize(tokenizer, sentence).input_ids)
        states, _ = outputs(tensors, config, ids, np.zeros_like(ids))
        np.testing.assert_allclose(vector, states[-1].mean(axis=0), rtol=0, atol=TOLERANCE)
    assert loaded.batch_of == "any length"


def labelled(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**config, "architectures": [name], "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}


@pytest.mark.parametrize("kind", ["gte", "jina"])
def test_a_reranker_has_the_logit_of_a_plain_computation(tmp_path: Path, kind: str) -> None:
    classifier = random_tensors(dense("classifier", 1, HIDDEN))
    if kind == "gte":
        tensors, config, outputs, prefix = gte_tensors(pooler=True), GTE, gte_outputs, "new."
        config = labelled(config, "NewForSequenceClassification")
    else:
        tensors, config, outputs, prefix = jina_tensors(JINA), JINA, jina_outputs, "bert."
        config = labelled(config, "JinaBertForSequenceClassification")
    whole = {**{f"{prefix}{name}": values for name, values in tensors.items()}, **classifier}
    head, tokenizer = opened_head(save(tmp_path, config, whole))
    tokens = tokenize(tokenizer, TEXT, PAIR)
    states, _ = outputs(tensors, config, np.array(tokens.input_ids), np.array(tokens.token_type_ids))
    pooled = np.tanh(states[-1][0] @ tensors["pooler.dense.weight"].T + tensors["pooler.dense.bias"])
    expected = pooled @ classifier["classifier.weight"].T + classifier["classifier.bias"]
    np.testing.assert_allclose(own_outputs(head, head.model, [tokens]).logits[0], expected, rtol=0, atol=TOLERANCE)
    ledger = source_ledger(folder_source("m", tmp_path), SETTINGS)
    assert ledger.total == sum(values.size for values in whole.values())
    assert {part.name for part in ledger.components} == {"embeddings", "encoder", "pooler", "task head"}
    assert "prefix" not in ledger.note


@pytest.mark.parametrize("kind", ["gte", "jina"])
def test_words_have_the_logits_of_a_plain_computation(tmp_path: Path, kind: str) -> None:
    if kind == "gte":
        tensors, config, outputs, prefix = (
            gte_tensors(),
            {**GTE, "architectures": ["NewForMaskedLM"]},
            gte_outputs,
            "new.",
        )
        turn, normal, bias = "lm_head.dense", "lm_head.norm", "lm_head.decoder.bias"
    else:
        tensors, config, outputs, prefix = jina_tensors(JINA), JINA, jina_outputs, "bert."
        turn, normal = "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm"
        bias = "cls.predictions.bias"
    own = random_tensors({**dense(turn, HIDDEN, HIDDEN), **norm(normal), bias: (WORDS,)})
    whole = {f"{prefix}{name}": values for name, values in tensors.items() if not name.startswith("pooler")} | own
    head, tokenizer = opened_head(save(tmp_path, config, whole))
    tokens = tokenize(tokenizer, TEXT)
    ids = np.array(tokens.input_ids)
    plain, words = Plain(own), tensors["embeddings.word_embeddings.weight"]
    last = outputs(tensors, config, ids, np.zeros_like(ids))[0][-1]
    expected = plain.norm(normal, gelu(plain.linear(turn, last))) @ words.T + own[bias]
    np.testing.assert_allclose(own_outputs(head, head.model, [tokens]).logits[0], expected, rtol=0, atol=2e-5)
    ledger = source_ledger(folder_source("m", tmp_path), SETTINGS)
    assert ledger.total == sum(values.size for values in whole.values())


def test_the_code_that_is_not_run_is_named_once(tmp_path: Path) -> None:
    gte = folder_source("m", save(tmp_path / "gte", GTE, gte_tensors()))
    assert gte.notices == (
        "m: computed by transformers' GteModel; the folder's code (Alibaba-NLP/new-impl--configuration.NewConfig, "
        "Alibaba-NLP/new-impl--modeling.NewModel) is not run.",
    )
    jina = folder_source("m", save(tmp_path / "jina", JINA_CODE, jina_tensors(JINA_CODE)))
    neobert = folder_source("m", save(tmp_path / "neobert", NEOBERT, neobert_tensors()))
    assert neobert.notices == (
        "m: computed by Inside BERT's own implementation of NeoBERT; the folder's code (model.NeoBERTConfig, "
        "model.NeoBERT) is not run.",
    )
    assert jina.notices == (
        "m: computed by Inside BERT's own implementation of JinaBERT v2; the folder's code "
        "(jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel) is not run; transformers alone would take it "
        "for a BERT.",
    )


@pytest.mark.parametrize("config", [JINA, JINA_CODE], ids=["usual", "code"])
def test_a_variant_that_no_name_tells_is_told_by_its_tensors(tmp_path: Path, config: Mapping[str, Any]) -> None:
    tensors = jina_tensors(config)
    folder = save(tmp_path, config, tensors)
    local = {**config, "_name_or_path": "x", "auto_map": {"AutoModel": "modeling_bert.JinaBertModel"}}
    (folder / "config.json").write_text(json.dumps(local))
    compare(folder, jina_outputs, tensors, config)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "bert", "architectures": ["BertModel"]},
        {"model_type": "bert", "position_embedding_type": "alibi"},
        {"model_type": "bert", "auto_map": {"AutoModel": "bert_layers.BertForMaskedLM"}, "alibi_starting_size": 512},
        {"model_type": "gte", "rope_theta": 160_000},
        {"model_type": "xlm-roberta", "auto_map": {"AutoModel": "jinaai/xlm-roberta-flash-implementation--modeling.X"}},
        {"model_type": ["new"]},
    ],
)
def test_other_configs_stay_as_they_are(config: Mapping[str, Any]) -> None:
    assert translated("m", config, tuple) is config


WRONG: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "positions of GTE": (
        {**GTE, "position_embedding_type": "absolute"},
        ("'absolute'", "position_embedding_type", "'rope'"),
    ),
    "norms of GTE": ({**GTE, "layer_norm_type": "rms_norm"}, ("'rms_norm'", "layer_norm_type")),
    "attention scale of GTE": ({**GTE, "logn_attention_scale": True}, ("logn_attention_scale",)),
    "separate projections of GTE": ({**GTE, "pack_qkv": False}, ("pack_qkv",)),
    "scaling of GTE": ({**GTE, "rope_scaling": {"type": "yarn", "factor": 2.0}}, ("'yarn'", "'ntk'")),
    "mixed scaling of GTE": ({**GTE, "rope_scaling": {**GTE["rope_scaling"], "mixed_b": 0.5}}, ("mixed_b",)),
    "scaling that is no object": ({**GTE, "rope_scaling": "ntk"}, ("'factor'", "above 0")),
    "factor that is no number": ({**GTE, "rope_scaling": {"type": "ntk", "factor": "8"}}, ("'8'", "'factor'")),
    "base that is no number": ({**GTE, "rope_theta": [1]}, ("rope_theta", "above 0")),
    "heads of GTE": ({**GTE, "num_attention_heads": 7}, ("7", "do not divide", "24")),
    "heads that are a text": ({**GTE, "num_attention_heads": "6"}, ("'6'", "num_attention_heads")),
    "activation of GTE": ({**GTE, "hidden_act": "zzz"}, ("'zzz'",)),
    "positions of JinaBERT": ({**JINA, "position_embedding_type": "rope"}, ("'rope'", "alibi or absolute")),
    "gates of JinaBERT": ({**JINA, "feed_forward_type": "swiglu"}, ("'swiglu'", "geglu or reglu")),
    "no gates with normalised queries": (
        {**JINA_CODE, "feed_forward_type": "original"},
        ("'original'", "geglu, reglu"),
    ),
    "heads of JinaBERT": ({**JINA, "num_attention_heads": 7}, ("7", "do not divide")),
    "positions of NeoBERT": ({**NEOBERT, "rope": False}, ("rope", "NeoBERT", "never run")),
    "norms of NeoBERT": ({**NEOBERT, "ngpt": True}, ("ngpt",)),
    "gates of NeoBERT": ({**NEOBERT, "hidden_act": "GELU"}, ("'gelu'", "'swiglu'")),
    "heads of NeoBERT": ({**NEOBERT, "num_attention_heads": 8}, ("8", "even parts")),
    "width of NeoBERT": ({**NEOBERT, "intermediate_size": "40"}, ("'40'", "intermediate_size")),
    "length of NeoBERT": ({**NEOBERT, "max_length": [1]}, ("max_position_embeddings",)),
    "type of an entry of JinaBERT": ({**JINA, "feed_forward_type": 3}, ("the number 3", "feed_forward_type")),
}


@pytest.mark.parametrize(("config", "words"), WRONG.values(), ids=WRONG)
def test_a_config_that_is_not_computed_is_refused_in_one_sentence(
    tmp_path: Path, config: Mapping[str, Any], words: tuple[str, ...]
) -> None:
    tensors = {"bert": lambda: jina_tensors(JINA), "neobert": neobert_tensors}.get(config["model_type"], gte_tensors)
    save(tmp_path, config, tensors())
    with pytest.raises(CheckpointError) as error:
        load_model(folder_source("m", tmp_path), SETTINGS)
    message = str(error.value)
    for word in words:
        assert word in message
    assert "\n" not in message


@pytest.mark.parametrize("kind", ["gte", "jina"])
def test_a_lacking_tensor_is_named(tmp_path: Path, kind: str) -> None:
    save(tmp_path, GTE if kind == "gte" else JINA, gte_tensors() if kind == "gte" else jina_tensors(JINA))
    tensors = load_file(tmp_path / "model.safetensors")
    lacking = next(name for name in tensors if name.endswith(("mlp.down_proj.bias", "mlp.wo.bias")))
    save_file({name: values for name, values in tensors.items() if name != lacking}, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"lacks 1 of the \d+ tensors .*layer.*\.0\.mlp\."):
        load_model(folder_source("m", tmp_path), SETTINGS)


CARD = ("what is the capital of China?", "how to implement quick sort in python?", "北京", "快排算法介绍")
QUESTION = "What is Deep Learning?"
"""Text of the snapshots of text-embeddings-inference."""


def of_the_hub(name: str) -> OpenedModel:
    """A model of the Hub with its weights, or the test is skipped."""
    opened = OpenedModel(name, SETTINGS)
    try:
        _ = opened.loaded
    except BertvizError as error:
        pytest.skip(f"{name} is not on this machine and cannot be fetched: {type(error).__name__}")
    return opened


@pytest.mark.network
def test_the_card_of_gte_gives_the_same_cosines() -> None:
    opened = of_the_hub("Alibaba-NLP/gte-multilingual-base")
    vectors = encoded_by(opened, own_plan(opened), CARD).result.vectors
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(unit[1:] @ unit[0], (0.3016997, 0.7503870, 0.3203085), rtol=0, atol=1e-3)


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("jina-embeddings-v2-small-en", (-0.7366036, -0.34022003, -0.0716392, 0.108484305, 0.14210966)),
        ("jina-embeddings-v2-base-code", (-0.15109017, -0.021903912, -0.08391459, -0.12880382, 0.35795733)),
    ],
)
def test_jinabert_has_the_vectors_of_text_embeddings_inference(name: str, first: tuple[float, ...]) -> None:
    opened = of_the_hub(f"jinaai/{name}")
    states = trace(opened.loaded, opened.tokens(QUESTION, None)).hidden_states[-1]
    np.testing.assert_allclose(states.mean(axis=0)[: len(first)], first, rtol=0, atol=2e-3)


@pytest.mark.network
def test_a_reranker_has_the_score_of_text_embeddings_inference() -> None:
    opened = of_the_hub("jinaai/jina-reranker-v1-tiny-en")
    head = load_head(opened.source, SETTINGS, "sequence-classification")
    logits = own_outputs(head, head.model, [opened.tokens(QUESTION, None)]).logits
    assert float(logits[0, 0]) == pytest.approx(-0.9144413, abs=2e-3)
