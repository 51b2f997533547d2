"""Loading heads: around the base in memory, completely or not at all, with one message per refusal."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviz_core.errors import BertvizError, CheckpointError, UnsupportedModelError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.predictions.masked_lm import predicted_words
from bertviz_core.predictions.run import PREDICTED, load_head, stored_task
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.tiny_heads import SETTINGS, opened_head, save_tiny_head
from tests.helpers.tiny_models import TEXT, save_tiny


def changed(folder: Path, keep: Any = lambda name: True, **config: Any) -> Path:
    """Remove some tensors from a folder, and change its config."""
    tensors = {name: values for name, values in load_file(folder / "model.safetensors").items() if keep(name)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return folder


@pytest.mark.sample(6)
@pytest.mark.parametrize("family", ["bert", "distilbert", "modernbert", "roberta", "deberta-v2", "nomic_bert", "bart"])
@pytest.mark.parametrize("task", ["masked-lm", "sequence-classification"])
def test_base_and_head_share_one_copy_of_the_weights(family: str, task: str, tmp_path: Path) -> None:
    source = folder_source("tiny", save_tiny_head(family, task, tmp_path / "tiny"))
    base = load_model(source, SETTINGS)
    before = {name: value.data_ptr() for name, value in base.model.named_parameters()}
    head = load_head(source, SETTINGS, base=base)
    assert head.task == stored_task(source) == task
    assert not head.model.training
    inside = {value.data_ptr() for value in head.model.parameters()}
    assert {name: value.data_ptr() for name, value in base.model.named_parameters()} == before
    assert set(before.values()) <= inside
    stored = load_file(source.folder / "model.safetensors") if source.folder else {}
    own = dict(head.model.named_parameters(remove_duplicate=False))
    assert all(torch.equal(own[name], value) for name, value in stored.items() if name in own)
    added = sum(value.nbytes for value in head.model.parameters() if value.data_ptr() not in before.values())
    base_nbytes = sum(value.nbytes for value in base.model.parameters())
    assert sum(value.nbytes for value in head.model.parameters()) == base_nbytes + added


def test_the_base_runs_on_as_before_a_head_was_put_on(tmp_path: Path) -> None:
    source = folder_source("tiny", save_tiny_head("bert", "masked-lm", tmp_path / "tiny"))
    base, tokens = load_model(source, SETTINGS), tokenize(load_tokenizer(source, SETTINGS), TEXT)
    before = trace(base, tokens)
    load_head(source, SETTINGS, base=base)
    after = trace(base, tokens)
    assert before.attention_source == after.attention_source == "recorded"
    assert (before.hidden_states == after.hidden_states).all()


def test_a_missing_pooler_is_no_reason_to_refuse_a_masked_lm(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", "masked-lm", tmp_path / "tiny")
    assert not any("pooler" in name for name in load_file(folder / "model.safetensors"))
    assert opened_head(folder)[0].model_class == "BertForMaskedLM"
    layout = changed(save_tiny_head("layoutlm", "masked-lm", tmp_path / "layout"), lambda name: "pooler" not in name)
    head, tokenizer = opened_head(layout)
    assert (head.base_path, head.base.has_pooler) == ("layoutlm", False)
    assert np.isfinite(predicted_words(head, tokenizer, tokenize(tokenizer, TEXT)).log_probability).all()


def test_a_pretraining_class_answers_as_a_masked_lm_and_as_next_sentence(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", "pretraining", tmp_path / "tiny")
    assert opened_head(folder)[0].task == "masked-lm"
    assert opened_head(folder, "next-sentence")[0].model_class == "BertForNextSentencePrediction"


@pytest.mark.parametrize("saved", ["ElectraForPreTraining", "FunnelForPreTraining"])
def test_a_discriminator_is_refused_by_the_name_of_its_class(tmp_path: Path, saved: str) -> None:
    folder = save_tiny_head(saved.removesuffix("ForPreTraining").lower(), "pretraining", tmp_path / "tiny")
    with pytest.raises(UnsupportedModelError, match=rf"'tiny' was saved as {saved}, a discriminator.*generator"):
        opened_head(folder)
    with pytest.raises(CheckpointError, match=rf"masked-lm is not whole in 'tiny', saved as {saved}: "):
        opened_head(folder, "masked-lm")


def test_half_a_head_is_refused_and_the_load_report_named(tmp_path: Path) -> None:
    folder = changed(save_tiny_head("bert", "masked-lm", tmp_path / "tiny"), lambda name: "transform" not in name)
    whole = r"not whole in 'tiny', saved as BertForMaskedLM: 4 tensors .*load report.*--task masked-lm"
    with pytest.raises(CheckpointError, match=whole):
        opened_head(folder)
    classifier = save_tiny_head("bert", "sequence-classification", tmp_path / "classes")
    with pytest.raises(CheckpointError, match=r"2 tensors \('qa_outputs.bias', ...\) would be random"):
        opened_head(classifier, "question-answering")
    with pytest.raises(CheckpointError, match=r"1 tensor \('classifier.bias'\)"):
        opened_head(changed(classifier, lambda name: name != "classifier.bias"))


def test_labels_that_lie_about_their_number_are_refused_with_the_right_one(tmp_path: Path) -> None:
    folder = save_tiny_head("bert", "sequence-classification", tmp_path / "tiny", num_labels=3)
    with pytest.raises(CheckpointError, match="has 3 labels, and 2 are expected, by id2label in config.json"):
        opened_head(changed(folder, id2label={"0": "a", "1": "b"}))


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (None, "holds a base model .BertModel. and no task head"),
        ("nonsense", "No task 'nonsense' found"),
        ("base", "'base' makes no prediction"),
        ("multiple-choice", "'multiple-choice' makes no prediction"),
        ("masked-lm", "not whole in 'tiny'"),
    ],
)
def test_a_base_model_predicts_nothing(tmp_path: Path, task: str | None, words: str) -> None:
    source = folder_source("tiny", save_tiny("bert", tmp_path / "tiny"))
    with pytest.raises(BertvizError, match=words) as refusal:
        load_head(source, SETTINGS, task)
    assert "\n" not in str(refusal.value)


def test_a_head_of_another_kind_is_named(tmp_path: Path) -> None:
    folder = changed(save_tiny("gpt2", tmp_path / "tiny"), architectures=["GPT2LMHeadModel"])
    with pytest.raises(UnsupportedModelError, match=r"has a language-model head \(GPT2LMHeadModel\)"):
        opened_head(folder)
    with pytest.raises(UnsupportedModelError, match="does not say which task head it has"):
        opened_head(changed(folder, architectures=None))
    with pytest.raises(UnsupportedModelError, match="gpt2 models have no class for the task 'masked-lm'"):
        opened_head(folder, "masked-lm")


def test_the_bundled_masked_lm_is_introduced(settings: Settings) -> None:
    head = load_head(resolve("splade-tiny", settings), settings)
    assert head.task == PREDICTED[0]
    assert head.notices[0].startswith("splade-tiny is a BERT of 2 layers")


@pytest.mark.parametrize("value", [torch.nan, -torch.inf])
def test_weights_of_a_head_that_are_not_finite_are_named(value: float, tmp_path: Path) -> None:
    folder = save_tiny_head("bert", "sequence-classification", tmp_path / "tiny")
    tensors = load_file(folder / "model.safetensors")
    tensors["classifier.bias"][0] = value
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    head, _ = opened_head(folder)
    (notice,) = head.notices
    assert notice.startswith("1 tensor holds NaN or infinity ('classifier.bias')")
    assert head.base.notices == ()
