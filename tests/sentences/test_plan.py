"""Checkpoints with files of sentence-transformers: the plan read from them gives the library's vectors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.sentences.encoding import read_text, sentence_vectors
from bertviz_core.sentences.plan import adapted, offered_prompts, prompt_named, recommended
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.tiny_models import HIDDEN, save_tiny, tiny_tokenizer

TEXTS = ("I love my pet python.", "the pythons, my love", "river bank " * 13, "pet")
CASES: dict[str, dict[str, Any]] = {
    "mean": {"pooling": "mean"},
    "max, shortened": {"pooling": "max", "length": 9},
    "first token, tanh, normalised": {"pooling": "cls", "dense": ("Tanh",), "normalize": True},
    "two dense layers": {"pooling": "mean", "dense": ("Identity", "GELU")},
    "prompt": {"pooling": "mean", "prompt": "the river : ", "normalize": True},
    "prompt not pooled": {"pooling": "mean", "prompt": "the river : ", "include_prompt": False},
    "prompt not pooled, first token": {"pooling": "cls", "prompt": "the river : ", "include_prompt": False},
    "weighted by place": {"pooling": "weightedmean", "dense": ("Identity",)},
    "weighted by place, prompt not pooled": {
        "pooling": "weightedmean",
        "prompt": "the river : ",
        "include_prompt": False,
    },
    "last token": {"pooling": "lasttoken", "normalize": True},
    "last token, shortened, prompt not pooled": {
        "pooling": "lasttoken",
        "length": 12,
        "prompt": "the river : ",
        "include_prompt": False,
    },
    "over the root of the count": {"pooling": "mean_sqrt_len_tokens"},
    "dimensions kept after normalising": {"pooling": "mean", "normalize": True, "truncate_dim": 5},
    "dropout between": {"pooling": "mean", "dropout": True, "dense": ("Tanh",)},
}


def built(folder: Path, case: dict[str, Any]) -> Any:
    """A SentenceTransformer on a tiny BERT, saved in the folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    torch.manual_seed(0)
    transformer = modules.Transformer(str(save_tiny("bert", folder / "bert")), max_seq_length=case.get("length", 29))
    parts = [transformer, modules.Pooling(HIDDEN, case["pooling"], include_prompt=case.get("include_prompt", True))]
    if case.get("dropout"):
        parts.append(modules.Dropout(0.5))
    for place, name in enumerate(case.get("dense", ())):
        parts.append(
            modules.Dense(7 if place else HIDDEN, 7 + place * 2, activation_function=getattr(torch.nn, name)())
        )
    if case.get("normalize"):
        parts.append(modules.Normalize())
    prompts = {"prompts": {"query": case["prompt"]}, "default_prompt_name": "query"} if "prompt" in case else {}
    model = SentenceTransformer(modules=parts, device="cpu", truncate_dim=case.get("truncate_dim"), **prompts)
    model.save(str(folder / "saved"))
    return model


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(2)
def test_the_vectors_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    expected = built(tmp_path, CASES[name]).encode(list(TEXTS))
    settings = Settings.from_environment()
    source = folder_source("tiny", tmp_path / "saved")
    plan = recommended(source, settings)
    assert plan.notices == ()
    assert plan.reason.startswith("The checkpoint's own modules")
    found = sentence_vectors(load_model(source, settings), load_tokenizer(source, settings), TEXTS, plan)
    np.testing.assert_allclose(found.vectors, expected, rtol=1e-5, atol=1e-5)
    assert plan.normalize == CASES[name].get("normalize", False)
    assert found.truncated.tolist() == [False, False, "length" in CASES[name] or "prompt" in CASES[name], False]


