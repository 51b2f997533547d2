"""Every file of a folder that decides numbers is followed, or named in one sentence in every face, once.

Covers `bertviz_core/models/receipt.py`, `bertviz_core/models/sentence_folder.py`.
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
from transformers import AutoConfig, AutoModel

from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.questions.models.architecture import architecture, layered_parameters, parameter_tree, parameters
from bertviz_core.questions.models.checkpoints import load_report
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.hidden_states import head_matrices, run
from bertviz_core.questions.texts.sentences import encoded_by, own_plan
from bertviz_core.questions.texts.tokens import tokens
from bertviz_core.settings import Settings
from tests.helpers.decoders import decoder_config
from tests.helpers.tiny_models import HIDDEN, save_tiny, tiny_tokenizer, vocabulary

SETTINGS = Settings.from_environment(any_folder=True)
LIBRARY = "sentence_transformers.models."
DENSE = {"2_Dense/config.json": {"in_features": HIDDEN, "out_features": 5}, "2_Dense/pytorch_model.bin": "pickle"}


def modules(*parts: tuple[str, str]) -> dict[str, Any]:
    """A modules.json with a pooling."""
    listed = [{"idx": at, "name": str(at), "path": path, "type": kind} for at, (kind, path) in enumerate(parts)]
    return {
        "modules.json": listed,
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "word_embedding_dimension": HIDDEN},
    }


SENTENCES = modules((f"{LIBRARY}Transformer", ""), (f"{LIBRARY}Pooling", "1_Pooling"))
OWN_MODEL = {"config.json": {"auto_map": {"AutoModel": "modeling_own.OwnModel"}}}
CASES: Mapping[str, tuple[str, Mapping[str, Any], tuple[str, ...]]] = {
    "own code": ("bert", OWN_MODEL, ("modeling_own.OwnModel", "is not run", "BertModel")),
    "own code of another repository": (
        "modernbert",
        {"config.json": {"auto_map": {"AutoModel": "org/repo--modeling_own.OwnModel"}}},
        ("org/repo--modeling_own.OwnModel", "ModernBertModel"),
    ),
    "own code of a causal type, as gte-Qwen2": (
        "qwen2",
        {**OWN_MODEL, **SENTENCES},
        ("modeling_own.OwnModel", "Qwen2Model", "left to right", "is_causal"),
    ),
    "own config alone": (
        "bert",
        {"config.json": {"auto_map": {"AutoConfig": "configuration_own.OwnConfig"}}},
        ("configuration_own.OwnConfig", "is not run"),
    ),
    "own tokenizer": (
        "bert",
        {"tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}}},
        ("tokenization_own.OwnTokenizer", "is not run"),
    ),
    "own pipeline": (
        "bert",
        {"config.json": {"custom_pipelines": {"pair": {"impl": "pair.PairPipeline", "pt": ["AutoModel"]}}}},
        ("pair.PairPipeline", "is not run"),
    ),
    "own module": (
        "bert",
        modules(("custom_st.Transformer", ""), (f"{LIBRARY}Pooling", "1_Pooling")),
        ("custom_st.Transformer", "not followed"),
    ),
    "the encoder's own folder, written in another way": (
        "bert",
        {**modules((f"{LIBRARY}Transformer", "./"), (f"{LIBRARY}Dense", ".//2_Dense")), **DENSE},
        ("2_Dense", "left out"),
    ),
    "own code in the settings of the library": (
        "bert",
        {**SENTENCES, "sentence_bert_config.json": {"auto_map": {"AutoModel": "custom_st.Transformer"}}},
        ("sentence_bert_config.json", "custom_st.Transformer", "is not run"),
    ),
    "a class that transformers does not have": (
        "modernbert",
        {"config.json": {"architectures": ["OwnModernBertForRanking"]}},
        ("OwnModernBertForRanking", "does not have for modernbert", "ModernBertModel"),
    ),
    "a class of another type": (
        "bert",
        {"config.json": {"architectures": ["T5EncoderModel"]}},
        ("T5EncoderModel", "BertModel"),
    ),
    "an unknown problem": ("bert", {"config.json": {"problem_type": "zzz"}}, ("problem_type to 'zzz'", "is none of")),
    "other positions": (
        "bert",
        {"config.json": {"position_embedding_type": "relative_key"}},
        ("position_embedding_type to 'relative_key'", "does not read"),
    ),
    "an unknown attention": ("bert", {"config.json": {"attn_implementation": "flash9"}}, ("'flash9'", "not followed")),
    "heads in pickles, as bge-m3": (
        "bert",
        {**SENTENCES, "sparse_linear.pt": "pickle", "colbert_linear.pt": "pickle"},
        ("sparse_linear.pt", "colbert_linear.pt"),
    ),
    "heads in other folders, as stella": (
        "bert",
        {**SENTENCES, "2_Dense_1024/config.json": {"in_features": HIDDEN}, "2_Dense_1024/model.safetensors": "weights"},
        ("2_Dense_1024/model.safetensors",),
    ),
    "a dense layer in a pickle": (
        "bert",
        {**modules(*[(f"{LIBRARY}{kind}", path) for kind, path in
                     (("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense"))]), **DENSE},
        ("2_Dense", "pickle"),
    ),
    "weights beside the model": ("bert", {"head.safetensors": "weights"}, ("head.safetensors",)),
    "an adapter beside the weights": ("bert", {"adapter_config.json": {"peft_type": "LORA"}}, ("adapter_config.json",)),
}  # fmt: skip


def saved(model_type: str, folder: Path) -> Path:
    """A tiny model in a folder."""
    if model_type != "qwen2":
        return save_tiny(model_type, folder)
    AutoModel.from_config(decoder_config("qwen2", vocab_size=len(vocabulary()))).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def write(folder: Path, files: Mapping[str, Any]) -> None:
    """Write files, JSON ones into those that are there."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        if name.endswith(".safetensors"):
            save_file({"linear.weight": torch.ones(3, 2)}, path)
        elif isinstance(content, dict) and path.exists():
            path.write_text(json.dumps({**json.loads(path.read_text()), **content}))
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> OpenedModel:
    """The model of a case."""
    model_type, files, _ = CASES[request.param]
    write(saved(model_type, tmp_path / "tiny"), files)
    return OpenedModel(str(tmp_path / "tiny"), SETTINGS)


