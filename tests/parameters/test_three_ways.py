"""One ledger, three ways: file header, config, module; all must agree with torch's own count, for every family.

Covers `bertviz_core/parameters/ledger.py`.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.models.safetensors.folder import read_header, read_json
from bertviz_core.models.skeleton import TASK_CLASSES
from bertviz_core.models.sources import resolve
from bertviz_core.parameters.ledger import config_ledger, header_ledger, module_ledger, source_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.settings import Settings
from tests.helpers.tiny import CONFIGS, tiny_config

WITH_HEADS = ("base", "masked-lm", "sequence-classification", "pretraining")


CASES = [
    (model_type, task)
    for model_type in sorted(CONFIGS)
    for task in WITH_HEADS
    if type(transformers.AutoConfig.for_model(model_type)) in getattr(transformers, TASK_CLASSES[task])._model_mapping
]


def built(model_type: str, task: str) -> Any:
    auto_class = getattr(transformers, TASK_CLASSES[task])
    config = transformers.AutoConfig.for_model(**tiny_config(model_type))
    config.architectures = config.architectures or []
    torch.manual_seed(0)
    return auto_class.from_config(config)


def counts(ledger: Ledger) -> dict[str, tuple[tuple[int, ...], int, bool, str, int | None, str]]:
    return {
        row.name: (row.shape, row.numel, row.trainable, row.component, row.layer, row.part)
        for row in ledger.parameters
        if row.tied_to is None
    }


@pytest.mark.sample(18)
@pytest.mark.parametrize(("model_type", "task"), CASES)
def test_header_config_and_module_tell_the_same(model_type: str, task: str, tmp_path: Path) -> None:
    model = built(model_type, task)
    model.save_pretrained(tmp_path)
    saved = read_json(tmp_path, "config.json")

    from_module = module_ledger("tiny", model)
    from_config = config_ledger("tiny", saved, task)
    from_header = header_ledger("tiny", saved, read_header(tmp_path))

    assert from_module.total == sum(value.numel() for value in model.parameters())
    assert from_module.trainable == sum(value.numel() for value in model.parameters() if value.requires_grad)
    assert from_module.tensors == len(list(model.named_parameters()))
    assert counts(from_config) == counts(from_module)
    assert counts(from_header) == counts(from_module)
    for ledger in (from_header, from_config):
        assert (ledger.total, ledger.trainable, ledger.tensors) == (
            from_module.total,
            from_module.trainable,
            from_module.tensors,
        )
        assert ledger.nbytes == from_module.nbytes
        assert ledger.architecture == type(model).__name__
        assert {row.name: row.tied_to for row in ledger.parameters if row.tied_to} == {
            row.name: row.tied_to for row in from_module.parameters if row.tied_to
        }


@pytest.mark.parametrize("model_type", sorted(CONFIGS))
def test_rows_layers_and_components_add_up(model_type: str) -> None:
    ledger = config_ledger("tiny", tiny_config(model_type))
    counted = [row for row in ledger.parameters if row.tied_to is None]
    assert sum(row.numel for row in counted) == ledger.total
    assert sum(part.total for part in ledger.components) == ledger.total
    assert sum(part.tensors for part in ledger.components) == ledger.tensors
    assert sum(row.total for row in ledger.layers) == sum(row.numel for row in counted if row.layer is not None)
    for layer in ledger.layers:
        assert layer.total == layer.attention + layer.feed_forward + layer.layer_norm + layer.other


@pytest.mark.parametrize("model_type", sorted(set(CONFIGS) - {"fnet", "funnel", "t5", "albert", "pegasus"}))
def test_every_layer_is_found_with_its_attention_and_feed_forward(model_type: str) -> None:
    layers = config_ledger("tiny", tiny_config(model_type)).layers
    assert [layer.layer for layer in layers] == [0, 1, 2]
    for layer in layers:
        projections = layer.query_key_value or (layer.query and layer.key and layer.value)
        assert projections, "query, key and value are found"
        assert layer.attention_output
        assert layer.feed_forward
        assert layer.layer_norm


def test_shared_layers_are_counted_once_and_run_often() -> None:
    albert = config_ledger("tiny", {**tiny_config("albert"), "num_hidden_layers": 6, "num_hidden_groups": 2})
    assert [(layer.layer, layer.applications) for layer in albert.layers] == [(0, 3), (1, 3)]
    funnel = config_ledger("tiny", tiny_config("funnel"))
    assert [(layer.layer, layer.applications) for layer in funnel.layers] == [(0, 1), (1, 1), (2, 3)]


def test_bert_base_is_what_the_notebooks_count(settings: Settings) -> None:
    """Source documents: 199 named parameters, 109,482,240; 23,837,184 + 85,054,464 + 590,592."""
    ledger = source_ledger(resolve("bert-base-uncased", settings), settings)
    assert (ledger.tensors, ledger.total, ledger.trainable) == (199, 109_482_240, 109_482_240)
    assert {part.name: part.total for part in ledger.components} == {
        "embeddings": 23_837_184,
        "encoder": 85_054_464,
        "pooler": 590_592,
    }
    groups = {name: [row for row in ledger.parameters if row.component == name] for name in ("embeddings", "pooler")}
    assert [f"{row.name} {row.shape}" for row in groups["embeddings"]] == [
        "embeddings.word_embeddings.weight (30522, 768)",
        "embeddings.position_embeddings.weight (512, 768)",
        "embeddings.token_type_embeddings.weight (2, 768)",
        "embeddings.LayerNorm.weight (768,)",
        "embeddings.LayerNorm.bias (768,)",
    ]
    assert [row.name for row in groups["pooler"]] == ["pooler.dense.weight", "pooler.dense.bias"]
    assert sum(row.layer == 0 for row in ledger.parameters) == 16


def test_tied_decoder_of_masked_lm_is_counted_once(settings: Settings) -> None:
    """BertForMaskedLM has 109,514,298 parameters; torchinfo 1.8.0 counts the tied decoder again: 132,955,194."""
    ledger = source_ledger(resolve("bert-base-uncased", settings), settings, task="masked-lm")
    assert ledger.total == 109_514_298
    tied = {row.name: row.tied_to for row in ledger.parameters if row.tied_to}
    assert tied["cls.predictions.decoder.weight"] == "bert.embeddings.word_embeddings.weight"
    assert ledger.tied == len(tied)
    sizes = {row.name: row.numel for row in ledger.parameters}
    assert ledger.total + sizes["cls.predictions.decoder.weight"] == 132_955_194


def test_classifier_with_two_labels_adds_1538(settings: Settings) -> None:
    """768 x 2 weights and 2 biases: 109,482,240 -> 109,483,778."""
    assert (
        source_ledger(resolve("bert-base-uncased", settings), settings, task="sequence-classification").total
        == 109_483_778
    )


def test_a_task_without_a_class_is_refused(settings: Settings) -> None:
    with pytest.raises(UnsupportedModelError, match="next-sentence"):
        source_ledger(resolve("ModernBERT-base", settings), settings, task="next-sentence")


def test_bundled_header_has_103_parameters_and_one_buffer(settings: Settings) -> None:
    ledger = source_ledger(resolve("all-MiniLM-L6-v2", settings), settings)
    assert (ledger.source, ledger.total, ledger.tensors, ledger.stored_tensors) == ("header", 22_713_216, 103, 104)
    assert [buffer.name for buffer in ledger.buffers] == ["embeddings.position_ids"]
    assert ledger.stored_nbytes == 4 * 22_713_216 + 512 * 8
    order = [
        name
        for name, _ in transformers.BertModel(
            transformers.BertConfig(num_hidden_layers=6, hidden_size=24, num_attention_heads=2)
        ).named_parameters()
    ]
    assert [row.name for row in ledger.parameters] == order, "rows stand in the module's order"
