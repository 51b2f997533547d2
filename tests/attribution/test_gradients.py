"""Integrated gradients: complete, equal to Captum's, w * (x - r) for a linear target; with a memory estimate."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients

from bertviz_core.attribution.gradients import (
    FIRST_INTERVALS,
    LEAST_NODES,
    TOLERANCE,
    gradient_nbytes,
    gradient_x_input,
    integrated_gradients,
)
from bertviz_core.errors import SupersededError, TextError, UnsupportedModelError
from bertviz_core.interventions.targets import Target, class_target, word_target
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_causes import opened, plain_value, tiny_target
from tests.helpers.tiny_heads import tiny_head
from tests.helpers.tiny_models import TEXT

SEVERAL = ("albert", "bert", "deberta-v2", "distilbert", "electra", "fnet", "ibert", "modernbert", "mpnet", "roberta")


def ends(target: Target, tokenizer: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Word embeddings of the text and of the text with masks."""
    tokens, table = target.tokens, target.loaded.model.get_input_embeddings().weight
    ids = torch.tensor(tokens.input_ids[None])
    masked = torch.where(torch.tensor(tokens.special)[None], ids, tokenizer.tokenizer.mask_token_id)
    return table[ids].detach(), table[masked].detach()


def on_embeddings(target: Target, embeddings: torch.Tensor) -> torch.Tensor:
    inputs = target.inputs((target.tokens,) * len(embeddings))
    del inputs["input_ids"]
    return target.values({**inputs, "inputs_embeds": embeddings}, [len(target.tokens)] * len(embeddings))


@pytest.mark.sample(5)
@pytest.mark.parametrize("family", SEVERAL)
def test_the_shares_are_complete(family: str) -> None:
    target, tokenizer = tiny_target(family), opened(family)[1]
    result = integrated_gradients(target, tokenizer, whole_words=False)
    start = ends(target, tokenizer)[1]
    with RUN_LOCK, torch.no_grad():
        reference = float(on_embeddings(target, start)[0])
    assert result.reference == pytest.approx(reference, abs=1e-6)
    assert result.clean == pytest.approx(plain_value(target), abs=1e-6)
    difference = plain_value(target) - reference
    assert abs(difference) > 1e-4
    assert abs(float(result.shares.sum()) - difference) <= TOLERANCE * abs(difference) + 1e-5
    assert result.error == pytest.approx(abs(float(result.shares.sum()) - difference), abs=1e-5)
    words = integrated_gradients(target, tokenizer)
    assert float(words.shares.sum()) == pytest.approx(float(result.shares.sum()), abs=1e-5)


def test_what_is_not_reached_is_told() -> None:
    result = integrated_gradients(tiny_target("t5"), opened("t5")[1])  # its blocks have kinks, which no node hits
    assert abs(float(result.shares.sum()) - (result.clean - result.reference)) == pytest.approx(result.error, abs=1e-6)
    small = result.error <= TOLERANCE * abs(result.clean - result.reference)
    assert small == (not any("still miss" in notice for notice in result.notices))


def test_they_are_captums() -> None:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", num_labels=4)
    target = class_target(head, tokenize(tokenizer, TEXT), "LABEL_2", "probability")
    end, start = ends(target, tokenizer)
    own = integrated_gradients(target, tokenizer, whole_words=False)
    with RUN_LOCK:
        given, missed = IntegratedGradients(lambda rows: on_embeddings(target, rows)).attribute(
            end, start, n_steps=128, method="gausslegendre", return_convergence_delta=True
        )
    expected = given[0].sum(dim=-1).numpy()[~target.tokens.special]
    assert abs(float(missed)) < 1e-5
    np.testing.assert_allclose(own.shares, expected, atol=2e-3 * abs(own.clean - own.reference))
    assert own.runs < 50 + 2  # Captum's default number of runs, and both ends


