"""Checkpoints with sentence-transformers' files: the plan read from them gives the vectors that the library gives."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.errors import CheckpointError
from bertviz_core.loading import load_model
from bertviz_core.results.sentences import SentencePlan
from bertviz_core.sentence_modules import adapted, recommended
from bertviz_core.sentences import sentence_vectors
from bertviz_core.settings import Settings
from bertviz_core.sources import folder_source, resolve
from bertviz_core.tokenizer_loading import load_tokenizer
from tests.core.tiny_models import HIDDEN, save_tiny

TEXTS = ("I love my pet python.", "the pythons, my love", "river bank " * 13, "pet")
CASES: dict[str, dict[str, Any]] = {
    "mean": {"pooling": "mean"},
    "max, shortened": {"pooling": "max", "length": 9},
    "first token, tanh, normalised": {"pooling": "cls", "dense": ("Tanh",), "normalize": True},
    "two dense layers": {"pooling": "mean", "dense": ("Identity", "GELU")},
    "prompt": {"pooling": "mean", "prompt": "the river : ", "normalize": True},
    "prompt not pooled": {"pooling": "mean", "prompt": "the river : ", "include_prompt": False},
    "prompt not pooled, first token": {"pooling": "cls", "prompt": "the river : ", "include_prompt": False},
}


def built(folder: Path, case: dict[str, Any]) -> Any:
    """A SentenceTransformer on a tiny BERT, saved below the folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    torch.manual_seed(0)
    transformer = modules.Transformer(str(save_tiny("bert", folder / "bert")), max_seq_length=case.get("length", 29))
    parts = [transformer, modules.Pooling(HIDDEN, case["pooling"], include_prompt=case.get("include_prompt", True))]
    for place, name in enumerate(case.get("dense", ())):
        parts.append(
            modules.Dense(7 if place else HIDDEN, 7 + place * 2, activation_function=getattr(torch.nn, name)())
        )
    if case.get("normalize"):
        parts.append(modules.Normalize())
    prompts = {"prompts": {"query": case["prompt"]}, "default_prompt_name": "query"} if "prompt" in case else {}
    model = SentenceTransformer(modules=parts, device="cpu", **prompts)
    model.save(str(folder / "saved"))
    return model


@pytest.mark.parametrize("name", CASES)
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


def test_the_bundled_model_names_its_own_plan() -> None:
    settings = Settings.from_environment()
    plan = recommended(resolve("all-MiniLM-L6-v2", settings), settings)
    assert (plan.pooling, plan.layer, plan.normalize, plan.max_seq_length) == ("mean", None, True, 256)
    assert plan.reason.endswith("the mean of all tokens, brought to length 1, at most 256 tokens of a sentence.")


def test_a_raw_encoder_gets_the_mean_and_is_told_so(tmp_path: Path) -> None:
    source = folder_source("tiny", save_tiny("bert", tmp_path))
    plan = recommended(source, Settings.from_environment())
    assert (plan.pooling, plan.normalize, plan.max_seq_length, plan.dense) == ("mean", False, None, ())
    assert "it has no modules.json" in plan.reason


def modules(folder: Path, *parts: tuple[str, str, dict[str, Any]]) -> Path:
    """A tiny BERT with a modules.json of the old form and a config.json for each part."""
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
        ((("sentence_transformers.models.Pooling", "1_Pooling", {"pooling_mode": "lasttoken"}),), "lasttoken"),
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
        ((MEAN, ("sentence_transformers.models.Dense", "2_Dense", {"in_features": 12, "out_features": 3})), "pickle"),
        (
            (MEAN, ("sentence_transformers.models.Dense", "2_Dense", {"activation_function": "os.system"})),
            "os.system",
        ),
    ],
    ids=["mode", "two modes", "custom", "pickle", "activation"],
)
def test_what_is_not_followed_is_said(tmp_path: Path, parts: Any, word: str) -> None:
    folder = modules(tmp_path, *parts)
    (folder / "2_Dense").mkdir(exist_ok=True)
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(b"never opened")
    plan = recommended(folder_source("tiny", folder), Settings.from_environment())
    assert (plan.pooling, plan.dense) == ("mean", ())
    assert word in " ".join(plan.notices)


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
    from bertviz_core.results.sentences import DenseLayer

    layer = DenseLayer(np.ones((3, 4), dtype=np.float32), None, "tanh")
    plan = SentencePlan("mean", normalize=True, prompt="query: ", max_seq_length=9, dense=(layer,), reason="own")
    same = adapted(plan, "mean", None, "passage: ")
    assert (same.prompt, same.dense, same.reason) == ("passage: ", (layer,), "own")
    other = adapted(plan, "cls", 4)
    assert (other.pooling, other.layer, other.dense, other.prompt) == ("cls", 4, (), "query: ")
    assert (other.normalize, other.max_seq_length) == (True, 9)
    assert "dense layers" in other.notices[-1]
    assert "entry 4" in other.reason
