"""Effects equal the target with the part changed minus clean; the estimate is the slope of central differences.

Covers `bertviz_core/interventions/hooks.py`.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertviz_core.errors import SupersededError, TextError
from bertviz_core.figures.interventions.effects import effect_columns
from bertviz_core.interventions.ablation import SAME_LAYERS, ablation_effects, all_effects, compared, effect_spread
from bertviz_core.interventions.hooks import Gated, head_gates, mean_activations, reference_texts
from bertviz_core.interventions.results import EffectComparison
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.interventions.targets import Target, class_target, word_target
from bertviz_core.questions.tables.interventions import largest_effects
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_causes import ATTENDING, cut_head, opened, plain_value, tiny_runs, tiny_target
from tests.helpers.tiny_heads import tiny_head
from tests.helpers.tiny_models import HEADS, LAYERS, TEXT

STEP = 0.02
"""Step of a gate around 1: large enough for float32, small enough for linearity."""


def test_each_effect_is_that_of_its_own_run() -> None:
    target, model = tiny_target("bert"), opened("bert")[0]
    calls: list[tuple[int, int]] = []
    effects = ablation_effects(target, progress=lambda *step: calls.append(step))
    assert effects.heads.shape == (LAYERS, HEADS)
    assert effects.clean == plain_value(target)
    for layer in range(LAYERS):
        for head in range(HEADS):
            with cut_head(model, layer, head):
                assert effects.heads[layer, head] == pytest.approx(plain_value(target) - effects.clean, abs=1e-5)
    assert calls == [(1, 3), (2, 3), (3, 3)]
    largest = np.unravel_index(np.abs(effects.heads).argmax(), effects.heads.shape)
    assert effects.ranked()[0] == (*largest, float(effects.heads[largest]))
    assert len(effects.ranked()) == LAYERS * HEADS


@pytest.mark.parametrize("family", ATTENDING)
@pytest.mark.sample(4)
def test_the_estimate_is_the_slope_of_central_differences(family: str) -> None:
    runs = tiny_runs(family)
    estimate = ablation_effects(runs.target, "gradient")
    gates = runs.gates(2)
    layer, head = runs.layers - 1, 1
    gates.heads[0, layer, head], gates.heads[1, layer, head] = 1 + STEP, 1 - STEP
    with RUN_LOCK, torch.inference_mode():
        up, down = (float(runs.run(Gated(gates.part(slice(row, row + 1))), runs.target.tokens, 1)) for row in (0, 1))
    slope = (up - down) / (2 * STEP)
    assert estimate.heads[layer, head] == pytest.approx(-slope, rel=0.03, abs=2e-5)


@pytest.mark.slow
def test_a_head_and_a_word_are_targets_too() -> None:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", num_labels=4)
    words, word_tokenizer, _ = tiny_head("roberta", "masked-lm")
    targets: list[tuple[Target, object]] = [
        (class_target(head, tokenize(tokenizer, TEXT), "LABEL_3", "margin"), head.base),
        (word_target(words, word_tokenizer, tokenize(word_tokenizer, TEXT), "river", 3), words.base),
    ]
    for target, base in targets:
        for kind in ("zero", "gradient"):
            effects = ablation_effects(target, kind)
            assert effects.clean == plain_value(target)
            assert effects.unit == target.unit
            if kind == "zero":
                with cut_head(base, 0, 1):
                    assert effects.heads[0, 1] == pytest.approx(plain_value(target) - effects.clean, abs=1e-5)


def test_shuffled_weights_change_the_picture() -> None:
    target, model = tiny_target("bert"), opened("bert")[0].model
    before = ablation_effects(target).heads
    query = model.encoder.layer[0].attention.self.query.weight
    saved = query.detach().clone()
    with torch.no_grad():
        query.copy_(saved[torch.randperm(len(saved), generator=torch.Generator().manual_seed(0))])
    try:
        assert np.abs(ablation_effects(target).heads - before).max() > 1e-3
    finally:
        with torch.no_grad():
            query.copy_(saved)
    np.testing.assert_array_equal(ablation_effects(target).heads, before)


def test_means_of_padded_batches_are_those_of_texts_alone() -> None:
    loaded, tokenizer = opened("bert")
    texts = (TEXT, "the bank", "i love the river bank, my python.")
    means = mean_activations(loaded, tokenizer, texts, "three texts")
    recorded: list[torch.Tensor] = []
    module = loaded.model.encoder.layer[1].attention.output.dense
    hook = module.register_forward_pre_hook(lambda _, args: recorded.append(args[0][0]))
    with torch.no_grad():
        for text in texts:
            loaded.model(**tokenizer.tokenizer(text, return_tensors="pt"))
    hook.remove()
    rows = torch.cat(recorded)
    np.testing.assert_allclose(means.heads[1].ravel(), rows.mean(dim=0), atol=1e-5)
    assert (means.texts, means.tokens) == (3, len(rows))
    assert len(means.feed_forward) == len(means.layers) == LAYERS
    assert len(reference_texts()) == 55
    effects = ablation_effects(tiny_target("bert"), "mean", means)
    assert effects.reference == f"three texts (3 texts, {len(rows)} tokens)"
    with pytest.raises(TextError, match="no text"):
        mean_activations(loaded, tokenizer, ())


def test_kinds_are_compared_and_texts_averaged() -> None:
    loaded, tokenizer = opened("bert")
    kinds = [ablation_effects(tiny_target("bert"), kind) for kind in ("zero", "gradient")]
    comparison = compared(kinds)
    expected = np.corrcoef(kinds[0].heads.ravel(), kinds[1].heads.ravel())
    np.testing.assert_allclose(comparison.correlations, expected, atol=1e-5)
    texts = (TEXT, "the bank", "my pet")
    each = [ablation_effects(tiny_target("bert", text)) for text in texts]
    spread = effect_spread(iter(each))
    stacked = np.stack([one.heads for one in each])
    np.testing.assert_allclose(spread.mean, stacked.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(spread.spread, stacked.std(axis=0, ddof=1), atol=1e-6)
    assert spread.texts == 3
    assert np.isnan(effect_spread(each[:1]).spread).all()
    with pytest.raises(TextError, match="no text"):
        effect_spread([])


def test_what_is_seen_on_the_way_is_a_part_of_the_end() -> None:
    target, kinds = tiny_target("bert"), ("zero", "mean", "gradient")
    means = mean_activations(*opened("bert"))
    calls: list[tuple[int, int]] = []
    partial: list[EffectComparison] = []
    end = all_effects(target, kinds, means, lambda *step: calls.append(step), on_partial=partial.append)
    assert calls == [(1, 9), (2, 9), (3, 9), (4, 9), (5, 9), (6, 9), (9, 9)]
    cells = [np.stack([effect_columns(each)[0] for each in comparison.effects]) for comparison in (*partial, end)]
    for place, found in enumerate(cells[:-1]):
        assert tuple(each.kind for each in partial[place].effects) == kinds
        known = ~np.isnan(found)
        assert known.all(axis=2).ravel().tolist() == [row <= place for row in range(9)]
        np.testing.assert_array_equal(found[known], cells[-1][known])
    assert len(partial) == 6
    assert not np.isnan(cells[-1]).any()
    np.testing.assert_array_equal(end.effects[1].heads, ablation_effects(target, "mean", means).heads)


def test_what_is_too_large_or_not_wanted_ends() -> None:
    target = tiny_target("bert")
    with pytest.raises(TextError, match="INSIDE_BERT_MAX_GRADIENT_BYTES"):
        ablation_effects(target, "gradient", max_gradient_bytes=1)

    def stop(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        ablation_effects(target, progress=stop)
    means = mean_activations(*opened("bert"), (TEXT,))
    for kind, given in (("mean", None), ("zero", means), ("mean", replace(means, revision="other"))):
        with pytest.raises(ValueError, match="means of"):
            ablation_effects(target, kind, given)
    runs = InterventionRuns(target)
    gates = head_gates([[]], LAYERS, HEADS, "cpu")
    assert runs.effects(gates)[0] == 0


@pytest.mark.parametrize(("clean", "carries"), [(10.0, False), (-10.0, False), (5.0, True), (4.0, True)])
def test_no_head_carries_a_number_that_none_changes_by_half(clean: float, carries: bool) -> None:
    heads = np.zeros((LAYERS, HEADS), dtype=np.float32)
    heads[1, 0] = -2.5
    layers = np.array([0.5, 0.25, -3.0], dtype=np.float32)
    effects = replace(ablation_effects(tiny_target("bert")), clean=clean, heads=heads, feed_forward=None, layers=layers)
    words = largest_effects(effects)
    assert words.startswith("Each part taken away: no single head carries") is not carries
    moved = " to ".join(f"{value:.3f}".replace("-", "−") for value in (clean, clean - 2.5))
    assert f"layer 1, head 0, moves it from {moved}" in words
    assert words.endswith("Of whole layers, that of layer 2 changes it most: −3.000.")


def test_equal_effects_are_told_as_equal() -> None:
    effects = ablation_effects(tiny_target("albert"))
    assert "Of whole layers, each changes it alike: " in largest_effects(effects)
    assert effects.notices[-1] == SAME_LAYERS
    layers, heads = np.array([0.5, 3.0, -3.0]), np.ones((LAYERS, HEADS), dtype=np.float32)
    words = largest_effects(replace(effects, heads=heads, layers=layers.astype(np.float32)))
    assert "that of layer 1 (and 1 other) changes it most" in words
    assert "head 0 (and " in words
