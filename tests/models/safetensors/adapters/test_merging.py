"""Merged adapters equal those of peft (merge_and_unload), tensor by tensor and in what the model computes.

Covers `bertviz_core/models/safetensors/adapters/contents.py`, `bertviz_core/models/safetensors/folder.py`.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    T5EncoderModel,
)

from bertviz_core.models.loading import load_model
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.safetensors.values import TensorReader
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.run import load_head
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.made_adapters import random_class, save_adapter, saved_base
from tests.helpers.tiny_models import TEXT

EXACT = 1e-6
QV = {"target_modules": ["query", "value"]}
CASES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "bert": (AutoModel, "bert", QV),
    "bert, all linear": (AutoModel, "bert", {"target_modules": "all-linear"}),
    "bert, rank-stabilised": (AutoModel, "bert", {**QV, "use_rslora": True}),
    "bert, patterns": (
        AutoModel,
        "bert",
        {**QV, "rank_pattern": {"layer.1.attention.self.query": 5}, "alpha_pattern": {"value": 9, "^nowhere": 2}},
    ),
    "bert, embeddings": (AutoModel, "bert", {"target_modules": ["word_embeddings", "key"]}),
    "bert, all biases": (AutoModel, "bert", {**QV, "bias": "all"}),
    "bert, own biases": (AutoModel, "bert", {**QV, "bias": "lora_only"}),
    "bert, saved module": (AutoModel, "bert", {**QV, "modules_to_save": ["pooler"]}),
    "bert, classes": (AutoModelForSequenceClassification, "bert", {**QV, "task_type": "SEQ_CLS"}),
    "bert, classes, all biases": (
        AutoModelForSequenceClassification,
        "bert",
        {**QV, "task_type": "SEQ_CLS", "bias": "all"},
    ),
    "bert, tags": (AutoModelForTokenClassification, "bert", {**QV, "task_type": "TOKEN_CLS"}),
    "bert, masked LM, all biases": (AutoModelForMaskedLM, "bert", {**QV, "bias": "all"}),
    "bert, masked LM": (AutoModelForMaskedLM, "bert", {"target_modules": ["query", "word_embeddings"]}),
    "roberta, classes": (AutoModelForSequenceClassification, "roberta", {**QV, "task_type": "SEQ_CLS"}),
    "distilbert": (AutoModel, "distilbert", {"target_modules": ["q_lin", "v_lin", "lin1"]}),
    "distilbert, classes": (
        AutoModelForSequenceClassification,
        "distilbert",
        {"target_modules": ["q_lin"], "task_type": "SEQ_CLS"},
    ),
    "modernbert": (AutoModel, "modernbert", {"target_modules": "all-linear"}),
    "t5": (AutoModel, "t5", {"target_modules": ["q", "v", "wo"]}),
    "t5 encoder": (T5EncoderModel, "t5", {"target_modules": ["q", "v"]}),
    "gpt2": (AutoModel, "gpt2", {"target_modules": ["c_attn", "c_proj", "c_fc"], "fan_in_fan_out": True}),
}


@pytest.fixture(params=list(CASES.values()), ids=list(CASES))
def made(request: pytest.FixtureRequest, settings: Settings) -> tuple[Any, Settings]:
    auto_class, model_type, options = request.param
    if auto_class is T5EncoderModel:
        whole = random_class(AutoModel, model_type)
        saved_base(whole, settings.models_dir / "base")
        model = T5EncoderModel.from_pretrained(settings.models_dir / "base")
    else:
        model = random_class(auto_class, model_type)
        saved_base(model, settings.models_dir / "base")
    return save_adapter(model, "base", settings.models_dir / "adapter", **options), settings


@pytest.mark.sample(8)
def test_every_tensor_equals_that_of_peft(made: tuple[Any, Settings]) -> None:
    merged, settings = made
    folder = weights_folder(resolve("adapter", settings), settings)
    with TensorReader(folder) as reader:
        ours = {tensor.name: reader.read(tensor) for tensor in read_header(folder).tensors}
    merged.save_pretrained(settings.models_dir / "merged")
    theirs = settings.models_dir / "merged"
    names = {tensor.name for tensor in read_header(theirs).tensors}
    assert names <= set(ours)  # the base of T5's encoder also has a decoder
    with TensorReader(theirs) as reader:
        for tensor in read_header(theirs).tensors:
            expected = reader.read(tensor)
            np.testing.assert_allclose(ours[tensor.name], expected, rtol=0, atol=EXACT, err_msg=tensor.name)


@pytest.mark.sample(3)
def test_hidden_states_equal_those_of_peft(made: tuple[Any, Settings]) -> None:
    merged, settings = made
    encoder = merged.base_model
    encoder = encoder.get_encoder() if encoder.config.is_encoder_decoder else encoder
    ids = torch.tensor([[2, 5, 7, 9, 11, 3]])
    plain, ours = (load_model(resolve(name, settings), settings).model for name in ("base", "adapter"))
    with torch.no_grad():
        before, found, expected = (each(input_ids=ids)[0].numpy() for each in (plain, ours, encoder))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    assert np.abs(before - found).max() > 1e-3, "the adapter changes nothing"


@pytest.mark.parametrize("with_head", [False, True], ids=["base without a head", "base with a head of two labels"])
def test_a_head_of_three_labels_is_that_of_the_adapter(settings: Settings, with_head: bool) -> None:
    whole = random_class(AutoModelForSequenceClassification, "bert", num_labels=2)
    saved_base(whole if with_head else whole.bert, settings.models_dir / "base")
    model = AutoModelForSequenceClassification.from_pretrained(
        settings.models_dir / "base", num_labels=3, ignore_mismatched_sizes=True
    )
    merged = save_adapter(model.eval(), "base", settings.models_dir / "adapter", task_type="SEQ_CLS", **QV)
    source = resolve("adapter", settings)
    head = load_head(source, settings)
    tokens = tokenize(load_tokenizer(source, settings), TEXT, None)
    ids = torch.tensor([list(tokens.input_ids)])
    with torch.no_grad():
        ours, theirs = head.model(input_ids=ids).logits, merged(input_ids=ids).logits
    assert head.model_class == "BertForSequenceClassification"
    assert ours.shape == (1, 3)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=0, atol=1e-5)


def test_another_base_can_be_named(settings: Settings) -> None:
    first, second = (random_class(AutoModel, "bert") for _ in range(2))
    with torch.no_grad():
        second.embeddings.word_embeddings.weight.add_(1)
    saved_base(second, settings.models_dir / "other")
    save_adapter(first, "nowhere", settings.models_dir / "adapter", **QV)
    source = resolve("adapter+other", settings)
    assert source.name == "adapter+other"
    np.testing.assert_array_equal(
        load_model(source, settings).model.get_input_embeddings().weight.detach().numpy(),
        second.embeddings.word_embeddings.weight.detach().numpy(),
    )


def test_a_base_of_sixteen_bits_is_merged_in_float32(settings: Settings) -> None:
    """W + scale · B · A of rounded W, without rounding the sum."""
    model = random_class(AutoModel, "bert").to(torch.bfloat16)
    saved_base(model, settings.models_dir / "base")
    merged = save_adapter(model.float(), "base", settings.models_dir / "adapter", **QV)
    name = "encoder.layer.0.attention.self.query.weight"
    folder = weights_folder(resolve("adapter", settings), settings)
    tensor = next(each for each in read_header(folder).tensors if each.name == name)
    assert tensor.dtype == "float32"
    expected = merged.get_parameter(name).detach().numpy()
    with TensorReader(folder) as reader:
        np.testing.assert_allclose(reader.read(tensor), expected, rtol=0, atol=EXACT)


def test_only_changed_tensors_are_written(settings: Settings, tmp_path: Path) -> None:
    model = random_class(AutoModel, "bert")
    saved_base(model, settings.models_dir / "base")
    save_adapter(model, "base", settings.models_dir / "adapter", **QV)
    folder = weights_folder(resolve("adapter", settings), settings)
    links = [path for path in folder.iterdir() if path.is_symlink()]
    assert [path.resolve().name for path in links] == ["model.safetensors"]
    assert {tensor.file for tensor in read_header(folder).tensors} == {
        path.name for path in folder.glob("*.safetensors")
    }
    assert weights_folder(resolve("adapter", settings), settings) == folder, "written again"
    save_adapter(random_class(AutoModel, "bert"), "base", settings.models_dir / "adapter", r=5, **QV)
    assert weights_folder(resolve("adapter", settings), settings) != folder
    assert not folder.exists(), "the folder of the former state is still there"
    larger = dataclasses.replace(settings, max_model_bytes=10)
    with pytest.raises(Exception, match="INSIDE_BERT_MAX_MODEL_BYTES"):
        weights_folder(resolve("adapter", larger), larger)