def test_every_prompt_by_its_name_gives_the_librarys_vectors(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    prompts = {"query": "the river : ", "document": "my pet ", "Clustering": "love", "empty": ""}
    built(tmp_path, {"pooling": "mean", "include_prompt": False})
    path = tmp_path / "saved" / "config_sentence_transformers.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "prompts": prompts, "default_prompt_name": "document"}))
    library = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    settings = Settings.from_environment()
    source = folder_source("tiny", tmp_path / "saved")
    loaded, tokenizer, plan = (
        load_model(source, settings),
        load_tokenizer(source, settings),
        recommended(source, settings),
    )
    assert offered_prompts(plan) == ("query", "document", "Clustering")
    found = []
    for name in (None, *prompts):
        used = plan if name is None else adapted(plan, plan.pooling, None, prompt_named(plan, name))
        expected = library.encode(list(TEXTS)) if name is None else library.encode(list(TEXTS), prompt_name=name)
        found.append(sentence_vectors(loaded, tokenizer, TEXTS, used).vectors)
        np.testing.assert_allclose(found[-1], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found[0], found[2])
    bare = adapted(plan, plan.pooling, None, prompt_named(plan, "none"))
    np.testing.assert_array_equal(sentence_vectors(loaded, tokenizer, TEXTS, bare).vectors, found[4])


@pytest.mark.parametrize(("prompts", "word"), [({"query": "q: "}, "'query'"), (None, "names none")])
def test_a_prompt_that_is_not_there_is_refused(prompts: Any, word: str) -> None:
    plan = SentencePlan("mean", prompts=prompts)
    assert prompt_named(plan, "none") == ""
    with pytest.raises(TextError, match=word):
        prompt_named(plan, "passage")


def test_lower_case_is_as_the_library_makes_it(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from tokenizers import normalizers

    built(tmp_path, {"pooling": "mean"})
    folder = tmp_path / "saved"
    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.save_pretrained(folder)
    texts, settings = ["I Love MY Pet Python.", "THE RIVER bank"], Settings.from_environment()
    source = folder_source("tiny", folder)
    cased = recommended(source, settings)
    path = folder / "sentence_bert_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "do_lower_case": True}))
    plan = recommended(source, settings)
    expected = SentenceTransformer(str(folder), device="cpu").encode(texts)
    loaded, own = load_model(source, settings), load_tokenizer(source, settings)
    found = sentence_vectors(loaded, own, texts, plan).vectors
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert np.abs(found - sentence_vectors(loaded, own, texts, cased).vectors).max() > 1e-3
    assert "in lower case" in plan.reason
    assert read_text(plan, "ΟΔΟΣ") == "οδοσ"


def test_the_bundled_model_names_its_own_plan() -> None:
    settings = Settings.from_environment()
    plan = recommended(resolve("all-MiniLM-L6-v2", settings), settings)
    assert (plan.pooling, plan.layer, plan.normalize, plan.max_seq_length) == ("mean", None, True, 256)
    assert plan.reason.endswith("the mean of all tokens, normalised to unit length, at most 256 tokens of a sentence.")


def test_a_raw_encoder_gets_the_mean_and_is_told_so(tmp_path: Path) -> None:
    source = folder_source("tiny", save_tiny("bert", tmp_path))
    plan = recommended(source, Settings.from_environment())
    assert (plan.pooling, plan.normalize, plan.max_seq_length, plan.dense) == ("mean", False, None, ())
    assert "it has no modules.json" in plan.reason


def modules(folder: Path, *parts: tuple[str, str, dict[str, Any]]) -> Path:
    """A tiny BERT with a modules.json in the old format and a config.json for each part."""
    save_tiny("bert", folder)
    listed = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for place, (kind, path, config) in enumerate(parts, 1):
        listed.append({"idx": place, "name": str(place), "path": path, "type": kind})
        if ".." not in path:
            (folder / path).mkdir()
            (folder / path / "config.json").write_text(json.dumps(config))
    (folder / "modules.json").write_text(json.dumps(listed))
    return folder


MEAN = ("sentence_transformers.models.Pooling", "1_Pooling", {"pooling_mode_mean_tokens": True})


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ((("sentence_transformers.models.Pooling", "1_Pooling", {"pooling_mode": "median"}),), "median"),
        (
            (
                (
                    "sentence_transformers.models.Pooling",
                    "1_P",
                    {"pooling_mode_cls_token": 1, "pooling_mode_max_tokens": 1},
                ),
            ),
            "'cls' and 'max'",
        ),
        ((MEAN, ("custom_code.Magic", "2_Magic", {})), "Magic"),
        ((("custom_code.Pooling", "1_P", {"pooling_mode_cls_token": True}),), "custom_code.Pooling"),
        ((("custom_code.Transformer", "0_T", {}), MEAN), "custom_code.Transformer"),
        ((MEAN, ("sentence_transformers.models.LayerNorm", "2_LayerNorm", {"dimension": 12})), "LayerNorm"),
        (
            (
                (
                    "sentence_transformers.base.modules.normalize.Normalize",
                    "1_N",
                    {"module_input_name": "token_embeddings"},
                ),
                MEAN,
            ),
            "Normalize",
        ),
        ((("sentence_transformers.models.Pooling", "1_P", {"pooling_mode": 7}),), "'7'"),
        ((MEAN, ("sentence_transformers.models.Dense", "2_Dense", {"in_features": 12, "out_features": 3})), "pickle"),
        ((MEAN, ("sentence_transformers.models.Dense", "2_Dense", {"activation_function": "os.system"})), "os.system"),
    ],
    ids=[
        "mode",
        "two modes",
        "custom",
        "custom pooling",
        "custom encoder",
        "layer norm",
        "normalised tokens",
        "no word",
        "pickle",
        "activation",
    ],
)
def test_what_is_not_followed_is_said(tmp_path: Path, parts: Any, word: str) -> None:
    folder = modules(tmp_path, *parts)
    (folder / "2_Dense").mkdir(exist_ok=True)
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"never opened")
    plan = recommended(folder_source("tiny", folder), Settings.from_environment())
    assert (plan.pooling, plan.dense, plan.normalize) == ("mean", (), False)
    assert word in " ".join(plan.notices)


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"transformer_task": "fill-mask"}, "'fill-mask'"),
        ({"processing_kwargs": {"text": {"add_special_tokens": False}}}, "processing_kwargs"),
        ({"query_expansion": {"length": 32}}, "query expansion"),
        ({"modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}}, "'logits'"),
    ],
)
def test_settings_of_the_reader_that_are_not_followed_are_said(tmp_path: Path, more: Any, word: str) -> None:
    folder = modules(tmp_path, MEAN)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 9, **more}))
    plan = recommended(folder_source("tiny", folder), Settings.from_environment())
    assert plan.max_seq_length == 9
    assert word in plan.notices[0]