@pytest.mark.parametrize("method", [integrated_gradients, gradient_x_input])
def test_a_linear_target_is_its_weights_times_the_way(method: Any) -> None:
    target, tokenizer = tiny_target("bert"), opened("bert")[1]
    end, start = ends(target, tokenizer)
    weight = torch.randn(end.shape[1:], generator=torch.Generator().manual_seed(3))
    table = target.loaded.model.get_input_embeddings()

    def values(inputs: Any, lengths: Any) -> torch.Tensor:
        rows = inputs["inputs_embeds"] if "inputs_embeds" in inputs else table(inputs["input_ids"])
        return (rows * weight).sum(dim=(1, 2)) + 3

    result = method(replace(target, values=values), tokenizer, whole_words=False)
    expected = (weight * (end - start)[0]).sum(dim=-1).numpy()[~target.tokens.special]
    np.testing.assert_allclose(result.shares, expected, atol=1e-5)
    assert result.error < 1e-5


def test_one_gradient_is_the_slope_at_the_text() -> None:
    target, tokenizer = tiny_target("bert"), opened("bert")[1]
    result = gradient_x_input(target, tokenizer)
    end, start = ends(target, tokenizer)
    for positions, share in zip(result.positions, result.shares, strict=True):
        way = torch.zeros_like(end)
        way[:, list(positions)] = (end - start)[:, list(positions)] * 1e-2
        with RUN_LOCK, torch.no_grad():
            up, down = (float(on_embeddings(target, end + sign * way)[0]) for sign in (1, -1))
        assert float(share) == pytest.approx((up - down) / 2e-2, rel=0.03, abs=2e-4)
    assert result.error > 0


def test_a_word_that_is_not_attended_to_has_no_share() -> None:
    target, tokenizer = tiny_target("bert"), opened("bert")[1]
    hidden = 3

    def inputs(rows: Any) -> Any:
        given = target.inputs(rows)
        given["attention_mask"][:, hidden] = 0
        return given

    def values(given: Any, lengths: Any) -> torch.Tensor:
        return target.loaded.model(**given).last_hidden_state[:, 0, 0]

    unseen = replace(target, inputs=inputs, values=values)
    shares = dict(enumerate(integrated_gradients(unseen, tokenizer, whole_words=False).per_token()))
    assert abs(shares[hidden]) < 1e-7
    assert abs(shares[hidden + 1]) > 1e-5


def test_shuffled_weights_change_the_picture() -> None:
    head, tokenizer, _ = tiny_head("bert", "masked-lm")
    target = word_target(head, tokenizer, tokenize(tokenizer, TEXT), "bank", 2)
    before = integrated_gradients(target, tokenizer).shares
    weight = head.base.model.encoder.layer[1].output.dense.weight
    saved = weight.detach().clone()
    with torch.no_grad():
        weight.copy_(weight[:, torch.randperm(weight.shape[1], generator=torch.Generator().manual_seed(1))])
    try:
        after = integrated_gradients(target, tokenizer).shares
    finally:
        with torch.no_grad():
            weight.copy_(saved)
    assert np.corrcoef(before, after)[0, 1] < 0.99


def test_memory_is_told_before_and_batches_do_not_change_the_shares() -> None:
    target, tokenizer = tiny_target("bert"), opened("bert")[1]
    one = gradient_nbytes(target)
    calls: list[tuple[int, int]] = []
    alone = integrated_gradients(target, tokenizer, progress=lambda *at: calls.append(at), max_gradient_bytes=one)
    coarse = FIRST_INTERVALS + 1
    assert calls[:LEAST_NODES] == [
        *((done, coarse) for done in range(1, coarse + 1)),
        *((done, LEAST_NODES) for done in range(coarse + 1, LEAST_NODES + 1)),  # the others are known
    ]
    np.testing.assert_allclose(alone.shares, integrated_gradients(target, tokenizer).shares, atol=1e-6)
    with pytest.raises(TextError, match="INSIDE_BERT_MAX_GRADIENT_BYTES"):
        integrated_gradients(target, tokenizer, max_gradient_bytes=one - 1)

    def superseded(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        integrated_gradients(target, tokenizer, progress=superseded)


def test_a_family_without_a_table_of_words_is_told() -> None:
    with pytest.raises(UnsupportedModelError, match="leave-one-out"):
        integrated_gradients(tiny_target("canine"), opened("canine")[1])
