"""Patching: copying everything gives the other run, copying nothing this one; a cell is a run with that cell copied."""

import numpy as np
import pytest
import torch

from bertviz_core.errors import SupersededError, TextError
from bertviz_core.interventions.hooks import Intervention
from bertviz_core.interventions.runs import Donor, Patched, patches
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_causes import ATTENDING, opened, tiny_runs
from tests.helpers.tiny_models import HEADS, LAYERS

OTHER = "my pet language bank river."
"""A text with as many tokens as TEXT, most of them different."""
TWO_STREAMS = ("lilt",)
"""Families in which a second stream, for the layout, carries a part of the text past the hidden states."""


@pytest.mark.parametrize("family", ATTENDING)
@pytest.mark.sample(3)
def test_patching_all_is_the_other_run_and_patching_nothing_is_none(family: str) -> None:
    runs = tiny_runs(family)
    corrupt = tokenize(opened(family)[1], OTHER)
    assert len(corrupt) == len(runs.target.tokens)
    donor = Donor()
    with RUN_LOCK, torch.inference_mode():
        clean = float(runs.run(donor, runs.target.tokens, 1))
        other = float(runs.run(Intervention(), corrupt, 1))
        heads = {layer: torch.zeros(1, count, dtype=torch.bool) for layer, count in enumerate(runs.head_counts)}
        assert float(runs.run(Patched(donor, heads=heads), corrupt, 1)) == other
        for layer, state in donor.states.items():
            everything = torch.ones(1, state.shape[1], dtype=torch.bool)
            whole = float(runs.run(Patched(donor, {layer: everything}), corrupt, 1))
            assert whole == pytest.approx(clean, abs=1e-5) or (family in TWO_STREAMS and layer > 0)
            assert float(runs.run(Patched(donor, {layer: ~everything}), corrupt, 1)) == other
    assert clean != pytest.approx(other, abs=1e-4)


def test_each_cell_is_the_normalised_effect_of_its_own_run() -> None:
    runs, loaded = tiny_runs("bert"), opened("bert")[0]
    corrupt = tokenize(opened("bert")[1], OTHER)
    calls: list[tuple[int, int]] = []
    result = patches(runs, corrupt, lambda *step: calls.append(step))
    seq = len(corrupt)
    assert result.states is not None
    assert result.states.shape == (LAYERS, seq)
    assert result.heads.shape == (LAYERS, HEADS)
    states = [
        loaded.model(**runs.target.inputs((tokens,)), output_hidden_states=True).hidden_states
        for tokens in (runs.target.tokens, corrupt)
    ]
    for layer, position in ((0, 1), (1, 4), (2, seq - 1)):
        mixed = states[1][layer].detach().clone()
        mixed[:, position] = states[0][layer][:, position]
        hook = loaded.model.encoder.layer[layer].register_forward_pre_hook(
            lambda _, args, mixed=mixed: (mixed, *args[1:])
        )
        with RUN_LOCK, torch.no_grad():
            value = float(runs.target.values(runs.target.inputs((corrupt,)), [seq]))
        hook.remove()
        expected = (value - result.corrupt) / (result.clean - result.corrupt)
        assert result.states[layer, position] == pytest.approx(expected, abs=1e-4)
    assert calls == [(1, 3), (2, 3), (3, 3)]
    # The inputs of [CLS] and [SEP] are the same in both texts.
    assert np.abs(result.states[0, [0, -1]]).max() < 1e-5


def test_texts_that_cannot_be_patched_say_why() -> None:
    runs, tokenizer = tiny_runs("bert"), opened("bert")[1]
    with pytest.raises(TextError, match=r"tokens and 4 tokens\. Both texts must have the same number of tokens"):
        patches(runs, tokenize(tokenizer, "the bank"))
    with pytest.raises(TextError, match="no difference"):
        patches(runs, runs.target.tokens)

    def stop(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        patches(runs, tokenize(tokenizer, OTHER), stop)
