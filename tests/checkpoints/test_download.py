"""Downloads from a small local Hub: selection of files, progress, cancellation, continuation, refusals."""

import dataclasses
import errno
import json
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest
from transformers import BertConfig, BertModel

from bertviz_core.checkpoints.download import download, needed_files
from bertviz_core.errors import CheckpointError, HubError, MissingFilesError, ModelNotFoundError, SupersededError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.hub_server import COMMIT, Hub, running_hub
from tests.helpers.written_adapters import write_adapter

WANTED = {
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "modules.json",
    "1_Pooling/config.json",
}
UNWANTED = {"README.md", "pytorch_model.bin", "onnx/model.onnx", "modeling_own.py"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A Hub with one tiny BERT that has all kinds of files of a repository."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with running_hub() as running:
        running.repositories["lab/tiny"] = repository(tmp_path)
        yield running


def repository(tmp_path: Path) -> dict[str, bytes]:
    """Files of a tiny BERT on the Hub: the needed ones, and more."""
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
    BertModel(BertConfig(vocab_size=30522, **sizes)).save_pretrained(tmp_path / "made")
    files = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    files |= {name: (bundled_folder() / name).read_bytes() for name in ("tokenizer.json", "tokenizer_config.json")}
    return files | {"modules.json": b"[]", "1_Pooling/config.json": b"{}"} | dict.fromkeys(UNWANTED, b"unwanted")


@pytest.fixture
def online(settings: Settings, hub: Hub) -> Settings:
    return dataclasses.replace(settings, allow_hub=True, hub_endpoint=hub.endpoint)


def nothing(done: int, total: int) -> None:
    """Ignore progress."""


def test_what_runs_a_model_is_fetched_and_no_more(online: Settings, hub: Hub) -> None:
    source = resolve("lab/tiny", online)
    with pytest.raises(MissingFilesError, match="lab/tiny") as missing:
        load_model(source, online)
    assert missing.value.model == "lab/tiny"
    files = needed_files(source, online)
    assert {file.name for file in files.files} == WANTED
    assert files.nbytes == sum(len(hub.repositories["lab/tiny"][name]) for name in WANTED)
    hub.served.clear()
    calls: list[tuple[int, int]] = []
    folder = download(files, online, lambda done, total: calls.append((done, total)))
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == WANTED
    assert calls[0] == (0, files.nbytes)
    assert calls[-1] == (files.nbytes, files.nbytes)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert not [path for path, size in hub.served if size and any(path.endswith(name) for name in UNWANTED)]


@pytest.mark.slow
def test_afterwards_the_model_runs_without_a_request(online: Settings, hub: Hub) -> None:
    download(needed_files(resolve("lab/tiny", online), online), online, nothing)
    hub.served.clear()
    source = resolve("lab/tiny", online)
    assert (source.kind, source.revision, source.has_weights) == ("cache", COMMIT, True)
    assert load_model(source, online).num_hidden_layers == 2
    assert tokenize(load_tokenizer(source, online), "python").tokens == ("[CLS]", "python", "[SEP]")
    assert hub.served == []


def test_a_catalogue_model_is_fetched_from_its_repository(online: Settings, hub: Hub) -> None:
    source = resolve("bert-tiny", online)
    assert source.hub_id is not None
    hub.repositories[source.hub_id] = hub.repositories["lab/tiny"]
    with pytest.raises(MissingFilesError):
        load_model(source, online)
    assert not source.has_weights
    download(needed_files(source, online), online, nothing)
    assert resolve("bert-tiny", online).has_weights
    assert tokenize(load_tokenizer(source, online), "python").tokens == ("[CLS]", "python", "[SEP]")


def test_an_adapter_is_fetched_and_then_its_base(online: Settings, hub: Hub, tmp_path: Path) -> None:
    base = download(needed_files(resolve("lab/tiny", online), online), online, nothing)
    adapter = write_adapter(tmp_path / "lora", "lab/other", base)
    hub.repositories["lab/lora"] = {path.name: path.read_bytes() for path in adapter.iterdir()}
    hub.repositories["lab/other"] = hub.repositories["lab/tiny"]
    source = resolve("lab/lora", online)
    assert (source.kind, source.has_weights, source.config["model_type"]) == ("hub", False, "bert")
    hub.served.clear()
    assert resolve("lab/lora", online).revision == COMMIT
    assert hub.served == []
    with pytest.raises(MissingFilesError, match="lab/lora"):
        load_model(source, online)
    files = needed_files(source, online)
    assert {file.name for file in files.files} == {"adapter_config.json", "adapter_model.safetensors"}
    download(files, online, nothing)
    with pytest.raises(MissingFilesError) as missing:
        load_model(resolve("lab/lora", online), online)
    assert missing.value.model == "lab/other"
    download(needed_files(resolve("lab/other", online), online), online, nothing)
    source = resolve("lab/lora", online)
    assert (source.kind, source.has_weights) == ("cache", True)
    merged, plain = (load_model(resolve(name, online), online).model for name in ("lab/lora", "lab/other"))
    name = "encoder.layer.1.attention.self.query.weight"
    assert not merged.get_parameter(name).equal(plain.get_parameter(name))


def test_shards_come_with_their_index(online: Settings, hub: Hub, tmp_path: Path) -> None:
    BertModel(BertConfig(vocab_size=99, hidden_size=8, num_hidden_layers=2, num_attention_heads=2)).save_pretrained(
        tmp_path / "shards", max_shard_size="20KB"
    )
    hub.repositories["lab/shards"] = {path.name: path.read_bytes() for path in (tmp_path / "shards").iterdir()}
    names = {file.name for file in needed_files(resolve("lab/shards", online), online).files}
    assert names == set(hub.repositories["lab/shards"])
    assert len(names) > 3


def test_a_download_ends_where_it_is_told_to_and_leaves_nothing_that_looks_whole(online: Settings, hub: Hub) -> None:
    files = needed_files(resolve("lab/tiny", online), online)

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise SupersededError

    with pytest.raises(SupersededError):
        download(files, online, stop)
    assert not resolve("lab/tiny", online).has_weights
    download(files, online, nothing)
    assert resolve("lab/tiny", online).has_weights


def test_half_a_file_is_never_taken_for_a_whole_one(
    online: Settings, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    files = needed_files(resolve("lab/tiny", online), online)
    hub.cut = len(hub.repositories["lab/tiny"]["model.safetensors"]) // 2
    with pytest.raises(HubError, match=r"broke off while it sent model\.safetensors"):
        download(files, online, nothing)
    assert not resolve("lab/tiny", online).has_weights
    hub.cut = None
    download(files, online, nothing)
    assert load_model(resolve("lab/tiny", online), online).num_hidden_layers == 2


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "no room on the disk"), (errno.EROFS, "HF_HOME")])
def test_a_disk_that_takes_no_more_is_named(
    online: Settings, hub: Hub, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    files = needed_files(resolve("lab/tiny", online), online)

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(number, "made")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", full)
    with pytest.raises(HubError, match=words):
        download(files, online, nothing)


def test_what_cannot_be_fetched_is_said_before(online: Settings, hub: Hub) -> None:
    source = resolve("lab/tiny", online)
    with pytest.raises(HubError, match="switched off"):
        needed_files(source, dataclasses.replace(online, allow_hub=False))
    with pytest.raises(CheckpointError, match="INSIDE_BERT_MAX_MODEL_BYTES"):
        needed_files(source, dataclasses.replace(online, max_model_bytes=1000))
    with pytest.raises(CheckpointError, match="does not come from the Hub"):
        needed_files(dataclasses.replace(source, hub_id=None), online)
    config = json.dumps({"model_type": "bert"}).encode()
    hub.repositories["lab/pickled"] = {"config.json": config, "pytorch_model.bin": b"\x80"}
    with pytest.raises(CheckpointError, match="pytorch_model.bin, a format that can run code"):
        needed_files(resolve("lab/pickled", online), online)
    hub.repositories["lab/bare"] = {"config.json": config}
    with pytest.raises(CheckpointError, match="no weights at all"):
        needed_files(resolve("lab/bare", online), online)
    del hub.repositories["lab/tiny"]
    with pytest.raises(ModelNotFoundError, match="lab/tiny"):
        needed_files(source, online)
