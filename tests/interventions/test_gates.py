"""Gates of 0 equal zeroed weights in every family with attention; gates of 1 change nothing.

Covers `bertviz_core/interventions/hooks.py`, `bertviz_core/interventions/hooks.py` and
`bertviz_core/interventions/runs.py`.
"""

import threading
from unittest.mock import patch

import numpy as np
import pytest
import torch

from bertviz_core.errors import BertvizError, SupersededError, TextError
from bertviz_core.heads.projections import layer_projections
from bertviz_core.interventions.hooks import Gated, head_gates, mean_activations
from bertviz_core.interventions.runs import InterventionRuns, chosen
from bertviz_core.trace.run import RUN_LOCK
from tests.helpers.tiny_causes import ATTENDING, WITHOUT_PLACES, cut_head, opened, plain_value, tiny_runs, tiny_target
from tests.helpers.tiny_models import HEADS, LAYERS, PAIR, TEXT

SHARING = ("albert", "bert", "deberta", "distilbert", "electra", "gpt2", "modernbert", "mpnet", "roberta", "t5")
"""Families whose rows must share the lower layers; in others they may."""


def removed(runs: InterventionRuns, *places: tuple[int, int]) -> float:
    gates = head_gates([places], runs.layers, max(runs.head_counts), "cpu")
    return float(runs.effects(gates)[0])


def users(family: str, layer: int) -> tuple[int, ...]:
    return layer_projections(opened(family)[0], layer).shared_with


@pytest.mark.parametrize("family", ATTENDING)
@pytest.mark.sample(3)
def test_a_row_of_ones_changes_nothing_at_all(family: str) -> None:
    runs = tiny_runs(family)
    assert runs.clean == plain_value(runs.target)
    with RUN_LOCK, torch.inference_mode():
        one = runs.run(Gated(runs.gates(1)), runs.target.tokens, 1)
    assert float(one[0]) == runs.clean
    np.testing.assert_array_equal(runs.effects(runs.gates(3)), 0)


@pytest.mark.parametrize("family", ATTENDING)
@pytest.mark.sample(3)
def test_a_removed_head_is_a_head_with_zeroed_columns(family: str) -> None:
    runs = tiny_runs(family)
    assert len(runs.head_counts) == runs.layers
    for layer, head in runs.places:
        effect = removed(runs, *((user, head) for user in users(family, layer)))
        with cut_head(opened(family)[0], layer, head):
            expected = plain_value(runs.target) - runs.clean
        assert effect == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("family", [name for name in ATTENDING if name != "albert"])
@pytest.mark.sample(4)
def test_a_head_at_its_mean_is_one_with_zeroed_columns_and_a_corrected_bias(family: str) -> None:
    runs, (loaded, tokenizer) = tiny_runs(family), opened(family)
    means = mean_activations(loaded, tokenizer, (TEXT, PAIR, "the bank"), "three")
    layer, head = runs.layers - 1, 1
    assert len(users(family, layer)) == 1  # ALBERT's single bias, for all layers, cannot be corrected for one of them
    gates = head_gates([[(layer, head)]], runs.layers, max(runs.head_counts), "cpu")
    effect = float(runs.effects(gates, means)[0])
    with cut_head(loaded, layer, head, means.heads[layer][head]):
        assert effect == pytest.approx(plain_value(runs.target) - runs.clean, abs=1e-5)


@pytest.mark.parametrize("family", ATTENDING)
@pytest.mark.sample(3)
def test_rows_that_share_the_layers_below_are_those_that_do_not(family: str) -> None:
    runs = tiny_runs(family)
    assert runs.shares or family not in SHARING
    for layer in range(runs.layers if runs.shares else 0):
        gates = runs.gates(4)
        gates.heads[1, layer, 0] = 0
        if runs.parts.feed_forward:
            gates.feed_forward[2, layer] = 0
        gates.layers[3, layer] = 0
        with RUN_LOCK, torch.inference_mode():
            whole = runs.run(Gated(gates), runs.target.tokens, len(gates))
            shared = runs.gated(gates)
        assert gates.first_layer == layer
        np.testing.assert_allclose(shared, whole, atol=1e-6)
        assert len(set(np.round(whole.tolist(), 7))) > 1


def test_a_layer_taken_away_hands_on_what_went_in_and_a_block_taken_away_gives_nothing() -> None:
    runs = tiny_runs("bert")
    model = opened("bert")[0].model
    for layer in range(LAYERS):
        gates = runs.gates(2)
        gates.layers[0, layer] = 0
        gates.feed_forward[1, layer] = 0
        effects = runs.effects(gates)
        whole, dense = model.encoder.layer[layer], model.encoder.layer[layer].output.dense
        with patch.object(whole, "forward", lambda hidden_states, *_, **__: hidden_states):
            skipped = plain_value(runs.target) - runs.clean
        with patch.object(dense, "forward", lambda hidden_states: hidden_states[..., :1] * torch.zeros(12)):
            emptied = plain_value(runs.target) - runs.clean
        np.testing.assert_allclose(effects, [skipped, emptied], atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "mpnet", "distilbert"])
def test_a_head_of_zero_weights_has_no_effect_at_all(family: str) -> None:
    runs = tiny_runs(family)
    with cut_head(opened(family)[0], 1, 0):
        assert removed(runs, (1, 0)) == 0
        assert removed(runs, (1, 1)) != 0


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_other_threads_run_the_model_as_it_is(family: str) -> None:
    runs, values = tiny_runs(family), []
    with runs.removed(head_gates([[(0, 0), (1, 1)]], LAYERS, HEADS, "cpu")):
        thread = threading.Thread(target=lambda: values.append(plain_value(runs.target)))
        thread.start()
        thread.join()
        assert plain_value(runs.target) != runs.clean
    assert values == [runs.clean]
    assert plain_value(runs.target) == runs.clean


def test_batches_of_any_size_give_the_same_effects_and_can_be_stopped() -> None:
    target = tiny_target("bert")
    small, large = InterventionRuns(target, 1), tiny_runs("bert")
    gates = head_gates([[place] for place in large.places], LAYERS, HEADS, "cpu")
    calls: list[tuple[int, int]] = []
    np.testing.assert_allclose(
        small.effects(gates, progress=lambda *step: calls.append(step)), large.effects(gates), atol=1e-6
    )
    assert calls == [(step + 1, len(gates)) for step in range(len(gates))]

    def stop(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        small.effects(gates, progress=stop)
    assert plain_value(target) == large.clean


@pytest.mark.sample(5)
@pytest.mark.parametrize("family", WITHOUT_PLACES)
def test_a_family_without_places_says_so_in_one_sentence(family: str) -> None:
    with pytest.raises(BertvizError) as raised:
        InterventionRuns(tiny_target(family))
    assert "\n" not in str(raised.value)


def test_a_head_that_is_not_there_is_told() -> None:
    runs = tiny_runs("bert")
    assert chosen([(2, 1), (0, 0), (2, 1)], runs) == [(2, 1), (0, 0)]
    with pytest.raises(TextError, match="no head 2 in layer 1 .* layers 0 to 2, and heads 0 to 1"):
        chosen([(1, 2)], runs)