@pytest.mark.parametrize(
    ("name", "normalized", "words"),
    [
        ("dot", False, "the dot product"),
        ("euclidean", False, "the Euclidean distance"),
        ("manhattan", True, "the L1 distance"),
        ("dot", True, ""),
        ("cosine", False, ""),
        (None, False, ""),
        (["dot"], False, ""),
    ],
)
def test_a_similarity_other_than_the_cosine_is_named(tmp_path: Path, name: Any, normalized: bool, words: str) -> None:
    parts = (MEAN, ("sentence_transformers.models.Normalize", "2_Normalize", dict[str, Any]()))
    folder = modules(tmp_path, *parts[: 1 + normalized])
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"similarity_fn_name": name}))
    notices = recommended(folder_source("tiny", folder), Settings.from_environment()).notices
    assert len(notices) == bool(words)
    assert words in " ".join(notices)


def test_a_checkpoint_that_pools_in_no_way_offered_keeps_its_length_and_prompts(tmp_path: Path) -> None:
    folder = modules(tmp_path, ("sentence_transformers.models.Pooling", "1_P", {"pooling_mode": ["mean", "cls"]}))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 9}')
    config = {"prompts": {"query": "q: "}, "default_prompt_name": "query", "truncate_dim": 3}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    plan = recommended(folder_source("tiny", folder), Settings.from_environment())
    assert (plan.pooling, plan.max_seq_length, plan.prompt, plan.truncate_dim) == ("mean", 9, "q: ", None)
    assert "'mean' and 'cls'" in plan.notices[0]


def test_a_message_names_a_few_of_many_poolings(tmp_path: Path) -> None:
    many = {"pooling_mode": [f"way {number}" for number in range(10_000)]}
    folder = modules(tmp_path, ("sentence_transformers.models.Pooling", "1_P", many))
    plan = recommended(folder_source("tiny", folder), Settings.from_environment())
    assert "'way 0' and 'way 1'" in plan.notices[0]
    assert len(plan.notices[0]) < 500


