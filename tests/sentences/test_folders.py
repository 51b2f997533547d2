"""Folders in the format of sentence-transformers, in a grid of settings, against vectors computed by its rules.

Covers `bertviz_core/sentences/plan.py`, `bertviz_core/sentences/pooling.py`.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from tokenizers import normalizers
from transformers import AutoModel, AutoModelForTextEncoding, AutoTokenizer

from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.texts.sentences import encoded_by, own_plan
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import FOLLOWED_POOLINGS, recommended
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.tiny_models import HIDDEN, save_tiny, tiny_tokenizer

SETTINGS = Settings.from_environment()
TEXTS = ("I love my pet python.", "THE pythons, my love", "river bank " * 9, "pet")
PROMPT = "the river , "
ACTIVATIONS = {"Tanh": np.tanh, "ReLU": lambda values: np.maximum(values, 0), "Identity": lambda values: values}
Case = Mapping[str, Any]


def write(folder: Path, case: Case) -> None:
    """Write the files besides the encoder, in the library's format."""
    listed = [("Transformer", ""), ("Pooling", "1_Pooling")]
    listed += [("Dense", "2_Dense")] if case["dense"] else []
    listed += [("Normalize", "3_Normalize")] if case["normalize"] else []
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (kind, path) in enumerate(listed)
    ]
    files: dict[str, Any] = {
        "modules.json": modules,
        "1_Pooling/config.json": {
            "embedding_dimension": HIDDEN,
            "pooling_mode": case["pooling"],
            "include_prompt": case["include_prompt"],
        },
        "2_Dense/config.json": {"activation_function": f"torch.nn.modules.activation.{case['dense']}"},
        "sentence_bert_config.json": {"max_seq_length": case["length"], "do_lower_case": case["lower"]},
        "config_sentence_transformers.json": {"prompts": {"query": PROMPT}, "default_prompt_name": "query"},
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    save_file(dense_weights(), folder / "2_Dense" / "model.safetensors")


def dense_weights() -> dict[str, torch.Tensor]:
    """Weights of a dense layer from HIDDEN to 5 numbers."""
    numbers = torch.Generator().manual_seed(1)
    return {
        "linear.weight": torch.randn(5, HIDDEN, generator=numbers),
        "linear.bias": torch.randn(5, generator=numbers),
    }


def pooled(rows: np.ndarray, first_place: int, pooling: str) -> np.ndarray:
    """Pooling by its definition; first_place is the index of the first row in its sentence."""
    if pooling in ("cls", "lasttoken"):
        return np.asarray(rows[0 if pooling == "cls" else -1])
    if pooling == "max":
        return np.asarray(rows.max(axis=0))
    weights = np.ones(len(rows))
    if pooling == "weightedmean":
        weights = np.arange(first_place + 1, first_place + 1 + len(rows))
    total = np.asarray((rows * weights[:, None]).sum(axis=0))
    return total / (np.sqrt(len(rows)) if pooling == "mean_sqrt_len_tokens" else weights.sum())


def expected(model: Any, tokenizer: Any, case: Case) -> np.ndarray:
    """The vectors, computed one text at a time."""
    vectors = []
    for text in TEXTS:
        words = PROMPT + text
        options = {"truncation": True, "max_length": case["length"] or 29}
        ids = tokenizer(words.lower() if case["lower"] else words, **options)["input_ids"]
        with torch.no_grad():
            hidden = model(input_ids=torch.tensor([ids])).last_hidden_state[0].double().numpy()
        skipped = 0 if case["include_prompt"] else len(tokenizer(PROMPT)["input_ids"]) - 1  # all but the last [SEP]
        vector = pooled(hidden[skipped:], skipped, case["pooling"])
        if case["dense"]:
            weights = {name: tensor.double().numpy() for name, tensor in dense_weights().items()}
            vector = ACTIVATIONS[case["dense"]](weights["linear.weight"] @ vector + weights["linear.bias"])
        vectors.append(vector / np.linalg.norm(vector) if case["normalize"] else vector)
    return np.array(vectors)


def grid() -> Sequence[Case]:
    """Every pooling with and without prompt, and the other settings in turn."""
    others = list(product((None, 11), (False, True), ("", "Tanh", "ReLU"), (False, True)))
    return [
        dict(
            zip(
                ("pooling", "include_prompt", "length", "lower", "dense", "normalize"),
                (pooling, include, *others[(7 * place + shift) % len(others)]),
                strict=True,
            )
        )
        for place, (pooling, include) in enumerate(product(FOLLOWED_POOLINGS, (True, False)))
        for shift in (0, 1, 10, 16)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "distilbert", "t5"])
