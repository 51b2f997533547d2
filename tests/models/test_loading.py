"""Loading checkpoints: exactly the content of the file, or a refusal with a message.

Covers `bertviz_core/models/local_files.py`.
"""

import dataclasses
import json
import resource
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    ReformerConfig,
    ReformerModel,
    T5EncoderModel,
)
from transformers.utils import logging

from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.models.catalog import BUNDLED
from bertviz_core.models.loading import LoadedModel, copy_tensors, load_model
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.decoders import decoder_config
from tests.helpers.made_traces import tokens_of
from tests.helpers.tiny_models import HIDDEN, LAYERS, TEXT, save_tiny, tiny_config, tiny_model, tiny_tokenizer

SETTINGS = Settings.from_environment()
REFORMER: dict[str, Any] = {
    "hidden_size": 12,
    "attn_layers": ["lsh"],
    "axial_pos_embds": False,
    "num_attention_heads": 2,
    "attention_head_size": 6,
    "feed_forward_size": 14,
    "is_decoder": False,
    "num_buckets": 4,
    "lsh_attn_chunk_length": 4,
    "max_position_embeddings": 32,
    "vocab_size": 37,
}


def load(folder: Path, **options: Any) -> LoadedModel:
    return load_model(folder_source("tiny", folder), SETTINGS, **options)


def hidden(folder: Path, loaded: LoadedModel) -> Any:
    return trace(loaded, tokenize(load_tokenizer(folder_source("tiny", folder), SETTINGS), TEXT)).hidden_states


def rewrite(folder: Path, change: Any) -> None:
    """Change the weights of a folder."""
    tensors = load_file(folder / "model.safetensors")
    save_file(change(tensors), folder / "model.safetensors", metadata={"format": "pt"})


def set_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return save_tiny("bert", tmp_path / "bert")


def test_the_weights_are_the_files(bert: Path) -> None:
    stored, loaded = load_file(bert / "model.safetensors"), load(bert)
    assert loaded.notices == ()
    assert loaded.has_pooler
    assert not loaded.model.training
    own = loaded.model.state_dict()
    assert set(own) == set(stored)
    assert all(torch.equal(own[name], stored[name]) for name in own)


