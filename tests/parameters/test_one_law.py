"""The ledger, the load report, the number formats and a run of one file say the same, or say why not.

For every family of docs/families.md and every damage to its files; the reference is transformers' own from_pretrained.
Covers `bertviz_core/parameters/ledger.py`.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.errors import BertvizError
from bertviz_core.models.loading import load_model
from bertviz_core.models.skeleton import OTHER_CLASSES, TASK_CLASSES, quietly, task_of_class
from bertviz_core.models.sources import ModelSource, folder_source
from bertviz_core.parameters.ledger import module_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.questions.models.architecture import parameters
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.number_formats import formats_options, number_formats
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import FAMILIES, saved_once, tiny_config

SETTINGS = Settings.from_environment(any_folder=True)
HEADS = ("masked-lm", "seq2seq-lm", "causal-lm", "sequence-classification", "base")
TASKS = {**TASK_CLASSES, **OTHER_CLASSES}
Config = dict[str, Any]
Tensors = dict[str, torch.Tensor]
LAYER = re.compile(r"(?:^|\.)(\d+)\.")
FOREIGN = ("_orig_mod.", "module.", "module._orig_mod.", "net.student.")


class Checkpoint:
    """A config and tensors, and the model that they were saved from.

    A damage that a model cannot have, such as a broken tie where nothing is tied, leaves it whole.
    """

    def __init__(self, config: Config, tensors: Tensors, model: Any) -> None:
        self.config, self.tensors, self.model = config, tensors, model
        self.rows = [row for row in module_ledger("whole", model).parameters if row.name in tensors]

    def names_classes(self, *names: str) -> None:
        self.config["architectures"] = [*names]

    def lose(self, *names: str) -> None:
        self.tensors = {name: tensor for name, tensor in self.tensors.items() if name not in names}

    def rename(self, prefix: str) -> None:
        self.tensors = {f"{prefix}{name}": tensor for name, tensor in self.tensors.items()}

    @property
    def last_layer(self) -> tuple[list[str], int]:
        """Names of the last layer of the encoder in the file, and its index."""
        found = {name: LAYER.search(name) for name in self.tensors if "decoder." not in name}
        layers = {name: int(match.group(1)) for name, match in found.items() if match}
        last = max(layers.values())
        return [name for name, layer in layers.items() if layer == last], last

    def add_layer(self) -> None:
        names, last = self.last_layer
        for name in names:
            self.tensors[re.sub(rf"(^|\.){last}\.", rf"\g<1>{last + 1}.", name, count=1)] = self.tensors[name].clone()

    def store_alias(self, change: float) -> None:
        state, ties = self.model.state_dict(), self.model.all_tied_weights_keys
        aliases = [name for name in ties if name not in self.tensors]
        self.tensors |= {name: state[name].clone() + change for name in aliases}

    def untie(self) -> None:
        if self.model.all_tied_weights_keys:
            self.config["tie_word_embeddings"] = False

    def resize(self) -> None:
        if "vocab_size" in self.config:
            self.config["vocab_size"] += 3

    def add_table(self) -> None:
        name = self.last_layer[0][0]
        self.tensors[f"{name.rpartition('.')[0]}.distance_embedding.weight"] = torch.zeros(13, 7)

    def to_int8(self) -> None:
        name = next(name for name in self.last_layer[0] if self.tensors[name].ndim > 1)
        self.tensors[name] = self.tensors[name].to(torch.int8)

    def head(self) -> list[str]:
        return [row.name for row in self.rows if row.component == "task head"]


def base_class(config: type) -> Any:
    mapped = transformers.AutoModel._model_mapping[config]
    return mapped[0] if isinstance(mapped, tuple) else mapped  # Funnel has two


DAMAGES: dict[str, Callable[[Checkpoint], object]] = {
    "none": lambda whole: None,
    "no architectures": lambda whole: whole.config.pop("architectures"),
    "no class": lambda whole: whole.names_classes(),
    "base class": lambda whole: whole.names_classes(base_class(type(whole.model.config)).__name__),
    "unknown class": lambda whole: whole.names_classes("ForSomethingElse"),
    "class of another family": lambda whole: whole.names_classes("BertForQuestionAnswering"),
    **{f"prefix {prefix}": partial(Checkpoint.rename, prefix=prefix) for prefix in FOREIGN},
    "fewer layers": lambda whole: whole.lose(*whole.last_layer[0]),
    "more layers": Checkpoint.add_layer,
    "another vocabulary": Checkpoint.resize,
    "other values of a tied name": lambda whole: whole.store_alias(1.0),
    "same values of a tied name": lambda whole: whole.store_alias(0.0),
    "broken tie": Checkpoint.untie,
    "no head": lambda whole: whole.lose(*whole.head()),
    "a matrix less": lambda whole: whole.lose(next(name for name in whole.last_layer[0] if name.endswith("weight"))),
    "a dropped table": Checkpoint.add_table,
    "int8 without a scale": Checkpoint.to_int8,
}


@cache
def task_of(model_type: str) -> str:
    """The first task of HEADS for which the family has a class."""
    config = type(tiny_config(model_type))
    return next(task for task in HEADS if config in getattr(transformers, TASKS[task])._model_mapping)


def whole_checkpoint(model_type: str, task: str, folder: Path) -> Checkpoint:
    def save(place: Path) -> None:
        torch.manual_seed(0)
        getattr(transformers, TASKS[task]).from_config(tiny_config(model_type)).save_pretrained(place)

    saved_once(("one law", model_type, task), folder, save)
    config = json.loads((folder / "config.json").read_text())
    model = getattr(transformers, TASKS[task]).from_pretrained(folder)
    return Checkpoint(config, load_file(folder / "model.safetensors"), model)


def loaded(folder: Path, config: Config) -> tuple[Any, dict[str, Any]]:
    """What transformers loads: the class of the config, or else the base model; and its loading info."""
    own = type(transformers.AutoConfig.from_pretrained(folder))
    named = next(iter(config.get("architectures") or [""]))
    classes = [getattr(transformers, auto)._model_mapping.get(own, ()) for auto in TASKS.values()]
    known = {each.__name__: each for group in classes for each in (group if isinstance(group, tuple) else (group,))}
    model_class = known.get(named, base_class(own))
    with quietly():
        model, info = model_class.from_pretrained(folder, output_loading_info=True, ignore_mismatched_sizes=True)
    return model, info


def check_ledger(ledger: Ledger, model: Any, info: dict[str, Any]) -> None:
    total = sum(parameter.numel() for parameter in model.parameters())
    if ledger.total == total and not info["missing_keys"] and not info["mismatched_keys"]:
        assert "parameters; " not in ledger.note
        expected = {part.name: part.total for part in module_ledger("loaded", model).components}
        assert {part.name: part.total for part in ledger.components} == expected
    else:
        assert f"{ledger.total:,}" in ledger.note
        assert f"{total:,}" in ledger.note


def check_report(source: ModelSource, task: str, model: Any, info: dict[str, Any]) -> None:
    if task not in TASK_CLASSES:
        return
    report = source_load_report(source, task, SETTINGS)
    assert {*report.new} == info["missing_keys"]
    assert {*report.unused} == info["unexpected_keys"]
    assert {row.name for row in report.mismatched} == {name for name, *_ in info["mismatched_keys"]}
    assert report.total == sum(parameter.numel() for parameter in model.parameters())


def check_run(source: ModelSource, ledger: Ledger) -> None:
    with suppress(BertvizError):  # a refusal says why
        run = load_model(source, SETTINGS)
        base = sum(part.total for part in ledger.components if part.name != "task head")
        if not (run.notices or ledger.note):
            assert sum(parameter.numel() for parameter in run.model.parameters()) == base


@pytest.mark.sample(35)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("model_type", FAMILIES)
def test_every_face_says_what_a_file_holds_or_why_not(model_type: str, damage: str, tmp_path: Path) -> None:
    whole = whole_checkpoint(model_type, task_of(model_type), tmp_path)
    parts = {row.name: (row.component, row.layer, row.part) for row in whole.rows}
    DAMAGES[damage](whole)
    (tmp_path / "config.json").write_text(json.dumps(whole.config))
    save_file(whole.tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    source, opened = folder_source("damaged", tmp_path, SETTINGS), OpenedModel(str(tmp_path), SETTINGS)
    model, info = loaded(tmp_path, whole.config)

    answer = parameters(opened, Options())
    ledger = answer.result
    assert {*ledger.notices} <= {*answer.notices}
    check_ledger(ledger, model, info)
    listed = {row.name: (row.component, row.layer, row.part) for row in ledger.parameters}
    assert {name: place for name, place in parts.items() if name in listed} == {
        name: listed[name] for name in parts if name in listed
    }
    assert ledger.stored_tensors == len(whole.tensors)
    named = next(iter(whole.config.get("architectures") or [""]))
    check_report(source, task_of_class("damaged", whole.config, named), model, info)
    formats = number_formats(opened, formats_options(formats=["float16"]))
    by_component: dict[str, int] = {}
    for part in formats.result.formats[0].parts:
        by_component[part.component] = by_component.get(part.component, 0) + part.numel
    assert by_component == {part.name: part.total for part in ledger.components}
    assert {*ledger.notices} <= {*formats.notices}
    check_run(source, ledger)


def test_a_matrix_of_int8_without_a_scale_is_said_by_ledger_and_run(tmp_path: Path) -> None:
    whole = whole_checkpoint("bert", "masked-lm", tmp_path)
    whole.to_int8()
    save_file(whole.tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    note = parameters(OpenedModel(str(tmp_path), SETTINGS), Options()).result.note
    assert "as int8, and no scale is applied" in note
    assert [each for each in load_model(folder_source("int8", tmp_path), SETTINGS).notices if "as int8" in each]


@pytest.mark.parametrize("prefix", FOREIGN)
def test_a_run_names_the_prefix_before_the_config(prefix: str, tmp_path: Path) -> None:
    whole = whole_checkpoint("roberta", "masked-lm", tmp_path)
    whole.rename(prefix)
    save_file(whole.tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BertvizError, match=f"have the prefix '{prefix}roberta.'") as refusal:
        load_model(folder_source("wrapped", tmp_path), SETTINGS)
    assert "num_hidden_layers" not in str(refusal.value)


def test_the_tied_names_of_marian_are_listed_as_those_of_bart(tmp_path: Path) -> None:
    sizes = {"d_model": 12, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 2}
    sizes |= {"decoder_attention_heads": 3, "encoder_ffn_dim": 14, "decoder_ffn_dim": 16, "vocab_size": 37}
    model = transformers.MarianMTModel(
        transformers.MarianConfig(**sizes, pad_token_id=5, decoder_start_token_id=5, max_position_embeddings=29)
    )
    model.save_pretrained(tmp_path)
    ledger = parameters(OpenedModel(str(tmp_path), SETTINGS), Options()).result
    assert {row.name: row.tied_to for row in ledger.parameters if row.tied_to} == model.all_tied_weights_keys
    assert {row.name for row in ledger.parameters} == {
        name for name, _ in model.named_parameters(remove_duplicate=False)
    }
    assert (ledger.total, ledger.note) == (sum(each.numel() for each in model.parameters()), "")