@pytest.mark.parametrize(("opened", "words"), [(name, case[2]) for name, case in CASES.items()], indirect=["opened"])
def test_what_is_not_followed_is_said_in_every_face_once(opened: OpenedModel, words: tuple[str, ...]) -> None:
    (sentence,) = opened.source.notices
    assert all(word in sentence for word in words)
    text, layer = Options(("river bank",)), Options(values={"layer": "1"})
    answers = [ask(opened, Options()) for ask in (parameters, layered_parameters, parameter_tree, architecture)]
    answers += [load_report(opened, Options()), head_matrices(opened, layer), tokens(opened, text), run(opened, text)]
    answers += [encoded_by(opened, own_plan(opened), text.texts)]
    assert [list(answer.notices).count(sentence) for answer in answers] == [1] * len(answers)
    report = load_report(opened, Options()).result
    assert "see the notices" in report.suggestion
    assert sentence in report.notices
    results = [run(opened, text).result, encoded_by(opened, own_plan(opened), text.texts).result]
    assert [list(result.notices).count(sentence) for result in results] == [1, 1]


@pytest.mark.parametrize(
    "files",
    [
        {},
        SENTENCES,
        {"pytorch_model.bin": "pickle", "tf_model.h5": "", "onnx/model.onnx": "", "onnx/model.bin": "weights"},
        {"optimizer.pt": "", "rng_state_0.pth": "", "training_args.bin": "", "checkpoint-7/model.safetensors": "w"},
        {"generation_config.json": {"top_p": 0.5}, "model.fp16.safetensors": "weights", "README.md": "text"},
        {"other/config.json": {"model_type": "bert"}, "other/model.safetensors": "weights"},
        {"config.json": {"architectures": ["TFBertForMaskedLM"], "position_embedding_type": "absolute"}},
        {"config.json": {"problem_type": "regression", "_attn_implementation": "sdpa"}},
        {"config.json": {"auto_map": None, "custom_pipelines": {}, "quantization_config": {}}},
        {"tokenizer_config.json": {"auto_map": {"AutoTokenizer": [None, None]}}, "modules.json": "{ damaged"},
    ],
    ids=str,
)
def test_what_decides_no_number_is_not_named(tmp_path: Path, files: Mapping[str, Any]) -> None:
    folder = save_tiny("bert", tmp_path / "tiny")
    write(folder, files)
    if "modules.json" in files and isinstance(files["modules.json"], str):
        with pytest.raises(CheckpointError, match=r"modules\.json"):
            folder_source("tiny", folder, SETTINGS)
        return
    assert folder_source("tiny", folder, SETTINGS).notices == ()


@pytest.mark.parametrize(
    ("terms", "unread"),
    [("c2p|P2C", False), (["p2c", "c2p"], False), (None, False), (["c2p", "P2C"], True), ("c2p|p2p", True)],
)
def test_terms_of_deberta_that_transformers_does_not_read_are_named(tmp_path: Path, terms: Any, unread: bool) -> None:
    folder = save_tiny("deberta-v2", tmp_path / "tiny")
    write(folder, {"config.json": {"pos_att_type": terms}})
    layer = AutoModel.from_config(AutoConfig.from_pretrained(folder)).encoder.layer[0].attention.self
    assert (not set(layer.pos_att_type) <= {"c2p", "p2c"}) == unread
    assert ["pos_att_type" in notice for notice in folder_source("tiny", folder, SETTINGS).notices] == [True] * unread


@pytest.mark.parametrize("own", [{"is_causal": False}, {"is_causal": True}])
def test_a_config_that_says_which_way_tokens_look_needs_no_such_sentence(tmp_path: Path, own: dict[str, bool]) -> None:
    folder = saved("qwen2", tmp_path / "tiny")
    write(folder, {**SENTENCES, "config.json": {"auto_map": {"AutoModel": "own.OwnModel"}, **own}})
    (sentence,) = folder_source("tiny", folder, SETTINGS).notices
    assert "Qwen2Model." in sentence
    assert "left to right" not in sentence


