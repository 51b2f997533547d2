"""Pair attributions: with the reference terms they add up to the cosine; parts equal those from backward Jacobians."""

from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.attribution import pair_attributions as module
from bertviz_core.attribution.pair_attributions import (
    SHARE_TOLERANCE,
    TOLERANCE,
    _products,
    _State,
    _Way,
    pair_attributions,
)
from bertviz_core.attribution.results import PairAttributions
from bertviz_core.errors import SupersededError, TextError, UnsupportedModelError, no_progress
from bertviz_core.interventions.hooks import intervening
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.interventions.targets import cosine_target
from bertviz_core.sentences.results import DenseLayer, SentencePlan
from bertviz_core.settings import MAX_BATCH_BYTES
from tests.helpers.tiny_causes import opened, plain_value, tiny_target
from tests.helpers.tiny_models import HIDDEN, LAYERS, PAIR, TEXT

SEVERAL = ("albert", "bert", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet", "roberta")
MEAN = SentencePlan("mean")


def ledger(family: str, layer: int = 0, plan: SentencePlan = MEAN) -> PairAttributions:
    return pair_attributions(*opened(family), TEXT, PAIR, plan, layer)


def own_vectors(family: str) -> list[np.ndarray]:
    """Vectors of norm 1 of both texts and of their masked versions, from transformers' own run."""
    loaded, tokenizer = opened(family)
    vectors = []
    for text in (TEXT, PAIR):
        ids = torch.tensor([tokenizer.tokenizer(text)["input_ids"]])
        special = torch.isin(ids, torch.tensor(tokenizer.tokenizer.all_special_ids))
        for row in (ids, torch.where(special, ids, tokenizer.tokenizer.mask_token_id)):
            with torch.no_grad():
                state = loaded.model(input_ids=row, attention_mask=torch.ones_like(row)).last_hidden_state[0]
            vectors.append(torch.nn.functional.normalize(state.mean(dim=0), dim=0).numpy())
    return vectors


@pytest.mark.sample(1)
@pytest.mark.parametrize("family", SEVERAL)
def test_shares_and_reference_terms_are_the_cosine(family: str) -> None:
    result = ledger(family, 1)
    cosine = plain_value(tiny_target(family))
    assert result.cosine == pytest.approx(cosine, abs=1e-5)
    missed = abs(float(result.shares.sum()) + result.reference_terms - cosine)
    assert missed < 2 * TOLERANCE or any("still misses" in notice for notice in result.notices)
    assert result.error == pytest.approx(missed, abs=1e-5)
    if family in ("bert", "distilbert", "roberta"):
        first, first_masked, second, second_masked = own_vectors(family)
        terms = (result.first_reference, result.second_reference, result.both_references)
        expected = (first @ second_masked, first_masked @ second, first_masked @ second_masked)
        np.testing.assert_allclose(terms, expected, atol=1e-5)


@pytest.mark.sample(1)
@pytest.mark.parametrize("layer", range(LAYERS))
def test_every_layer_may_be_the_start(layer: int) -> None:
    result = ledger("bert", layer)
    assert result.error <= TOLERANCE
    special = np.array(result.first.special)
    own = np.abs(result.shares[special]).max()
    assert (own < 1e-6) == (layer == 0)  # before the first layer, a mask elsewhere changes no special token


@pytest.mark.slow
def test_parts_are_those_of_backward_jacobians() -> None:
    result, parts = ledger("bert", 1), []
    for text, other in ((TEXT, PAIR), (PAIR, TEXT)):
        loaded, tokenizer = opened("bert")
        runs = InterventionRuns(cosine_target(loaded, tokenizer, text, other, MEAN))
        ids = torch.tensor([tokenizer.tokenizer(text)["input_ids"]])
        special = torch.isin(ids, torch.tensor(tokenizer.tokenizer.all_special_ids))
        states = []
        for row in (ids, torch.where(special, ids, tokenizer.tokenizer.mask_token_id)):
            with torch.no_grad():
                states.append(loaded.model(input_ids=row, output_hidden_states=True).hidden_states[1])
        way, nodes = states[0] - states[1], 64

        def vector(state: torch.Tensor, runs: InterventionRuns = runs, ids: torch.Tensor = ids) -> torch.Tensor:
            with intervening(runs.target.loaded.model, runs.parts, runs.layers, _State(1, state)):
                mean = runs.target.loaded.model(input_ids=ids).last_hidden_state[0].mean(dim=0)
            return torch.nn.functional.normalize(mean, dim=0)

        total = torch.zeros(way.shape[1], HIDDEN)
        for node in range(nodes):
            jacobian = torch.autograd.functional.jacobian(vector, states[1] + (node + 0.5) / nodes * way)
            total += torch.einsum("dsh,sh->sd", jacobian[:, 0], way[0]) / nodes
        parts.append(total.numpy())
    np.testing.assert_allclose(result.shares, parts[0] @ parts[1].T, atol=2e-4)
    assert np.abs(result.shares).max() > 1e-2


@pytest.mark.slow
def test_a_plan_with_dense_layers_and_an_inner_layer_keeps_the_law() -> None:
    rows = np.random.default_rng(0).normal(size=(5, HIDDEN)).astype(np.float32)
    for plan in (
        SentencePlan("cls", dense=(DenseLayer(rows, None, "tanh"),), truncate_dim=4),
        SentencePlan("mean", layer=LAYERS - 1),
    ):
        result = ledger("bert", 1, plan)
        target = cosine_target(*opened("bert"), TEXT, PAIR, plan)
        assert float(result.shares.sum()) + result.reference_terms == pytest.approx(plain_value(target), abs=3e-5)


def test_a_text_beside_itself_is_wholly_alike_and_the_ledger_symmetric() -> None:
    result = pair_attributions(*opened("bert"), TEXT, TEXT, MEAN, 1)
    assert result.cosine == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(result.shares, result.shares.T, atol=1e-6)


@pytest.mark.slow
def test_batches_progress_and_the_end_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOLERANCE", 1.0)  # with few nodes, each of which is a run per token here
    calls: list[tuple[int, int]] = []
    given = (*opened("bert"), "my pet", "the river", MEAN, LAYERS - 1)
    rows = pair_attributions(*given, lambda *at: calls.append(at), max_batch_bytes=1)
    assert all(0 <= done <= nodes for done, nodes in calls)
    assert len(calls) > calls[0][1]  # a batch for each token of a node
    np.testing.assert_allclose(rows.shares, pair_attributions(*given).shares, atol=1e-6)

    def superseded(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        pair_attributions(*opened("bert"), TEXT, PAIR, MEAN, 1, superseded)


class OneWay(torch.autograd.Function):
    """A function without a forward derivative."""

    @staticmethod
    def forward(context: Any, state: torch.Tensor) -> torch.Tensor:
        return state.clone()

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


def test_a_step_without_a_forward_derivative_is_told() -> None:
    block = opened("bert")[0].model.encoder.layer[2].output
    handle = block.register_forward_hook(lambda module, given, output: OneWay.apply(output))
    try:
        with pytest.raises(UnsupportedModelError, match="without a forward derivative"):
            ledger("bert", 1)
    finally:
        handle.remove()


def test_what_cannot_be_done_is_told() -> None:
    with pytest.raises(TextError, match=f"last is {LAYERS - 1}"):
        ledger("bert", LAYERS)
    with pytest.raises(UnsupportedModelError, match="no module of a whole layer"):
        ledger("xlm")
    with pytest.raises(UnsupportedModelError, match="no attention heads"):
        ledger("fnet")


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta"])
def test_the_error_of_a_share_is_the_one_it_has(family: str) -> None:
    """Compared with many more nodes: the change by the last doubling is at least the remaining error."""
    result = ledger(family, 0)
    ways = [_Way(*opened(family), one, other, MEAN, 0, MAX_BATCH_BYTES) for one, other in ((TEXT, PAIR), (PAIR, TEXT))]
    exact = _products(ways, 4 * (result.nodes - 1), no_progress)
    wrong = np.abs(result.shares - exact)
    assert wrong.max() <= 2 * result.share_errors.max() + 1e-6
    assert result.share_errors.max() <= SHARE_TOLERANCE * np.abs(result.shares).max() or result.notices
    np.testing.assert_array_equal(result.uncertain, np.abs(result.shares) < result.share_errors)