@pytest.mark.parametrize("stored", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("requested_dtype", ["float32", "bfloat16"])
def test_number_format(tmp_path: Path, stored: torch.dtype, requested_dtype: Any) -> None:
    folder = save_tiny("bert", tmp_path, dtype=stored)
    loaded = load(folder) if requested_dtype == "float32" else load(folder, dtype=requested_dtype)
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {getattr(torch, requested_dtype)}
    assert loaded.dtype == requested_dtype
    found = trace(loaded, tokenize(load_tokenizer(folder_source("tiny", folder), SETTINGS), TEXT))
    assert found.dtype == requested_dtype
    assert {array.dtype for array in (found.hidden_states, found.pooler_output, *found.query)} == {np.dtype("float32")}


@pytest.mark.parametrize(
    "name",
    [
        "encoder.layer.0.attention.self.distance_embedding.weight",
        "bert.encoder.layer.0.attention.self.query.weight_scale",
        "embeddings.adapter.weight",
    ],
)
def test_tensors_of_the_base_model_without_a_place_are_told(bert: Path, name: str) -> None:
    rewrite(bert, lambda tensors: {**tensors, name: torch.ones(3)})
    (notice,) = load(bert).notices
    assert "1 tensors of the base model" in notice
    assert f"'{name}'" in notice


def test_an_adapter_beside_the_weights_is_told(bert: Path) -> None:
    (bert / "adapter_config.json").write_text("{}")
    (notice,) = load(bert).notices
    assert "also holds an adapter (adapter_config.json), which is not applied here" in notice


def test_half_an_adapter_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    for config in (None, tiny_config("bert").to_json_string()):
        if config is not None:
            (tmp_path / "config.json").write_text(config)
        with pytest.raises(CheckpointError, match="is half an adapter"):
            load(tmp_path)


def test_random_hashing_has_a_seed(tmp_path: Path) -> None:
    """Kitaev et al. 2020, section 2: tokens are hashed by random rotations; without a seed each run has its own."""
    ReformerModel(ReformerConfig(**REFORMER)).save_pretrained(tmp_path)
    loaded = load(tmp_path)
    assert any("hashes tokens at random; here always with seed 0" in notice for notice in loaded.notices)
    first, second = (trace(loaded, tokens_of(16)).hidden_states for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("auto_class", [AutoModelForMaskedLM, AutoModelForSequenceClassification])
@pytest.mark.parametrize("name", ["bert", "distilbert", "roberta", "albert"])
def test_a_checkpoint_with_a_head_loads_its_base(tmp_path: Path, auto_class: Any, name: str) -> None:
    torch.manual_seed(1)
    model = auto_class.from_config(tiny_config(name))
    model.save_pretrained(tmp_path)
    loaded, base = load(tmp_path), model.base_model.state_dict()
    assert all(torch.equal(value, base[key]) for key, value in loaded.model.state_dict().items())
    assert loaded.has_pooler == (name in ("bert", "albert") and auto_class is AutoModelForSequenceClassification)
    assert loaded.notices == ()


def test_a_missing_pooler_is_no_pooler(bert: Path) -> None:
    whole = hidden(bert, load(bert))
    rewrite(bert, lambda tensors: {name: value for name, value in tensors.items() if not name.startswith("pooler")})
    loaded = load(bert)
    assert not loaded.has_pooler
    assert not any(name.startswith("pooler") for name, _ in loaded.model.named_parameters())
    assert np.array_equal(hidden(bert, loaded), whole)


def test_more_layers_in_the_config_than_in_the_file_are_refused(bert: Path) -> None:
    set_config(bert, num_hidden_layers=LAYERS + 2)
    with pytest.raises(CheckpointError, match="lacks 32 of the 87 tensors"):
        load(bert)


def test_fewer_layers_in_the_config_are_told(bert: Path) -> None:
    set_config(bert, num_hidden_layers=LAYERS - 1)
    loaded = load(bert)
    assert "16 tensors of the base model" in loaded.notices[0]
    assert len(hidden(bert, loaded)) == LAYERS


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "Check num_hidden_layers and model_type"),
        (
            {"auto_map": {"AutoModel": "modeling_other.OtherModel"}},
            r"code of its author's own \(auto_map\), which is never",
        ),
        (
            {"num_experts": 8, "auto_map": {"AutoModel": "m.M"}},
            "num_experts = 8: its layers have experts, which the class",
        ),
        ({"num_experts": 1}, "Check num_hidden_layers"),
        ({"lora_adaptations": ["retrieval.query"], "auto_map": {"AutoModel": "m.M"}}, "jinaai/jina-embeddings-v3-hf"),
        (
            {"n_embd": HIDDEN, "n_layer": LAYERS},
            "n_layer = 3.*BertConfig of transformers does not read.*num_hidden_layers",
        ),
    ],
)
def test_the_cause_of_lacking_tensors_is_named(bert: Path, changes: dict[str, Any], words: str) -> None:
    set_config(bert, num_hidden_layers=LAYERS + 2, **changes)
    with pytest.raises(CheckpointError, match=f"lacks 32 of the 87 tensors.*{words}"):
        load(bert)


def test_sizes_under_other_names_are_named_as_the_cause(bert: Path) -> None:
    config = json.loads((bert / "config.json").read_text())
    config["n_embd"], config["n_layer"] = config.pop("hidden_size"), config.pop("num_hidden_layers")
    (bert / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        CheckpointError, match=r"n_embd = 12, n_layer = 3.*write them as hidden_size, num_hidden_layers\."
    ):
        load(bert)


@pytest.mark.parametrize("name", ["embeddings.word_embeddings.weight", "encoder.layer.1.attention.self.query.weight"])
def test_no_parameter_is_ever_random(bert: Path, name: str) -> None:
    rewrite(bert, lambda tensors: {key: value for key, value in tensors.items() if key != name})
    with pytest.raises(CheckpointError, match=f"lacks 1 of the 55 tensors .*'{name}'"):
        load(bert)