def test_hostile_names_are_cut_and_escaped(tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "tiny")
    names = [f"\u202ex{number}.Own{'y' * 900}" for number in range(9)]
    write(folder, {"config.json": {"auto_map": {"AutoModel": names, "AutoConfig": 7, "": {"a": 1}}}})
    (sentence,) = folder_source("tiny", folder, SETTINGS).notices
    assert "\u202e" not in sentence
    assert len(sentence) < 800


def nested(folder: Path, model_type: str = "bert", encoder: str = "0_Transformer") -> Path:
    """A folder of sentence-transformers with its encoder in a folder inside it, as its older versions wrote it."""
    save_tiny(model_type, folder / encoder)
    parts = [(f"{LIBRARY}Transformer", encoder), (f"{LIBRARY}Pooling", "1_Pooling"), (f"{LIBRARY}Dense", "2_Dense")]
    write(folder, {**modules(*parts), f"{encoder}/sentence_bert_config.json": {"max_seq_length": 7}})
    write(folder, {"2_Dense/config.json": {"in_features": HIDDEN, "out_features": 5, "bias": True,
                                           "activation_function": "torch.nn.modules.activation.Tanh"}})  # fmt: skip
    numbers = torch.Generator().manual_seed(2)
    weights = {"linear.weight": torch.randn(5, HIDDEN, generator=numbers), "linear.bias": torch.ones(5)}
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    return folder


@pytest.mark.parametrize("encoder", ["0_Transformer", "encoders/0_Transformer", "all/encoders/0_Transformer"])
def test_an_encoder_inside_the_folder_gives_the_vectors_of_the_library(tmp_path: Path, encoder: str) -> None:
    from sentence_transformers import SentenceTransformer

    folder, texts = nested(tmp_path / "tiny", encoder=encoder), ("river bank", "my pet python , my love " * 3)
    expected = SentenceTransformer(str(folder), device="cpu").encode(list(texts))
    opened = OpenedModel(str(folder), SETTINGS)
    found = encoded_by(opened, own_plan(opened), texts).result
    np.testing.assert_allclose(found.vectors, expected, atol=1e-5)
    assert found.truncated.tolist() == [False, True]
    assert not [notice for notice in found.notices if "cut off" not in notice]
    assert parameters(opened, Options()).result.total == sum(
        each.numel() for each in AutoModel.from_pretrained(folder / encoder).parameters()
    )
    alone = OpenedModel(str(folder / encoder), SETTINGS)
    (sentence,) = alone.source.notices
    assert "2 further modules (Pooling, Dense)" in sentence
    assert "open the folder above" in sentence


def test_a_model_with_its_encoder_inside_is_offered_and_opened_below_the_models_folder(tmp_path: Path) -> None:
    nested(tmp_path / "tiny")
    source = resolve("tiny", replace(SETTINGS, models_dir=tmp_path, any_folder=False, allow_hub=False))
    assert source.folder == tmp_path / "tiny" / "0_Transformer"


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("StaticEmbedding", "a static model without model.safetensors"),
        ("SparseStaticEmbedding", "gives each token one weight, which model.safetensors should hold"),
        ("WordEmbeddings", "word vectors"),
        ("BoW", "count of words"),
        ("CLIPModel", "images"),
        ("Router", "is a router of sentence-transformers, and has no router_config.json"),
    ],
)
def test_a_folder_without_an_encoder_says_what_it_is(tmp_path: Path, first: str, words: str) -> None:
    write(tmp_path / "tiny", modules((f"{LIBRARY}{first}", ""), (f"{LIBRARY}Pooling", "1_Pooling")))
    write(tmp_path / "tiny", {"query_0_Transformer/config.json": {"model_type": "bert"}})
    with pytest.raises(BertvizError) as error:
        folder_source("tiny", tmp_path / "tiny", SETTINGS)
    assert words in str(error.value)


def test_model2vec_says_what_it_is(tmp_path: Path) -> None:
    write(tmp_path / "tiny", {"config.json": {"model_type": "model2vec", "architectures": ["StaticModel"]}})
    with pytest.raises(CheckpointError, match="a static model without model.safetensors"):
        folder_source("tiny", tmp_path / "tiny", SETTINGS)


@pytest.mark.parametrize("path", ["../other", "/etc", "a/../../b", "..\\other"])
def test_a_module_outside_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    save_tiny("bert", tmp_path / "other")
    write(tmp_path / "tiny", modules((f"{LIBRARY}Transformer", path)))
    with pytest.raises(CheckpointError, match="leads out of"):
        folder_source("tiny", tmp_path / "tiny", SETTINGS)


def test_a_link_of_an_encoder_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    save_tiny("bert", tmp_path / "other")
    write(tmp_path / "tiny", modules((f"{LIBRARY}Transformer", "0_Transformer")))
    (tmp_path / "tiny" / "0_Transformer").symlink_to(tmp_path / "other")
    with pytest.raises(CheckpointError):
        folder_source("tiny", tmp_path / "tiny", SETTINGS)
