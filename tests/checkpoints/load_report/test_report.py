"""The load report against the messages of from_pretrained after loading everything; repairs are executed.

Covers `bertviz_core/checkpoints/load_report/*.py`.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bertviz_core.checkpoints.load_report.advice import share_text
from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.checkpoints.load_report.results import LoadReport
from bertviz_core.checkpoints.load_report.task_heads import source_head_difference
from bertviz_core.errors import BertvizError, CheckpointError, UnsupportedModelError
from bertviz_core.models.skeleton import TASK_CLASSES, quietly
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from tests.helpers.hub_server import running_hub
from tests.helpers.tiny_models import tiny_config

FOLDERS = Settings.from_environment(any_folder=True)
Tensors = dict[str, torch.Tensor]
FAMILIES = (
    "albert", "bart", "bert", "deberta-v2", "distilbert", "electra", "funnel", "jina_embeddings_v3", "modernbert",
    "mpnet", "nomic_bert", "roberta", "t5", "xlnet",
)  # fmt: skip
ONE_LAYER: Mapping[str, Mapping[str, int]] = {
    "bart": {"encoder_layers": 1},
    "distilbert": {"n_layers": 1},
    "funnel": {},
    "t5": {"num_layers": 1},
    "xlnet": {"n_layer": 1},
}


def load_report(name: str, task: str, settings: Settings, labels: int | None = None) -> LoadReport:
    return source_load_report(resolve(name, settings), task, settings, labels)


def resized(tensors: Tensors) -> Tensors:
    rows = max(value.shape[0] for value in tensors.values() if value.dim())
    return {
        name: torch.zeros(rows + 3, *value.shape[1:]) if value.dim() and value.shape[0] == rows else value
        for name, value in tensors.items()
    }


def old_names(tensors: Tensors) -> Tensors:
    changes = (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))
    renamed = {}
    for name, value in tensors.items():
        for new, old in changes:
            name = name.replace(new, old)
        renamed[name] = value
    return renamed


CHANGES: Mapping[str, Callable[[Tensors], Tensors]] = {
    "as saved": lambda tensors: tensors,
    "resized": resized,
    "old names": old_names,
    "prefixed": lambda tensors: {f"net.{name}": value for name, value in tensors.items()},
    "cut": lambda tensors: dict(sorted(tensors.items())[::2]),
}


def write(folder: Path, tensors: Tensors) -> None:
    save_file({name: value.clone() for name, value in tensors.items()}, folder / "model.safetensors", {"format": "pt"})


def saved(folder: Path, config: Any, task: str) -> Tensors:
    """Save a random model of a task to a folder; returns the tensors of the file."""
    torch.manual_seed(0)
    getattr(transformers, TASK_CLASSES[task]).from_config(config).save_pretrained(folder)
    return load_file(folder / "model.safetensors")


def loading_info(folder: Path, task: str, **options: Any) -> tuple[set[str], set[str], set[Any]]:
    """The lists of transformers after loading."""
    auto = getattr(transformers, TASK_CLASSES[task])
    with quietly():
        _, info = auto.from_pretrained(folder, output_loading_info=True, ignore_mismatched_sizes=True, **options)
    mismatched = {(name, tuple(stored), tuple(shape)) for name, stored, shape in info["mismatched_keys"]}
    return set(info["missing_keys"]), set(info["unexpected_keys"]), mismatched


def lists(report: LoadReport) -> tuple[set[str], set[str], set[Any]]:
    return (set(report.new), set(report.unused), {(row.name, row.checkpoint, row.model) for row in report.mismatched})


def tasks_of(config: Any) -> list[str]:
    return [task for task, auto in TASK_CLASSES.items() if type(config) in getattr(transformers, auto)._model_mapping]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.sample(1)
def test_the_lists_are_those_of_from_pretrained(family: str, tmp_path: Path) -> None:
    config = tiny_config(family, **ONE_LAYER.get(family, {"num_hidden_layers": 1}))
    tasks = tasks_of(config)
    assert len(tasks) >= 3
    first = FAMILIES.index(family)
    for place, (change, changed) in enumerate(CHANGES.items()):
        write(tmp_path, changed(saved(tmp_path, config, tasks[place % len(tasks)])))
        # Each family has every change and each task two of them; over the families, each task has every change.
        for task in [each for turn, each in enumerate(tasks) if (first + place + turn) % len(CHANGES) < 2]:
            report = load_report(str(tmp_path), task, FOLDERS)
            assert lists(report) == loading_info(tmp_path, task), (change, task)
            balanced(report)
            assert (report.repair is not None) == (change == "prefixed"), (change, task, report.repair)


def balanced(report: LoadReport) -> None:
    """Assert that the sums of a report agree with its rows."""
    assert sum(share.total for share in report.shares) == report.total
    assert sum(share.matched for share in report.shares) == report.from_file
    assert 0 <= report.fraction_from_file <= 1
    by_status = {status: [row for row in report.rows if row.status == status] for status in ("new", "unused")}
    assert {row.name for row in by_status["new"]} == set(report.new)
    assert {row.name for row in by_status["unused"]} == set(report.unused)
    assert report.suggestion


@pytest.mark.slow
def test_the_bundled_model_for_every_task() -> None:
    source = "all-MiniLM-L6-v2"
    from bertviz_core.models.sources import bundled_folder

    for task in TASK_CLASSES:
        report = load_report(source, task, FOLDERS)
        assert lists(report) == loading_info(bundled_folder(), task), task
        balanced(report)
    whole = load_report(source, "base", FOLDERS)
    assert (whole.matched, whole.expected, whole.from_file, whole.total) == (103, 103, 22_713_216, 22_713_216)
    assert whole.suggestion.startswith("Complete: all 103 tensors")
    assert [row.name for row in whole.ignored] == ["embeddings.position_ids"]


def test_the_report_says_that_it_read_no_value(tmp_path: Path) -> None:
    tensors = saved(tmp_path, tiny_config("bert", num_labels=3), "sequence-classification")
    write(tmp_path, {name: torch.full_like(value, torch.nan) for name, value in tensors.items()})
    for task, labels in (("sequence-classification", 3), ("sequence-classification", 4), ("base", None)):
        report = load_report(str(tmp_path), task, FOLDERS, labels)
        assert "values were read only" in report.suggestion
        assert not re.search(r"[Rr]eady|sound", report.suggestion)
    write(tmp_path, {f"module.{name}": value for name, value in tensors.items()})
    repaired = load_report(str(tmp_path), "sequence-classification", FOLDERS)
    assert repaired.repair is not None
    assert "values were read only" in repaired.suggestion


@pytest.mark.parametrize("labels", [1, 3, 7])
def test_the_number_of_labels_is_that_of_from_pretrained(tmp_path: Path, labels: int) -> None:
    saved(tmp_path, tiny_config("bert", num_labels=3), "sequence-classification")
    report = load_report(str(tmp_path), "sequence-classification", FOLDERS, labels)
    assert lists(report) == loading_info(tmp_path, "sequence-classification", num_labels=labels)
    assert report.num_labels == labels
    assert len(report.mismatched) == (0 if labels == 3 else 2)
    if labels != 3:
        assert "has 3 labels" in report.suggestion
        assert "refuses" in report.suggestion


@pytest.mark.parametrize(("change", "matched"), [("whole", 20), ("resized", 18), ("cut", 19)])
def test_experts_are_put_together_as_the_loader_does(tmp_path: Path, change: str, matched: int) -> None:
    sizes = {"hidden_size": 12, "intermediate_size": 14, "num_hidden_layers": 2, "vocab_size": 37, "pad_token_id": 0}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "num_local_experts": 3, "num_experts_per_tok": 2}
    tensors = saved(tmp_path, transformers.CONFIG_MAPPING["mixtral"](**sizes, **heads), "base")
    assert (
        sum(".experts." in name for name in tensors) == 2 * 3 * 3
    )  # layers, experts, matrices: separate tensors in the file
    if change == "resized":
        tensors = {k: torch.zeros(15, 12) if v.shape == (14, 12) else v for k, v in tensors.items()}
    if change == "cut":
        tensors = {k: v for k, v in tensors.items() if not re.search(r"layers\.0.*experts\.1\.w1", k)}
    write(tmp_path, tensors)
    report = load_report(str(tmp_path), "base", FOLDERS)
    assert (report.matched, report.expected) == (matched, 20)
    if change == "cut":
        with pytest.raises(RuntimeError, match="conversion"):
            loading_info(tmp_path, "base")
        assert report.not_converted == report.new == ("layers.0.mlp.experts.gate_up_proj",)
        assert "cannot be put together" in report.suggestion
    else:
        assert lists(report) == loading_info(tmp_path, "base")


HEAD_OF_PRETRAINING = {
    "cls.predictions.bias",
    "cls.predictions.decoder.weight",
    "cls.predictions.transform.LayerNorm.bias",
    "cls.predictions.transform.LayerNorm.weight",
    "cls.predictions.transform.dense.bias",
    "cls.predictions.transform.dense.weight",
    "cls.seq_relationship.bias",
    "cls.seq_relationship.weight",
}
"""Keys of bert-base-uncased outside its base model, with the newer names of LayerNorm."""


def test_an_encoder_that_was_saved_alone_is_complete(tmp_path: Path) -> None:
    transformers.T5EncoderModel(tiny_config("t5")).save_pretrained(tmp_path)
    report = load_report(str(tmp_path), "base", FOLDERS)
    assert (report.architecture, report.is_complete) == ("T5EncoderModel", True)


def test_the_pretraining_checkpoint_of_bert_as_a_classifier(tmp_path: Path) -> None:
    tensors = saved(tmp_path, tiny_config("bert"), "pretraining")
    table = tensors["bert.embeddings.word_embeddings.weight"]
    write(tmp_path, old_names({**tensors, "cls.predictions.decoder.weight": table}))
    report = load_report(str(tmp_path), "sequence-classification", FOLDERS)
    assert set(report.unused) == HEAD_OF_PRETRAINING
    assert report.new == ("classifier.weight", "classifier.bias")
    assert "classifier.{weight,bias}" in report.suggestion
    assert "Train it before you use it" in report.suggestion
    assert "8 keys of the file, from another task's head" in report.suggestion
    assert report.from_file == report.total - (2 * 12 + 2)
    stored = {row.name: row.stored_names for row in report.rows}
    assert stored["bert.embeddings.LayerNorm.weight"] == ("bert.embeddings.LayerNorm.gamma",)


ENCODER = "encoder."


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("change", "words", "filled"),
    [
        (lambda name: f"net.{name}", "strip net.", 1.0),
        (lambda name: f"module._orig_mod.{name}", "strip module._orig_mod.", 1.0),
        (lambda name: f"bert.bert.{name}", "strip bert.bert.", 1.0),
        (lambda name: f"model.0.{name}", "strip model.0.", 1.0),
        (lambda name: name.removeprefix(ENCODER) if name.startswith(ENCODER) else None, "add encoder.", 0.8),
        (
            lambda name: f"net.{name.removeprefix(ENCODER)}" if name.startswith(ENCODER) else None,
            "replace net. by encoder.",
            0.8,
        ),
    ],
)
@pytest.mark.parametrize("shards", ["50GB", "2KB"])
def test_a_repair_does_what_it_promises(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[str], str | None],
    words: str,
    filled: float,
    shards: str,
) -> None:
    config = tiny_config("bert", num_hidden_layers=5)
    whole = saved(tmp_path, config, "base")
    renamed = {change(name): value for name, value in whole.items()}
    stored = {name: value for name, value in renamed.items() if name is not None}
    (tmp_path / "model.safetensors").unlink()
    write_shards(tmp_path, stored, 1 if shards == "50GB" else 3)
    report = load_report(str(tmp_path), "base", FOLDERS)
    repair = report.repair
    assert repair is not None
    assert repair.words == words
    assert (repair.before, repair.keys, repair.expected) == (0, len(stored), len(whole))
    assert repair.after >= filled * repair.expected
    assert f"{repair.after} of {repair.expected} match" in report.suggestion
    monkeypatch.chdir(tmp_path)
    exec(repair.code, {})  # the suggested code, executed like by a reader
    assert len(loading_info(tmp_path, "base")[0]) == repair.expected - repair.after
    again = load_report(str(tmp_path), "base", FOLDERS)
    assert (again.matched, again.repair) == (repair.after, None)


def write_shards(folder: Path, tensors: Tensors, count: int) -> None:
    """Write the tensors to one file, or to several with an index."""
    if count == 1:
        write(folder, tensors)
        return
    weight_map = {}
    for shard in range(count):
        file = f"model-{shard}.safetensors"
        part = dict(sorted(tensors.items())[shard::count])
        save_file({name: value.clone() for name, value in part.items()}, folder / file, {"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("task", ["base", "sequence-classification", "token-classification"])
def test_a_head_of_another_task_is_no_foreign_prefix(tmp_path: Path, task: str) -> None:
    """ALBERT's sop_classifier.classifier and a new classifier share name's end and shape, but not the meaning."""
    saved(tmp_path, tiny_config("albert"), "pretraining")
    assert load_report(str(tmp_path), task, FOLDERS).repair is None


def test_a_name_in_the_file_is_never_run(tmp_path: Path) -> None:
    prefix = "x'); raise SystemExit('run'); ('."
    tensors = saved(tmp_path, tiny_config("bert"), "base")
    write(tmp_path, {f"{prefix}{name}": value for name, value in tensors.items()})
    repair = load_report(str(tmp_path), "base", FOLDERS).repair
    assert repair is not None
    assert repair.after == repair.expected
    assert f"removeprefix({prefix!r})" in repair.code
    compile(repair.code, "repair", "exec")


def test_keys_that_meet_are_told(tmp_path: Path) -> None:
    """Two keys for one tensor: transformers uses the first in its order without a message."""
    tensors = saved(tmp_path, tiny_config("bert"), "base")
    stored = {**tensors, **{f"bert.{name}": value + 1 for name, value in tensors.items()}}
    write(tmp_path, stored)
    report = load_report(str(tmp_path), "base", FOLDERS)
    assert lists(report) == loading_info(tmp_path, "base") == (set(), set(), set())
    assert len(report.ignored) == len(tensors)
    assert all("comes first" in row.note for row in report.ignored)
    with quietly():
        used = transformers.AutoModel.from_pretrained(tmp_path).state_dict()
    for row in report.rows:
        if row.status == "matched":
            (key,) = row.stored_names
            assert torch.equal(used[row.name], stored[key])


def test_a_resized_vocabulary_is_named(tmp_path: Path) -> None:
    config = tiny_config("bert", vocab_size=37)
    tensors = saved(tmp_path, config, "base")
    name = "embeddings.word_embeddings.weight"
    write(tmp_path, {**tensors, name: torch.zeros(40, 12)})
    report = load_report(str(tmp_path), "masked-lm", FOLDERS)
    (row,) = report.mismatched
    assert (row.name, row.checkpoint, row.model) == (f"bert.{name}", (40, 12), (37, 12))
    assert "set vocab_size to 40" in report.suggestion
    (alias,) = [row for row in report.rows if row.status == "tied" and row.name == "cls.predictions.decoder.weight"]
    assert alias.tied_to == f"bert.{name}"


@pytest.mark.parametrize("own", [True, False])
def test_a_tied_tensor_that_the_file_stores_is_named(tmp_path: Path, own: bool) -> None:
    tensors = saved(tmp_path, tiny_config("roberta"), "masked-lm")
    table = tensors["roberta.embeddings.word_embeddings.weight"]
    write(tmp_path, {**tensors, "lm_head.decoder.weight": table + own})
    report = load_report(str(tmp_path), "masked-lm", FOLDERS)
    with quietly():
        loaded = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path)
    assert report.total == sum(parameter.numel() for parameter in loaded.parameters())
    assert torch.equal(loaded.lm_head.decoder.weight, loaded.roberta.embeddings.word_embeddings.weight) != own
    words = "ties 'lm_head.decoder.weight'" if own else "the values of 'lm_head.decoder.weight' twice"
    assert words in report.suggestion


@pytest.mark.parametrize(
    ("name", "task", "labels", "message"),
    [
        ("bert-base-uncased", "base", None, "not on this machine"),
        ("all-MiniLM-L6-v2", "no-such-task", None, "No task"),
        ("ModernBERT-base", "next-sentence", None, "no class for the task"),
        ("all-MiniLM-L6-v2", "masked-lm", 3, "no labels to choose"),
        ("all-MiniLM-L6-v2", "token-classification", 0, "0 labels"),
    ],
)
def test_what_cannot_be_reported_is_said(
    settings: Settings, name: str, task: str, labels: int | None, message: str
) -> None:
    with pytest.raises((CheckpointError, UnsupportedModelError), match=message):
        load_report(name, task, settings, labels)


@pytest.mark.parametrize("name", ["lab/good", "bert-base-uncased"])
def test_at_the_hub_only_the_header_is_fetched(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tmp_path / "saved"
    saved(folder, tiny_config("bert", vocab_size=9_000), "base")
    stored = {path.name: path.read_bytes() for path in folder.iterdir()}
    with running_hub() as hub:
        hub.repositories["lab/good"] = hub.repositories["google-bert/bert-base-uncased"] = stored
        online = dataclasses.replace(settings, allow_hub=True, hub_endpoint=hub.endpoint)
        for _ in range(2):  # the second time its config is cached
            report = load_report(name, "base", online)
            assert report.matched == (55 if name == "lab/good" else 0)
        fetched = [size for path, size in hub.served if path.endswith("model.safetensors")]
    assert report.header_nbytes == 0
    assert sum(fetched) <= 2 * 100_001 < len(stored["model.safetensors"])


def test_quantized_weights_are_refused(tmp_path: Path) -> None:
    saved(tmp_path, tiny_config("bert"), "base")
    path = tmp_path / "config.json"
    quantized = {**json.loads(path.read_text()), "quantization_config": {"quant_method": "bitsandbytes"}}
    path.write_text(json.dumps(quantized))
    with pytest.raises(BertvizError, match="quantized"):
        load_report(str(tmp_path), "base", FOLDERS)


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0, "0%"), (1.0, "100%"), (0.989, "98.9%"), (0.99999, "99.999%"), (1e-6, "0.0001%"), (0.4999, "50.0%")],
)
def test_a_share_never_claims_all_or_nothing(fraction: float, text: str) -> None:
    assert share_text(fraction) == text


@pytest.mark.parametrize(
    ("name", "task", "labels", "base", "total"),
    [
        ("bert-base-uncased", "sequence-classification", 2, 109_482_240, 109_483_778),
        ("bert-base-uncased", "sequence-classification", 5, 109_482_240, 109_482_240 + 5 * 769),
        ("bert-base-uncased", "pretraining", None, 109_482_240, 110_106_428),
        ("bert-base-uncased", "question-answering", None, 109_482_240, 109_482_240 - 590_592 + 1_538),
        ("bert-base-uncased", "base", None, 109_482_240, 109_482_240),
    ],
)
@pytest.mark.sample(3)
def test_what_a_head_adds_to_bert_base(
    settings: Settings, name: str, task: str, labels: int | None, base: int, total: int
) -> None:
    found = source_head_difference(resolve(name, settings), task, labels)
    assert (found.base_total, found.total) == (base, total)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.sample(1)
def test_the_difference_balances(family: str, tmp_path: Path) -> None:
    config = tiny_config(family)
    config.save_pretrained(tmp_path)
    for task in tasks_of(config):
        found = source_head_difference(resolve(str(tmp_path), FOLDERS), task)
        assert found.base_total - found.removed + found.added == found.total, task
        leaves = [node for node in found.nodes if node.shape is not None and node.tied_to is None]
        for mark, expected in (("added", found.added), ("removed", found.removed)):
            assert sum(node.numel for node in leaves if node.mark == mark) == expected, (task, mark)
        with torch.device("meta"):
            model = getattr(transformers, TASK_CLASSES[task]).from_config(config)
        assert found.total == sum(parameter.numel() for parameter in model.parameters())