@pytest.mark.parametrize("path", ["../outside", "/etc", "a\\..\\b"])
def test_a_module_outside_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    folder = save_tiny("bert", tmp_path)
    entry = {"idx": 1, "name": "1", "path": path, "type": "sentence_transformers.models.Pooling"}
    (folder / "modules.json").write_text(json.dumps([entry]))
    with pytest.raises(CheckpointError, match="leads out"):
        recommended(folder_source("tiny", folder), Settings.from_environment())


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": 1}', '[{"type": 1}]', "7"])
def test_a_damaged_list_of_modules_is_refused(tmp_path: Path, content: str) -> None:
    folder = save_tiny("bert", tmp_path)
    (folder / "modules.json").write_text(content)
    with pytest.raises(CheckpointError, match="modules.json"):
        recommended(folder_source("tiny", folder), Settings.from_environment())


def test_a_dense_layer_of_the_wrong_width_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    settings = Settings.from_environment()
    folder = modules(tmp_path, MEAN, ("sentence_transformers.models.Dense", "2_Dense", {}))
    save_file({"linear.weight": torch.ones(3, HIDDEN + 1)}, folder / "2_Dense" / "model.safetensors")
    source = folder_source("tiny", folder)
    plan = recommended(source, settings)
    assert plan.dense[0].activation == "tanh"
    with pytest.raises(CheckpointError, match="do not belong together"):
        sentence_vectors(load_model(source, settings), load_tokenizer(source, settings), TEXTS, plan)


def test_another_pooling_leaves_the_dense_layers_out_and_keeps_the_rest() -> None:
    from bertviz_core.sentences.results import DenseLayer

    layer = DenseLayer(np.ones((3, 4), dtype=np.float32), None, "tanh")
    plan = SentencePlan(
        "mean", normalize=True, prompt="query: ", max_seq_length=9, dense=(layer,), truncate_dim=2, reason="own"
    )
    same = adapted(plan, "mean", None, "passage: ")
    assert (same.prompt, same.dense) == ("passage: ", (layer,))
    assert same.reason == "own Each sentence is prefixed with 'passage: '."
    assert adapted(same, "mean", None, "").reason == "own"
    other = adapted(plan, "cls", 4)
    assert (other.pooling, other.layer, other.dense, other.prompt) == ("cls", 4, (), "query: ")
    assert (other.normalize, other.max_seq_length) == (True, 9)
    assert other.truncate_dim is None
    assert "dense layers" in other.notices[0]
    assert "2 dimensions" in other.notices[1]
    assert "after layer 3" in other.reason


def test_a_plan_says_whether_the_checkpoint_asks_for_it(tmp_path: Path) -> None:
    settings = Settings.from_environment()
    own = recommended(resolve("all-MiniLM-L6-v2", settings), settings)
    none = recommended(folder_source("tiny", save_tiny("bert", tmp_path)), settings)
    assert (own.from_checkpoint, none.from_checkpoint) == (True, False)
    assert adapted(own, "mean", None).from_checkpoint
    other = adapted(own, "max", 1)
    assert not other.from_checkpoint
    assert other.reason == "As chosen: the largest value of each dimension over all tokens, after layer 0."


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("modules.json", [{"type": "x", "path": "1"}] * 101, "lists 101 modules; at most 100 are read"),
        ("modules.json", [[]] * 300_000, "about 600,000 values; the limit for this kind of file is 2,000"),
        ("config_sentence_transformers.json", {"prompts": {"query": "q" * 10_001}}, "'query' .* 10,000 characters"),
        ("config_sentence_transformers.json", {"prompts": {"n" * 201: "q: "}}, "or its name more than 200"),
        ("config_sentence_transformers.json", {"prompts": {str(n): "q" for n in range(1_001)}}, "names 1,001 prompts"),
    ],
)
def test_more_than_any_checkpoint_has_is_refused(tmp_path: Path, file: str, content: object, words: str) -> None:
    folder = save_tiny("bert", tmp_path / "many")
    (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Transformer", "path": ""}]')
    (folder / file).write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=words):
        recommended(folder_source("many", folder), Settings.from_environment())
