"""The ledger of an adapter counts as peft does: its own parameters are trained, those of the base are frozen.

Covers `bertviz_core/parameters/ledger.py`.
"""

from typing import Any

import pytest
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification

from bertviz_core.models.sources import resolve
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.questions.models.architecture import modules, parameters
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.settings import Settings
from tests.helpers.made_adapters import random_class, save_adapter, saved_base
from tests.helpers.tiny_models import HIDDEN, LAYERS


@pytest.mark.parametrize(
    ("model_type", "options"),
    [
        ("bert", {"target_modules": ["query", "value"]}),
        ("bert", {"target_modules": ["word_embeddings", "key"], "bias": "lora_only"}),
        ("bert", {"target_modules": "all-linear", "bias": "all"}),
        ("gpt2", {"target_modules": ["c_attn"], "fan_in_fan_out": True}),
        ("t5", {"target_modules": ["q", "wo"]}),
    ],
    ids=["bert", "embeddings", "biases", "gpt2", "t5"],
)
def test_counts_are_those_of_peft(settings: Settings, model_type: str, options: dict[str, Any]) -> None:
    model = random_class(AutoModel, model_type)
    saved_base(model, settings.models_dir / "base")
    merged: Any = save_adapter(model, "base", settings.models_dir / "adapter", **options)
    ledger = source_ledger(resolve("adapter", settings), settings)
    assert (ledger.trainable, ledger.total) == merged.peft_counts
    assert sum(component.total for component in ledger.components) == ledger.total
    assert ledger.stored_tensors == ledger.tensors + sum(buffer.stored for buffer in ledger.buffers)
    assert "adapter (LoRA)" in ledger.note


@pytest.mark.parametrize("options", [{"bias": "all"}, {"modules_to_save": ["decoder"]}], ids=["tied", "apart"])
def test_an_output_layer_is_counted_apart_where_the_adapter_has_its_own(settings: Settings, options: Any) -> None:
    model = random_class(AutoModelForMaskedLM, "bert")
    saved_base(model, settings.models_dir / "base")
    merged: Any = save_adapter(model, "base", settings.models_dir / "adapter", target_modules=["query"], **options)
    ledger = source_ledger(resolve("adapter", settings), settings)
    assert (ledger.trainable, ledger.total) == merged.peft_counts


def test_a_matrix_is_followed_by_its_update(settings: Settings) -> None:
    model = random_class(AutoModelForSequenceClassification, "bert", num_labels=3)
    saved_base(model.bert, settings.models_dir / "base")
    save_adapter(model, "base", settings.models_dir / "adapter", target_modules=["query"], task_type="SEQ_CLS")
    rows = source_ledger(resolve("adapter", settings), settings).parameters
    names = [row.name.rpartition("encoder.")[2] for row in rows]
    at = names.index("layer.1.attention.self.query.weight")
    assert names[at + 1 : at + 3] == [
        "layer.1.attention.self.query.lora_A.weight",
        "layer.1.attention.self.query.lora_B.weight",
    ]
    assert [row.shape for row in rows[at + 1 : at + 3]] == [(3, HIDDEN), (HIDDEN, 3)]
    assert [row.layer for row in rows[at + 1 : at + 3]] == [1, 1]
    trained = {row.name for row in rows if row.trainable}
    assert len(trained) == 2 * LAYERS + 2
    assert source_ledger(resolve("adapter", settings), settings, "sequence-classification").parameters == rows
    assert {name for name in trained if "lora" not in name} == {"classifier.weight", "classifier.bias"}


@pytest.mark.parametrize("model_type", ["bert", "roberta", "distilbert"])
def test_a_headless_base_and_the_head_of_its_adapter_are_the_class_that_was_trained(
    settings: Settings, model_type: str
) -> None:
    model = random_class(AutoModelForSequenceClassification, model_type, num_labels=3)
    saved_base(model.base_model, settings.models_dir / "base")
    targets = ["q_lin"] if model_type == "distilbert" else ["query"]
    merged = save_adapter(model, "base", settings.models_dir / "adapter", target_modules=targets, task_type="SEQ_CLS")
    opened = OpenedModel("adapter", settings)
    named = {row.name for row in parameters(opened, Options()).result.parameters if ".lora_" not in row.name}
    assert named == {name for name, _ in merged.named_parameters()}
    tree = modules(opened, Options()).result
    assert (tree.architecture, tree.total) == (type(merged).__name__, merged.num_parameters())


def test_a_base_that_is_not_here_is_counted_from_its_config(settings: Settings) -> None:
    model = random_class(AutoModel, "bert")
    saved_base(model, settings.models_dir / "base")
    save_adapter(model, "base", settings.models_dir / "adapter", target_modules=["query"])
    (settings.models_dir / "base" / "model.safetensors").unlink()
    source = resolve("adapter", settings)
    assert not source.has_weights
    assert source_ledger(source, settings).total == sum(each.numel() for each in model.parameters())
