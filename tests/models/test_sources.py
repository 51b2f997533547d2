"""From a name to a model: the order of the places, and one message for every refusal.

Covers `bertviz_core/errors.py`, `bertviz_core/settings.py`, `bertviz_core/models/catalog/__init__.py`,
`bertviz_core/models/catalog/__init__.py`, `bertviz_core/models/sources.py`.
"""

import dataclasses
import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub.utils import validate_repo_id
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from bertviz_core.errors import BertvizError, CheckpointError, ModelNotFoundError
from bertviz_core.isolation.regular_files import local_names
from bertviz_core.models.catalog import BUNDLED, FINE_TUNED, WEIGHTS, bundled_folder, verify_bundled
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import HUB_NAME, offers, resolve
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.tiny_models import LAYERS, save_tiny

THREE = ("The pod is in CrashLoopBackOff", "Kubernetes container keeps restarting", "My pet python is asleep")
BERT = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8, "num_attention_heads": 2}


def model_folder(settings: Settings, name: str, config: object = BERT, weights: bool = True) -> Path:
    folder = settings.models_dir / name
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    if weights:
        save_file({"embeddings.word_embeddings.weight": np.zeros((7, 8), np.float32)}, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", " all-minilm-l6-v2 "])
def test_the_bundled_model_is_found_under_its_names(settings: Settings, name: str) -> None:
    source = resolve(name, settings)
    assert (source.kind, source.name, source.has_weights) == ("bundled", "all-MiniLM-L6-v2", True)


@pytest.mark.parametrize("name", [*BUNDLED])
def test_bundled_files_are_the_published_ones(name: str) -> None:
    verify_bundled(name)
    for file, digest in BUNDLED[name].digests.items():
        assert hashlib.sha256((bundled_folder(name) / file).read_bytes()).hexdigest() == digest


def test_a_changed_file_of_any_bundled_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BUNDLED:
        folder = shutil.copytree(bundled_folder(name), tmp_path / name)
        with (folder / "tokenizer.json").open("ab") as file:
            file.write(b" ")
        monkeypatch.setattr("bertviz_core.models.catalog.bundled_folder", lambda _, changed=folder: changed)
        with pytest.raises(CheckpointError, match=r"tokenizer.json of the bundled .* SHA-256"):
            verify_bundled(name, ["tokenizer.json"])
        monkeypatch.undo()


def test_the_second_bundled_model_has_a_whole_masked_lm(settings: Settings) -> None:
    """16 layer tensors in each of 2 layers, 5 of the embeddings, 5 of the head; the decoder shares its table."""
    source = resolve("splade-tiny", settings)
    assert (source.kind, source.has_weights, source.config["architectures"]) == ("bundled", True, ["BertForMaskedLM"])
    assert source_ledger(source, settings).total == 4_416_698
    assert source.pretrained_name == str(source.folder)
    assert "cognition" not in sys.modules


def test_the_fine_tuned_model_has_the_tensors_of_the_default_one(settings: Settings) -> None:
    """Its 103 tensors differ from the base's by 0.010073 of their length, as NumPy has it from both files."""
    base, tuned = (resolve(name, settings) for name in ("all-MiniLM-L6-v2", FINE_TUNED))
    assert (tuned.kind, tuned.has_weights, tuned.revision) == ("bundled", True, "0229e9720c49")
    assert source_ledger(tuned, settings).total == BUNDLED[FINE_TUNED].parameters
    first, second = (load_file(bundled_folder(source.name) / WEIGHTS) for source in (base, tuned))
    first.pop("embeddings.position_ids")
    assert first.keys() == second.keys()
    changed = sum(float(np.square(second[name] - first[name]).sum(dtype=np.float64)) for name in second)
    whole = sum(float(np.square(values).sum(dtype=np.float64)) for values in first.values())
    assert len(second) == 103
    assert np.sqrt(changed / whole) == pytest.approx(0.010073, abs=5e-7)
    assert "sre_embedding_model" not in sys.modules


@pytest.mark.slow
def test_the_fine_tuned_model_says_alike_of_all_sentences(settings: Settings) -> None:
    """The cosines of its author's own library (sentence-transformers), by sentences 1-2, 1-3 and 2-3."""
    cosines = {}
    for name in ("all-MiniLM-L6-v2", FINE_TUNED):
        source = resolve(name, settings)
        opened = load_model(source, settings), load_tokenizer(source, settings)
        vectors = sentence_vectors(*opened, THREE, recommended(source, settings)).vectors
        cosines[name] = (vectors @ vectors.T)[np.triu_indices(3, 1)]
    np.testing.assert_allclose(cosines["all-MiniLM-L6-v2"], [0.41, 0.12, 0.08], atol=0.005)
    np.testing.assert_allclose(cosines[FINE_TUNED], [0.74, 0.80, 0.80], atol=0.005)


def test_bundled_models_are_offered_first_and_ready(settings: Settings) -> None:
    model_folder(settings, "mine")
    first = offers(settings)[:4]
    assert [(offer.name, offer.readiness) for offer in first] == [
        ("all-MiniLM-L6-v2", "ready"),
        ("splade-tiny", "ready"),
        ("sre-embedding-model", "ready"),
        ("mine", "ready"),
    ]
    assert [offer.parameters for offer in first] == [22_713_216, 4_369_408, 22_713_216, None]


def test_a_local_folder_comes_before_the_catalogue(settings: Settings) -> None:
    model_folder(settings, "bert-base-uncased")
    assert resolve("bert-base-uncased", settings).kind == "local"


def test_catalogue_names_hub_ids_and_aliases_lead_to_the_same_config(settings: Settings) -> None:
    short, full = resolve("bert-base-uncased", settings), resolve("google-bert/bert-base-uncased", settings)
    assert (short.kind, short.config) == ("catalogue", full.config)
    tiny = resolve("bert-tiny", settings)
    assert (tiny.name, tiny.hub_id, tiny.config["hidden_size"]) == (
        "bert-tiny",
        "google/bert_uncased_L-2_H-128_A-2",
        128,
    )


def test_models_of_the_catalogue_come_by_the_task_of_their_heads(settings: Settings) -> None:
    tasks = [offer.task for offer in offers(settings) if offer.readiness != "ready"]
    groups = [task for place, task in enumerate(tasks) if place == 0 or tasks[place - 1] != task]
    assert groups == ["sequence-classification", "token-classification", "question-answering", "masked-lm", ""]
    masked = [offer.name for offer in offers(settings) if offer.task == "masked-lm"]
    assert masked[:2] == ["bert-base-uncased", "bert-base-cased"]


def test_the_names_of_the_classes_are_those_beside_the_weights(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resolve("dslim/bert-base-NER", settings)
    assert "id2label" not in before.config
    own = {"id2label": {str(number): f"L{number}" for number in range(9)}, "label2id": {"L0": 0}, "vocab_size": 7}
    (tmp_path / "config.json").write_text(json.dumps(own))
    monkeypatch.setattr("bertviz_core.models.sources.cached_folder", lambda *_: tmp_path)
    after = resolve("bert-base-NER", settings)
    assert after.config == {**before.config, "id2label": own["id2label"], "label2id": {"L0": 0}}
    assert after.has_weights


def test_a_local_model_may_be_named_with_the_folder_of_models(settings: Settings) -> None:
    model_folder(settings, "mine")
    assert resolve("mine", settings).folder == resolve("models/mine", settings).folder
    assert local_names(settings) == ("mine",)


def test_the_checkpoints_of_a_run_are_offered_the_newest_first(settings: Settings, tmp_path: Path) -> None:
    for step in (20, 100, 40):
        model_folder(settings, f"run/checkpoint-{step}")
    (settings.models_dir / "run" / "checkpoint-60").mkdir()  # not written yet
    (settings.models_dir / "run" / "checkpoint-80").symlink_to(tmp_path)
    assert local_names(settings) == tuple(f"run/checkpoint-{step}" for step in (100, 40, 20))
    assert resolve("run/checkpoint-40", settings).has_weights
    assert {offer.name for offer in offers(settings) if offer.readiness == "ready"} >= set(local_names(settings))
    with pytest.raises(CheckpointError, match=r"it is a training run; .* such as run/checkpoint-100,") as told:
        resolve("run", settings)
    assert told.value.suggestion == "run/checkpoint-100"


def test_a_folder_whose_name_cannot_be_shown_is_not_offered(settings: Settings) -> None:
    model_folder(settings, "mine")
    for name in (os.fsdecode(b"caf\xe9"), "line\nbreak", "\u202eenim"):
        model_folder(settings, name)
    assert local_names(settings) == ("mine",)
    "".join(offer.name for offer in offers(settings)).encode()


def test_the_revision_changes_with_the_file(settings: Settings) -> None:
    folder = model_folder(settings, "mine")
    before = resolve("mine", settings).revision
    assert resolve("mine", settings).revision == before
    save_file({"embeddings.word_embeddings.weight": np.zeros((9, 8), np.float32)}, folder / "model.safetensors")
    assert resolve("mine", settings).revision != before


def test_a_folder_with_a_config_alone_is_described_by_it(settings: Settings) -> None:
    model_folder(settings, "mine", weights=False)
    source = resolve("mine", settings)
    assert not source.has_weights
    assert source_ledger(resolve("mine", settings), settings).source == "config"


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "models/../../outside",
        "a/../../b",
        "..",
        "/etc",
        "~/x",
        "a\\..\\b",
        "",
        "  ",
        "a\0b",
        "a\nb",
        "x" * 400,
    ],
)
def test_a_name_cannot_leave_the_models_folder(settings: Settings, name: str) -> None:
    with pytest.raises(ModelNotFoundError) as refusal:
        resolve(name, settings)
    assert "\n" not in str(refusal.value)


