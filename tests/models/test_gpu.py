"""A GPU gives the same results as the CPU: runs, sentence vectors and predictions, to 1e-4 of the largest value.

Products of float32 on a GPU add in another order, and its attention kernels differ: sums of a few hundred numbers
then differ in the last digits, through all layers by less than this.
"""

import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.models.loading import LoadedModel, device_nbytes, fast_formats, load_model
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.predictions.classes import term_weights
from bertviz_core.predictions.masked_lm import logit_lens, predicted_words, word_shift
from bertviz_core.predictions.run import load_head
from bertviz_core.predictions.scoring import pseudo_likelihood
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.tiny_models import TEXT, save_tiny

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA GPU on this machine"),
]
TOLERANCE = 1e-4
SETTINGS = replace(Settings.from_environment(), allow_hub=False)
SENTENCES = ("He sat by the bank of the river.", "The bank raised its interest rates.", "river", "word " * 300)


def on(device: str) -> Settings:
    return replace(SETTINGS, device=device)


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * max(1.0, float(np.nanmax(np.abs(expected)))))


def tiny(folder: Path, device: str) -> LoadedModel:
    return load_model(folder_source("tiny", folder), on(device))


@pytest.mark.parametrize(
    "model_type", ["bert", "roberta", "distilbert", "modernbert", "deberta-v2", "electra", "mpnet"]
)
def test_a_run(model_type: str, tmp_path: Path) -> None:
    folder = save_tiny(model_type, tmp_path)
    tokens = tokenize(load_tokenizer(folder_source("tiny", folder), SETTINGS), TEXT)
    expected, found = (trace(tiny(folder, device), tokens) for device in ("cpu", "cuda"))
    assert (expected.device, found.device, found.dtype) == ("cpu", "cuda", "float32")
    assert found.attention_source == expected.attention_source
    same(found.hidden_states, expected.hidden_states)
    for name in ("query", "key", "value", "attentions"):
        for one, other in zip(getattr(found, name) or (), getattr(expected, name) or (), strict=True):
            same(one, other)


def test_sentence_vectors() -> None:
    source = resolve(DEFAULT_MODEL, SETTINGS)
    tokenizer, plan = load_tokenizer(source, SETTINGS), recommended(source, SETTINGS)
    expected = sentence_vectors(load_model(source, on("cpu")), tokenizer, SENTENCES, plan).vectors
    model = load_model(source, on("cuda"))
    same(sentence_vectors(model, tokenizer, SENTENCES, plan).vectors, expected)
    if "bfloat16" in fast_formats("cuda"):
        half = sentence_vectors(model, tokenizer, SENTENCES, plan, "bfloat16").vectors
        assert float(np.einsum("nd,nd->n", half, expected).min()) >= 0.999


def test_predictions() -> None:
    source = resolve("splade-tiny", SETTINGS)
    tokenizer = load_tokenizer(source, SETTINGS)
    gap, whole = (tokenize(tokenizer, text) for text in ("The capital of [MASK] is Paris.", "Paris is in France."))

    def answers(device: str) -> list[Any]:
        head = load_head(source, on(device))
        assert {tensor.device.type for tensor in head.model.parameters()} == {device}
        words, lens = predicted_words(head, tokenizer, gap, top=5), logit_lens(head, tokenizer, gap)
        terms = term_weights(head, whole)
        surprise = pseudo_likelihood(head, tokenizer, whole).surprise[1:-1]
        shift = word_shift(head, tokenizer, whole, tokenize(tokenizer, "Paris was in France."), 1)
        return [words.top_logits, lens.entropy, terms.weights[:20], surprise, shift.divergence]

    for found, expected in zip(answers("cuda"), answers("cpu"), strict=True):
        same(found, expected)


def test_a_model_that_is_let_go_gives_its_memory_back() -> None:
    source = resolve(DEFAULT_MODEL, SETTINGS)
    before = torch.cuda.memory_allocated()
    model = load_model(source, on("cuda"))
    memory = torch.cuda.memory_allocated() - before
    weights = sum(tensor.nbytes for tensor in (*model.model.parameters(), *model.model.buffers()))
    assert weights <= memory <= 1.1 * weights
    assert memory < (device_nbytes("cuda") or 0)
    del model
    gc.collect()  # modules and their hooks form reference cycles
    assert torch.cuda.memory_allocated() - before < 0.01 * weights