def test_wrong_shapes_are_refused(bert: Path) -> None:
    set_config(bert, intermediate_size=15)
    words = (
        r"do not fit its config: 'encoder.layer.0.intermediate.dense.bias' is \(14,\) in the file and \(15,\) by its"
    )
    with pytest.raises(CheckpointError, match=words):
        load(bert)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_no_numbers_are_told(bert: Path, value: float) -> None:
    def spoil(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        tensors["encoder.layer.1.output.dense.bias"][3] = value
        return tensors

    rewrite(bert, spoil)
    loaded = load(bert)
    assert "1 tensor holds NaN or infinity ('encoder.layer.1.output.dense.bias')" in loaded.notices[0]
    found = trace(loaded, tokenize(load_tokenizer(folder_source("tiny", bert), SETTINGS), TEXT))
    assert np.isfinite(found.hidden_states[:2]).all()
    assert "from entry 2 on" in found.notices[-1]


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    folder = tmp_path / "model"
    tiny_config("bert").save_pretrained(folder)

    class Bomb:
        def __reduce__(self) -> Any:
            return Path.touch, (opened,)

    torch.save({"bomb": Bomb()}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin.*safetensors"):
        load(folder)
    set_config(folder, transformers_weights="pytorch_model.bin")
    with pytest.raises(CheckpointError, match="safetensors"):
        load(folder)
    assert not opened.exists()


def test_a_config_cannot_name_other_weights(bert: Path) -> None:
    whole = hidden(bert, load(bert))
    save_tiny("bert", bert / "other", initializer_range=0.9)
    set_config(bert, transformers_weights="other/model.safetensors", attn_implementation="flash_attention_2")
    assert np.array_equal(hidden(bert, load(bert)), whole)


def test_code_of_a_checkpoint_is_never_run(bert: Path) -> None:
    ran = bert / "ran"
    (bert / "mine.py").write_text(f"open({str(ran)!r}, 'w')\nclass Mine: pass\n")
    set_config(bert, auto_map={"AutoModel": "mine.Mine", "AutoConfig": "mine.Mine"})
    load(bert)
    assert not ran.exists()


def test_one_file_of_another_name_and_shards(bert: Path, tmp_path: Path) -> None:
    whole = hidden(bert, load(bert))
    (bert / "model.safetensors").rename(bert / "weights.safetensors")
    assert np.array_equal(hidden(bert, load(bert)), whole)
    model = tiny_model("bert")
    model.save_pretrained(tmp_path / "sharded", max_shard_size="4KB")
    tiny_tokenizer().save_pretrained(tmp_path / "sharded")
    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 2
    assert np.array_equal(hidden(tmp_path / "sharded", load(tmp_path / "sharded")), whole)


def test_quantized_weights_are_refused(bert: Path) -> None:
    set_config(bert, quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True})
    with pytest.raises(CheckpointError, match="quantized"):
        load(bert)
    set_config(bert, quantization_config=None)
    load(bert)


def test_a_model_too_large_for_the_instance_is_refused(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = sum(value.numel() for value in load_file(bert / "model.safetensors").values())
    source = folder_source("tiny", bert)
    monkeypatch.setenv("INSIDE_BERT_MAX_MODEL_BYTES", str(4 * numbers - 1))
    with pytest.raises(CheckpointError, match=f"need {4 * numbers:,} bytes"):
        load_model(source, Settings.from_environment())
    load_model(source, Settings.from_environment(), dtype="bfloat16")
    monkeypatch.setenv("INSIDE_BERT_MAX_MODEL_BYTES", str(4 * numbers))
    load_model(source, Settings.from_environment())


def test_the_bundled_weights_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    source = resolve("all-MiniLM-L6-v2", SETTINGS)
    assert sum(weight.numel() for weight in load_model(source, SETTINGS).model.parameters()) == 22_713_216
    row = BUNDLED[source.name]
    wrong = dataclasses.replace(row, digests={**row.digests, "model.safetensors": "0" * 64})
    monkeypatch.setattr("bertviz_core.models.catalog.BUNDLED", {**BUNDLED, source.name: wrong})
    with pytest.raises(CheckpointError, match="SHA-256"):
        load_model(source, SETTINGS)


def test_a_model_without_weights_says_what_can_be_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(CheckpointError, match="not on this machine; .*bert-base-uncased.*all-MiniLM-L6-v2"):
        load_model(resolve("bert-base-uncased", SETTINGS), SETTINGS)
    tiny_config("bert").save_pretrained(tmp_path / "bare")
    with pytest.raises(CheckpointError, match="no safetensors file"):
        load(tmp_path / "bare")


def test_a_catalogue_model_in_the_hubs_cache_is_loaded_from_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, commit = resolve("google/bert_uncased_L-2_H-128_A-2", SETTINGS), "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / f"models--{str(source.hub_id).replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    torch.manual_seed(0)
    snapshot = repository / "snapshots" / commit
    model = tiny_model("bert", **{key: source.config[key] for key in ("hidden_size", "num_hidden_layers", "vocab_size",
                       "num_attention_heads", "intermediate_size", "max_position_embeddings")})  # fmt: skip
    model.save_pretrained(snapshot)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    loaded = load_model(source, SETTINGS)
    assert loaded.revision == commit
    assert all(torch.equal(value, model.state_dict()[key]) for key, value in loaded.model.state_dict().items())


def test_of_an_encoder_decoder_model_only_the_encoder_is_needed(tmp_path: Path) -> None:
    torch.manual_seed(0)
    T5EncoderModel(tiny_config("t5")).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    loaded = load(tmp_path)
    assert not any("decoder" in name for name, _ in loaded.model.named_parameters())
    assert hidden(tmp_path, loaded).shape[::2] == (LAYERS + 1, HIDDEN)


def test_nothing_is_asked_of_the_network(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a request")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    hidden(bert, load(bert))


def test_loads_side_by_side_do_not_mix_and_leave_the_library_as_it_was(tmp_path: Path) -> None:
    names = ("bert", "roberta", "modernbert", "t5") * 2
    folders = [save_tiny(name, tmp_path / str(index)) for index, name in enumerate(names)]
    level, dtype = logging.get_verbosity(), torch.get_default_dtype()
    bars = logging.is_progress_bar_enabled()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(load, folders))
    for name, loaded in zip(names, together, strict=True):
        own = tiny_model(name).state_dict()
        assert all(torch.equal(value, own[key if key in own else f"encoder.{key}"])
                   for key, value in loaded.model.state_dict().items())  # fmt: skip
    assert (logging.get_verbosity(), torch.get_default_dtype()) == (level, dtype)
    assert logging.is_progress_bar_enabled() == bars


def test_a_model_is_built_while_the_weights_of_another_are_read(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, may_go_on = Event(), Event()

    def read(*_: object) -> None:
        reading.set()
        assert may_go_on.wait(60)

    monkeypatch.setattr("bertviz_core.models.loading.copy_tensors", read)
    with ThreadPoolExecutor(2) as pool:
        long = pool.submit(load, bert)
        try:
            assert reading.wait(60)
            built = pool.submit(build_skeleton, "other", tiny_config("roberta").to_dict())
            assert sum(value.numel() for value in built.result(60).parameters()) > 0
        finally:
            may_go_on.set()
        assert long.result(60).num_hidden_layers == LAYERS


def test_weights_that_are_written_over_while_they_are_loaded_end_nothing(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accessing a memory map of a truncated file would end the process."""
    expected = load(bert).model.state_dict()

    def cut_and_copy(*arguments: Any) -> None:
        (bert / "model.safetensors").write_bytes(b"")
        copy_tensors(*arguments)

    monkeypatch.setattr("bertviz_core.models.loading.copy_tensors", cut_and_copy)
    loaded = load(bert).model.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in loaded.items())


def test_a_model_is_where_the_settings_say(bert: Path) -> None:
    loaded = load_model(folder_source("tiny", bert), dataclasses.replace(SETTINGS, device="cpu"))
    assert loaded.device == "cpu"
    assert {tensor.device.type for tensor in (*loaded.model.parameters(), *loaded.model.buffers())} == {"cpu"}
    with pytest.raises(
        BertvizError, match=r"INSIDE_BERT_DEVICE is set to 'cuda:99', which is not there: torch .*finds"
    ):
        load_model(folder_source("tiny", bert), dataclasses.replace(SETTINGS, device="cuda:99"))


def test_a_config_that_asks_for_far_more_than_its_files_hold_takes_no_memory(bert: Path) -> None:
    set_config(bert, vocab_size=50_000_000)
    before = max_rss()
    with pytest.raises(CheckpointError, match="numbers, its files hold"):
        load(bert)
    assert max_rss() - before < 100 * 1024**2


def max_rss() -> int:
    """Peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("model_type", ["llama", "qwen2"])
def test_a_base_model_that_its_class_calls_otherwise_is_found(model_type: str, tmp_path: Path) -> None:
    """A question answering class whose base model is named `transformer`."""
    torch.manual_seed(0)
    whole = AutoModelForQuestionAnswering.from_config(decoder_config(model_type)).eval()
    whole.save_pretrained(tmp_path)
    base = load(tmp_path).model.state_dict()
    own = {name: value for name, value in whole.state_dict().items() if name.startswith("transformer.")}
    assert {f"transformer.{name}" for name in base} == set(own)
    assert all(torch.equal(value, own[f"transformer.{name}"]) for name, value in base.items())


@pytest.mark.parametrize("stored", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("named", [None, "float16", "float32"])
def test_another_format_than_that_of_transformers_is_said(stored: str, named: str | None, tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path)
    model = AutoModel.from_pretrained(folder).to(getattr(torch, stored))
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    config = {key: value for key, value in config.items() if key not in ("dtype", "torch_dtype")}
    (folder / "config.json").write_text(json.dumps(config | ({} if named is None else {"dtype": named})))
    default = str(AutoModel.from_pretrained(folder).dtype).removeprefix("torch.")
    notices = [each for each in load_model(folder_source("tiny", folder), SETTINGS).notices if "`dtype`" in each]
    assert [f"runs it in {default} unless" in each for each in notices] == [True] * (default != "float32")