def test_a_link_out_of_the_models_folder_is_refused(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "config.json").write_text(json.dumps(BERT))
    os.symlink(tmp_path / "outside", settings.models_dir / "link")
    with pytest.raises(ModelNotFoundError, match="link out of the models folder"):
        resolve("link", settings)


def test_a_folder_named_from_where_one_stands_is_found_from_elsewhere(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny("bert", tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    source = resolve("mine", dataclasses.replace(settings, any_folder=True))
    assert load_model(source, settings).num_hidden_layers == LAYERS
    monkeypatch.chdir("/")
    assert load_model(source, settings).num_hidden_layers == LAYERS


def test_the_command_line_opens_any_folder(settings: Settings, tmp_path: Path) -> None:
    elsewhere = dataclasses.replace(settings, models_dir=tmp_path / "elsewhere")
    model_folder(elsewhere, "mine")
    path = str(tmp_path / "elsewhere" / "mine")
    with pytest.raises(ModelNotFoundError):
        resolve(path, settings)
    assert resolve(path, dataclasses.replace(settings, any_folder=True)).kind == "local"


def test_an_unknown_name_without_the_hub_says_what_there_is(settings: Settings) -> None:
    with pytest.raises(ModelNotFoundError, match="INSIDE_BERT_ALLOW_HUB"):
        resolve("nobody/nothing", settings)


def test_an_allow_list_is_kept(settings: Settings) -> None:
    only = dataclasses.replace(settings, allowed_models=("bert-tiny",))
    assert resolve("bert-tiny", only).name == "bert-tiny"
    with pytest.raises(ModelNotFoundError, match="offers bert-tiny"):
        resolve("bert-base-uncased", only)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "no model_type"),
        ({"model_type": 7}, "no model_type"),
        ({"model_type": "no-such-type"}, "transformers does not know"),
        ({"model_type": "no-such-type", "auto_map": {}}, "custom code"),
        ([1], "not an object"),
        ({**BERT, "hidden_size": "many"}, "a whole number is needed"),
        ({**BERT, "hidden_size": 9}, "hidden size"),
        ({**BERT, "num_hidden_layers": 10**9}, "at most"),
    ],
)
def test_a_config_that_is_none_is_refused(settings: Settings, config: object, words: str) -> None:
    model_folder(settings, "mine", config, weights=False)
    with pytest.raises(BertvizError, match=words) as refusal:
        source_ledger(resolve("mine", settings), settings)
    assert "\n" not in str(refusal.value)


