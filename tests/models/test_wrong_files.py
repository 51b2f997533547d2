"""A file of a model's folder that is of another kind gets one sentence, in words about the file and not of Python.

Covers `bertviz_core/isolation/regular_files.py`, `bertviz_core/models/skeleton.py`,
`bertviz_core/models/safetensors/folder.py`, `bertviz_core/predictions/run.py`.
"""

import itertools
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from bertviz_core.checkpoints.training.log import read_state
from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.models import skeleton
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.loading import load_model
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.models.sources import folder_source
from bertviz_core.predictions.run import load_head
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.tiny_models import save_tiny

SETTINGS = Settings.from_environment()
PYTHON = re.compile(
    r"indices|has no attribute|NoneType|subscriptable|unhashable|expected str\b|object is|iterable|keyword argument"
    r"|literal for|out of range|'int'|'str'|'list'|'dict'|Traceback|KeyError|TypeError"
)
KINDS: dict[str, Any] = {
    "null": None, "true": True, "a whole number": 7, "a number": -1.5, "a text": "text", "an empty list": [],
    "a list of numbers": [7], "a list of texts": ["a"], "an empty object": {}, "an object": {"a": 7},
    "nested lists": [[[[]]]], "a list of objects": [{"type": 7, "path": []}], "a list of null": [None],
}  # fmt: skip
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n"
JSON_FILES = (
    "config.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "trainer_state.json",
    "config_sentence_transformers.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "model.safetensors.index.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence encoder with all its files, split in shards."""
    folder = save_tiny("bert", tmp_path_factory.mktemp("wrong"))
    for name in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling"):
        source = bundled_folder() / name
        shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy(source, folder / name)
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    hidden = json.loads((folder / "config.json").read_text())["hidden_size"]
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({**pooling, "word_embedding_dimension": hidden}))
    for name in ("special_tokens_map.json", "added_tokens.json"):
        (folder / name).write_text("{}")
    stored = {tensor.name: "shard.safetensors" for tensor in read_header(folder).tensors}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": stored}))
    shutil.move(folder / "model.safetensors", folder / "shard.safetensors")
    (folder / "trainer_state.json").write_text(
        json.dumps({"global_step": 2, "log_history": [{"step": 1, "loss": 1.5}]})
    )
    return folder


def opened(folder: Path) -> None:
    """Everything that reads a file of the folder."""
    source = folder_source("wrong", folder)
    loaded = load_model(source, SETTINGS)
    tokenizer = load_tokenizer(source, SETTINGS)
    sentence_vectors(loaded, tokenizer, ("a river",), recommended(source, SETTINGS))
    read_state(folder)


def changed(text: str, kind: Any) -> Iterator[str]:
    """A file with this value in its place, and in the place of each of its values."""
    yield json.dumps(kind)
    whole = json.loads(text)
    if isinstance(whole, list):
        yield from (json.dumps([{**whole[0], key: kind}, *whole[1:]]) for key in whole[0])
    else:
        yield from (json.dumps({**whole, key: kind}) for key in whole)


def check_sentence(folder: Path) -> str:
    """The sentence about the folder; "" if it is opened."""
    try:
        opened(folder)
    except BertvizError as error:
        sentence = str(error)
    else:
        sentence = ""
    assert not PYTHON.search(sentence)
    assert "\n" not in sentence
    return sentence


@pytest.mark.sample(12)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", JSON_FILES)
def test_a_file_of_another_kind_gets_a_sentence(whole: Path, tmp_path: Path, name: str, kind: str) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "model"))
    for content in changed((whole / name).read_text(encoding="utf-8"), KINDS[kind]):
        (folder / name).write_text(content, encoding="utf-8")
        check_sentence(folder)


@pytest.mark.parametrize("name", [*JSON_FILES, "shard.safetensors"])
def test_a_pointer_of_git_lfs_is_called_one(whole: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "model"))
    (folder / name).write_text(POINTER)
    assert f"{name!r} is a pointer of Git LFS and not the file itself; fetch that with git lfs pull" in check_sentence(
        folder
    )
    for broken in ("[" * 3_000, "", "{"):
        if name.endswith(".json"):
            (folder / name).write_text(broken)
            assert name in check_sentence(folder)


BERT = {
    "model_type": "bert", "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 14,
    "vocab_size": 19, "max_position_embeddings": 29,
}  # fmt: skip


@pytest.mark.parametrize(
    ("family", "entries", "key"),
    [
        ("bert", {"dtype": "float8_e4m3fn"}, "dtype"),
        ("bert", {"dtype": "float99"}, "dtype"),
        ("bert", {"torch_dtype": "int8"}, "torch_dtype"),
        ("bert", {"hidden_act": "mish2"}, "hidden_act"),
        ("albert", {"hidden_act": "mish2"}, "hidden_act"),
        ("electra", {"hidden_act": ""}, "hidden_act"),
        ("distilbert", {"activation": "mish2"}, "activation"),
        ("distilbert", {"dim": 25, "n_heads": 3, "hidden_size": 768}, "dim"),
        ("bert", {"hidden_size": 0}, "hidden_size"),
        ("bert", {"hidden_size": 14}, "hidden_size"),
        ("bert", {"hidden_size": None}, "hidden_size"),
        ("bert", {"layer_norm_eps": "1e-12"}, "layer_norm_eps"),
        ("bert", {"layer_norm_eps": -1}, "layer_norm_eps"),
        ("bert", {"hidden_dropout_prob": 2.0}, "hidden_dropout_prob"),
        ("bert", {"pad_token_id": 100}, "pad_token_id"),
        ("bert", {"id2label": {"x": "a"}}, "id2label"),
        ("bert", {"architectures": [["A"]]}, "architectures"),
    ],
)
def test_the_wrong_entry_of_a_config_is_named(family: str, entries: dict[str, Any], key: str) -> None:
    config = {**BERT, "model_type": family, **entries}
    if family == "distilbert":
        config = {name: value for name, value in config.items() if "hidden_" not in name and "num_" not in name}
    with pytest.raises(BertvizError) as refused:
        build_skeleton("wrong", config)
    assert f"as {key!r}" in str(refused.value)
    assert not PYTHON.search(str(refused.value))


def test_the_search_for_a_wrong_entry_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two entries are wrong, so that none can be found by leaving out one; each clock reading is a second later."""
    built: list[str] = []
    model_config = skeleton.model_config

    def counted(name: str, config: Mapping[str, Any]) -> Any:
        built.append(name)
        return model_config(name, config)

    monkeypatch.setattr(skeleton, "model_config", counted)
    monkeypatch.setattr(skeleton, "thread_time", partial(next, itertools.count()))
    with pytest.raises(CheckpointError, match="No bert model can be built"):
        build_skeleton("wrong", {**BERT, "hidden_act": "mish2", "hidden_size": 14, **dict.fromkeys("abcdefghijkl", 1)})
    assert 1 < len(built) <= 1 + skeleton.SEARCH_S


CLASSES: dict[str, Any] = {
    "BertForMaskedLM": "masked-lm",
    "BertForSequenceClassification": "sequence-classification",
    "BertForQuestionAnswering": "question-answering",
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_head_that_the_config_does_not_name_is_named_by_the_file(tmp_path: Path, name: str) -> None:
    model = getattr(transformers, name)(transformers.BertConfig(**{**BERT, "num_labels": 3}))
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": None}))
    with pytest.raises(BertvizError) as refused:
        load_head(folder_source("bare", tmp_path), SETTINGS)
    tasks = re.findall(
        "masked-lm|sequence-classification|token-classification|question-answering|next-sentence", str(refused.value)
    )
    assert CLASSES[name] in tasks
    assert len(set(tasks)) <= 2  # a classifier of texts and one of tokens have the same names


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"id2label": {"0": "a", "1": "b"}, "num_labels": 3}, "num_labels is 3 and id2label names 2 labels"),
        ({"id2label": {"0": "a", "1": "b", "3": "c"}}, "id2label in config.json lacks the number 2"),
        ({"label2id": {"a": 0, "b": 2, "c": 1}}, "contradict each other: 'b' is 2 in label2id"),
        ({"id2label": {"0": "a", "1": "b"}}, "has 3 labels, and 2 are expected, by id2label in config.json"),
        ({"id2label": None}, "has 3 labels, and 2 are expected, by id2label in config.json"),
    ],
)
def test_labels_that_do_not_fit_are_told_by_their_key(tmp_path: Path, labels: dict[str, Any], words: str) -> None:
    names = dict(enumerate("abc"))
    configured = transformers.BertConfig(
        **BERT, id2label=names, label2id={name: place for place, name in names.items()}
    )
    transformers.BertForSequenceClassification(configured).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **labels}))
    try:
        told = " ".join(load_head(folder_source("labels", tmp_path), SETTINGS).notices)
    except BertvizError as error:
        told = str(error)
    assert words in told


