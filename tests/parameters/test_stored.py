"""Files whose tensors do not match the parameters one to one: quantized ones, and those of a wrapper.

Covers `bertviz_core/parameters/ledger.py`.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from bertviz_core.models.sources import folder_source
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.questions.models.architecture import parameters
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import tiny_config

SETTINGS = Settings.from_environment(any_folder=True)
Tensors = dict[str, torch.Tensor]


def saved(folder: Path) -> AutoModelForSequenceClassification:
    model = AutoModelForSequenceClassification.from_config(tiny_config("bert"))
    model.save_pretrained(folder)
    return model


def counted(folder: Path) -> Ledger:
    return source_ledger(folder_source("packed", folder), SETTINGS)


def gptq(name: str, weight: torch.Tensor) -> Tensors:
    rows, columns = weight.shape
    path = name.removesuffix(".weight")
    return {
        f"{path}.qweight": torch.zeros((columns // 8 + 1, rows), dtype=torch.int32),
        f"{path}.qzeros": torch.zeros((1, rows // 8 + 1), dtype=torch.int32),
        f"{path}.scales": torch.zeros((1, rows), dtype=torch.float16),
        f"{path}.g_idx": torch.zeros(columns, dtype=torch.int32),
    }


def four_bits(name: str, weight: torch.Tensor) -> Tensors:
    packed = torch.zeros((weight.numel() // 2, 1), dtype=torch.uint8)
    return {name: packed, f"{name}.absmax": torch.zeros(3), f"{name}.quant_map": torch.zeros(16)}


def eight_bits(name: str, weight: torch.Tensor) -> Tensors:
    return {name: weight.to(torch.int8), name.replace("weight", "SCB"): torch.zeros(len(weight))}


@pytest.mark.parametrize(
    ("pack", "meta", "method"),
    [
        (gptq, {"quant_method": "gptq", "bits": 4}, "gptq"),
        (gptq, {"quant_method": "awq"}, "awq"),
        (four_bits, {"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes"),
        (eight_bits, {"load_in_8bit": True}, "method not named"),
        (eight_bits, None, "method not named"),
    ],
)
def test_a_quantized_file_counts_the_parameters_of_the_model_before_that(
    pack: object, meta: object, method: str, tmp_path: Path
) -> None:
    model = saved(tmp_path)
    tensors: Tensors = {}
    for name, tensor in load_file(tmp_path / "model.safetensors").items():
        tensors |= pack(name, tensor) if "encoder" in name and tensor.ndim == 2 else {name: tensor}
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "quantization_config": meta}))
    ledger = counted(tmp_path)
    assert ledger.total == sum(parameter.numel() for parameter in model.parameters())
    assert ledger.architecture == type(model).__name__
    assert (ledger.stored_tensors, ledger.source) == (len(tensors), "config")
    (sentence,) = (*folder_source("tiny", tmp_path).notices, *ledger.notices)
    assert f"({method})" in sentence
    assert "packed numbers, scales and offsets" in sentence


def test_a_config_that_says_it_is_not_quantized_is_believed(tmp_path: Path) -> None:
    saved(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "quantization_config": None}))
    assert (counted(tmp_path).source, counted(tmp_path).note) == ("header", "")


@pytest.mark.parametrize("wrapper", ["module.", "model.", "_orig_mod.", "net.student."])
def test_the_parts_of_a_wrapped_models_file_are_those_of_the_model(wrapper: str, tmp_path: Path) -> None:
    saved(tmp_path)
    plain = counted(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    wrapped = {f"{wrapper}{name}": tensor for name, tensor in tensors.items()}
    save_file(wrapped, tmp_path / "model.safetensors", metadata={"format": "pt"})
    ledger = counted(tmp_path)
    assert ledger.components == plain.components
    assert ledger.layers == plain.layers
    assert {row.stored_name for row in ledger.parameters} == set(wrapped)
    assert {row.name for row in ledger.parameters} == {row.name for row in plain.parameters}
    assert f"'{wrapper}'" in ledger.note
    assert plain.note == ""


OTHER_SIZES: Mapping[str, tuple[str, Mapping[str, object], Mapping[str, object]]] = {
    "groups of albert": ("albert", {}, {"num_hidden_groups": 2}),
    "width of the feed-forward": ("bert", {"hidden_size": 12, "intermediate_size": 48}, {"intermediate_size": 20}),
    "labels": ("bert", {"num_labels": 2, "type_vocab_size": 2}, {"id2label": {"0": "a", "1": "b", "2": "c"}}),
    "biases of modernbert": ("modernbert", {}, {"attention_bias": True}),
    "width of the heads": ("t5", {"d_model": 12, "num_heads": 3, "d_kv": 4}, {"num_heads": 2}),
    "no tables of positions": ("deberta-v2", {"position_biased_input": False}, {"position_biased_input": True}),
    "layers": ("distilbert", {}, {"n_layers": 5}),
}


@pytest.mark.parametrize(("model_type", "sizes", "change"), OTHER_SIZES.values(), ids=list(OTHER_SIZES))
def test_a_config_that_asks_for_other_parameters_than_the_file_has_is_said(
    model_type: str, sizes: dict[str, object], change: dict[str, object], tmp_path: Path
) -> None:
    AutoModelForSequenceClassification.from_config(tiny_config(model_type, **sizes)).save_pretrained(tmp_path)
    opened = OpenedModel(str(tmp_path), Settings.from_environment(any_folder=True))
    assert parameters(opened, Options()).notices == ()
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with torch.device("meta"):
        by_config = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(tmp_path))
    total = sum(parameter.numel() for parameter in by_config.parameters())
    opened = OpenedModel(str(tmp_path), Settings.from_environment(any_folder=True))
    (notice,) = parameters(opened, Options()).notices
    assert f"has {total:,}" in notice


@pytest.mark.parametrize("model_type", ["albert", "bert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"])
def test_that_a_usual_file_fits_its_config_is_known_without_the_class(model_type: str, tmp_path: Path) -> None:
    AutoModel.from_config(tiny_config(model_type)).save_pretrained(tmp_path)
    assert counted(tmp_path).fits