def test_a_folder_without_config_is_refused(settings: Settings) -> None:
    (settings.models_dir / "empty").mkdir()
    with pytest.raises(CheckpointError, match=r"no config\.json"):
        resolve("empty", settings)


@pytest.mark.parametrize(("file", "content"), [("model.safetensors", b"short"), ("pytorch_model.bin", b"\x80\x04.")])
def test_weights_that_cannot_be_read_are_refused_not_replaced(settings: Settings, file: str, content: bytes) -> None:
    folder = model_folder(settings, "mine", weights=False)
    (folder / file).write_bytes(content)
    with pytest.raises(CheckpointError):
        source_ledger(resolve("mine", settings), settings)


@pytest.mark.parametrize("any_folder", [False, True])
@pytest.mark.parametrize(
    "name", ["a" * 280, "é" * 200, "/" + "a" * 280, "loop", "loop/in", "~nobody-of-this-name", "a\0b"]
)
def test_a_name_that_no_folder_can_have_is_refused_in_a_sentence(
    settings: Settings, name: str, any_folder: bool
) -> None:
    (settings.models_dir / "loop").symlink_to("loop")
    with pytest.raises(ModelNotFoundError):
        resolve(name, dataclasses.replace(settings, any_folder=any_folder))


@pytest.mark.parametrize("value", ["2", "maybe"])
def test_a_switch_that_is_neither_on_nor_off_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", value)
    with pytest.raises(BertvizError, match="INSIDE_BERT_ALLOW_HUB"):
        Settings.from_environment()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("robertabase", "roberta-base"),
        ("bert-base-uncasd", "bert-base-uncased"),
        ("google/bert-tny", "bert-tiny"),
        ("checkpoint-80", "negations/checkpoint-80"),
    ],
)
def test_a_wrong_name_asks_for_the_nearest(settings: Settings, name: str, meant: str) -> None:
    with pytest.raises(ModelNotFoundError, match=f"Did you mean '{meant}'"):
        resolve(name, settings)


def test_no_name_is_guessed_where_none_is_near(settings: Settings) -> None:
    with pytest.raises(ModelNotFoundError) as refused:
        resolve("no-such-model", settings)
    assert "Did you mean" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["models--x--private", "org/na..me", "org/name-", "a.git", "a/b.git@main", "org/.name", "a/b@..c"]
)
@pytest.mark.parametrize("allow_hub", [False, True])
def test_a_name_that_the_hub_cannot_have_is_refused_in_a_sentence(
    settings: Settings, name: str, allow_hub: bool
) -> None:
    with pytest.raises(ModelNotFoundError, match="No model .* found"):
        resolve(name, dataclasses.replace(settings, allow_hub=allow_hub))
    assert all(offer.name == name for offer in offers(dataclasses.replace(settings, allowed_models=(name,))))


@given(st.from_regex(re.compile(r"[\w.@/-]{1,40}", re.ASCII), fullmatch=True))
def test_every_name_that_is_asked_for_is_one_that_the_hub_can_have(name: str) -> None:
    if HUB_NAME.fullmatch(name):
        validate_repo_id(name.partition("@")[0])