def test_the_advice_for_pickled_weights_works(tmp_path: Path) -> None:
    configured = transformers.BertConfig(**BERT, num_labels=3)
    model = transformers.BertForSequenceClassification(configured)
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(BertvizError, match="pytorch_model.bin, a format that can run code") as refused:
        load_model(folder_source("pickled", tmp_path), SETTINGS)
    advice = re.search(r"(\w+)\.from_pretrained\(FOLDER\)\.save_pretrained\(FOLDER\)", str(refused.value))
    assert advice
    getattr(transformers, advice[1]).from_pretrained(tmp_path).save_pretrained(tmp_path)
    head = load_head(folder_source("pickled", tmp_path), SETTINGS)
    assert torch.equal(head.model.classifier.weight, model.classifier.weight)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tf_model.h5", "BertModel.from_pretrained(FOLDER, from_tf=True)"),
        ("flax_model.msgpack", "BertModel.from_pretrained(FOLDER, from_flax=True)"),
        ("model.onnx", "BertModel.from_pretrained(CHECKPOINT)"),
        ("model.gguf", "a file for llama.cpp"),
    ],
)
def test_other_formats_get_advice_that_transformers_follows(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**BERT, "architectures": ["BertModel"]}))
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(BertvizError, match=re.escape(words)) as refused:
        load_model(folder_source("other", tmp_path), SETTINGS)
    assert ('"transformers<5"' in str(refused.value)) == (name in ("tf_model.h5", "flax_model.msgpack"))