def test_every_folder_of_the_grid_gives_the_vectors_of_its_rules(family: str, tmp_path: Path) -> None:
    folder = save_tiny(family, tmp_path)
    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.save_pretrained(folder)
    source = folder_source("tiny", folder)
    loaded, own = load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)
    kind: Any = AutoModelForTextEncoding if family == "t5" else AutoModel
    model, tokens = kind.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    for case in grid():
        write(folder, case)
        plan = recommended(source, SETTINGS)
        assert plan.notices == ()
        found = sentence_vectors(loaded, own, TEXTS, plan).vectors
        np.testing.assert_allclose(found, expected(model, tokens, case), rtol=1e-4, atol=1e-5, err_msg=str(case))


CASE: Case = {
    "pooling": "mean", "include_prompt": True, "length": None, "lower": False, "dense": "", "normalize": False,
}  # fmt: skip


def test_a_model_whose_decoder_the_library_pools_is_said_to_differ(tmp_path: Path) -> None:
    """The output of BART's class is the decoder's, so the library's vectors differ; of T5 it uses the encoder, too."""
    folder = save_tiny("bart", tmp_path)
    write(folder, CASE)
    source = folder_source("tiny", folder)
    plan = recommended(source, SETTINGS)
    found = sentence_vectors(load_model(source, SETTINGS), load_tokenizer(source, SETTINGS), TEXTS, plan)
    whole = AutoModel.from_pretrained(folder).eval()
    assert np.abs(found.vectors - expected(whole, AutoTokenizer.from_pretrained(folder), CASE)).max() > 1e-2
    np.testing.assert_allclose(
        found.vectors, expected(whole.get_encoder(), AutoTokenizer.from_pretrained(folder), CASE), rtol=1e-4, atol=1e-5
    )
    assert "decoder" in plan.notices[0]
    assert plan.notices[0] in found.notices


@pytest.mark.parametrize("length", [5, 11, 9000])
def test_a_length_of_the_settings_takes_the_place_of_the_tokenizers(tmp_path: Path, length: int) -> None:
    folder = save_tiny("bert", tmp_path)
    write(folder, {**CASE, "length": length})
    tiny_tokenizer(model_max_length=7).save_pretrained(folder)
    source, own = folder_source("tiny", folder), SentenceTransformer(str(folder), device="cpu")
    encoded = sentence_vectors(
        load_model(source, SETTINGS), load_tokenizer(source, SETTINGS), TEXTS[:2], recommended(source, SETTINGS)
    )
    np.testing.assert_allclose(encoded.vectors, own.encode(list(TEXTS[:2])), rtol=0, atol=1e-5)


def test_an_adapter_of_a_sentence_model_is_read_with_its_modules(tmp_path: Path) -> None:
    base = save_tiny("mpnet", tmp_path / "base")
    write(base, {**CASE, "pooling": "max", "dense": "Tanh"})
    config = json.loads((base / "2_Dense" / "config.json").read_text()) | {"in_features": HIDDEN, "out_features": 5}
    (base / "2_Dense" / "config.json").write_text(json.dumps(config))
    own = SentenceTransformer(str(base), device="cpu")
    own.add_adapter(LoraConfig(r=3, target_modules=["q", "v"], init_lora_weights=False))
    own.save_pretrained(str(tmp_path / "adapter"))
    settings = Settings.from_environment(any_folder=True)
    opened = OpenedModel(str(tmp_path / "adapter"), settings)
    found = encoded_by(opened, own_plan(opened), TEXTS[:2]).result
    np.testing.assert_allclose(found.vectors, own.encode(list(TEXTS[:2])), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["Dense", "Normalize"])
def test_what_a_module_does_to_tokens_behind_the_pooling_changes_no_vector(tmp_path: Path, kind: str) -> None:
    folder = save_tiny("bert", tmp_path)
    write(folder, {**CASE, "dense": "Tanh" * (kind == "Dense"), "normalize": kind == "Normalize"})
    source = folder_source("tiny", folder)
    loaded, tokenizer = load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)
    (place,) = [entry["path"] for entry in json.loads((folder / "modules.json").read_text()) if kind in entry["type"]]
    (folder / place).mkdir(exist_ok=True)
    config: Any = json.loads(path.read_text()) if (path := folder / place / "config.json").exists() else {}
    path.write_text(json.dumps({**config, "module_input_name": "token_embeddings"}))
    plan = recommended(source, SETTINGS)
    assert plan.notices == ()
    model, tokens = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    found = sentence_vectors(loaded, tokenizer, TEXTS, plan).vectors
    np.testing.assert_allclose(found, expected(model, tokens, CASE), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("family", "changed"), [("mobilebert", True), ("fnet", True), ("bert", False)])
def test_a_model_whose_vectors_a_batch_changes_says_so(tmp_path: Path, family: str, changed: bool) -> None:
    folder = save_tiny(family, tmp_path)
    write(folder, CASE)
    source, own = folder_source("tiny", folder), SentenceTransformer(str(folder), device="cpu")
    loaded, tokenizer = load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)
    found = sentence_vectors(loaded, tokenizer, TEXTS, recommended(source, SETTINGS))
    np.testing.assert_allclose(found.vectors, own.encode(list(TEXTS), batch_size=1), rtol=0, atol=1e-5)
    assert (np.abs(found.vectors - own.encode(list(TEXTS))).max() > 1e-3) == changed
    assert any("give" in each and "other vectors" in each for each in found.notices) == changed
    alone = sentence_vectors(loaded, tokenizer, TEXTS[:1], recommended(source, SETTINGS))
    assert not any("other vectors" in each for each in alone.notices)


@pytest.mark.parametrize(("family", "changed"), [("electra", True), ("roberta", False)])
def test_padding_in_front_that_moves_positions_is_said(tmp_path: Path, family: str, changed: bool) -> None:
    folder = save_tiny(family, tmp_path)
    write(folder, CASE)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "padding_side": "left"}))
    source, own = folder_source("tiny", folder), SentenceTransformer(str(folder), device="cpu")
    loaded, tokenizer = load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)
    found = sentence_vectors(loaded, tokenizer, TEXTS, recommended(source, SETTINGS))
    np.testing.assert_allclose(found.vectors, own.encode(list(TEXTS), batch_size=1), rtol=0, atol=1e-5)
    assert (np.abs(found.vectors - own.encode(list(TEXTS))).max() > 1e-3) == changed
    assert any("pads in front" in each for each in found.notices) == changed


@pytest.mark.parametrize(
    ("file", "change", "word"),
    [
        ("sentence_bert_config.json", lambda old: {**old, "config_args": {"hidden_act": "relu"}}, "config_args"),
        ("sentence_bert_config.json", lambda old: {**old, "document_length": 5}, "documents"),
        ("modules.json", lambda old: [{**old[0], "path": "0_Transformer"}, *old[1:]], "'0_Transformer'"),
        ("modules.json", lambda old: [old[0], *old], "Transformer"),
        ("modules.json", lambda old: [{**old[0], "type": "sentence_transformers.models.Dropout"}, *old[1:]], "Dropout"),
    ],
    ids=["loading", "lengths", "own folder", "two encoders", "no encoder"],
)
def test_what_is_not_followed_is_said(tmp_path: Path, file: str, change: Any, word: str) -> None:
    folder = save_tiny("bert", tmp_path)
    write(folder, CASE)
    path = folder / file
    path.write_text(json.dumps(change(json.loads(path.read_text()) if path.exists() else None)))
    (notice,) = recommended(folder_source("tiny", folder), SETTINGS).notices
    assert word in notice
    assert "differ" in notice


def test_an_adapter_beside_the_weights_is_said(tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path)
    write(folder, CASE)
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    source = folder_source("tiny", folder)
    notice, *_ = source.notices  # which every face has
    assert "adapter" in notice
    assert "not applied here" in notice
