"""The recorded blocks are what the layer adds: residuals of pre-norm families, norms of post-norm ones."""

import numpy as np
import pytest
import torch

from bertviz_core.heads.projections import capture_layer_io
from bertviz_core.interventions.hooks import feed_forward_maps, is_convolution
from bertviz_core.journey.steps import feed_forward_run, mixing_output
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_causes import opened
from tests.helpers.tiny_models import FAMILIES, TEXT

UNKNOWN = {"canine", "funnel", "mobilebert", "xmod"}
"""Families whose layers have several last maps, or no row per token; all others are recorded."""
PRE_NORM = ("gpt2", "modernbert", "roberta-prelayernorm", "t5", "xlm-roberta-xl")
POST_NORM = ("albert", "bert", "electra", "roberta")


@pytest.mark.sample(10)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_output_is_the_last_map_of_the_activations(family: str) -> None:
    loaded, tokenizer = opened(family)
    tokens = tokenize(tokenizer, f"{TEXT} {TEXT}")
    last = loaded.num_hidden_layers - 1
    found = feed_forward_run(loaded, tokens, last)
    assert (found is None) == (family in UNKNOWN)
    if found is None:
        return
    (module,) = (module for module, layers in feed_forward_maps(loaded).items() if last in layers)
    weight = module.weight.detach().squeeze(-1) if is_convolution(module) else module.weight.detach()
    weight = weight.T if type(module).__name__ == "Conv1D" else weight
    bias = 0 if module.bias is None else module.bias.detach().numpy()
    assert len(found.output) == len(tokens)
    np.testing.assert_allclose(found.output, found.activations @ weight.T.numpy() + bias, atol=1e-5)


@pytest.mark.parametrize("family", PRE_NORM)
def test_attention_and_feed_forward_are_the_change_of_a_pre_norm_layer(family: str) -> None:
    loaded, tokenizer = opened(family)
    tokens = tokenize(tokenizer, TEXT)
    states = trace(loaded, tokens).hidden_states
    for layer in (0, 1):  # the last state is that after the final norm
        found, attention = feed_forward_run(loaded, tokens, layer), capture_layer_io(loaded, tokens, layer).output
        assert found is not None
        assert attention is not None
        np.testing.assert_allclose(attention + found.output, states[layer + 1] - states[layer], atol=1e-5)


@pytest.mark.parametrize("family", POST_NORM)
def test_a_post_norm_layer_ends_in_the_norm_of_the_sum(family: str) -> None:
    loaded, tokenizer = opened(family)
    tokens = tokenize(tokenizer, TEXT)
    states = torch.tensor(trace(loaded, tokens).hidden_states)
    for layer in (0, loaded.num_hidden_layers - 1):
        found, attention = feed_forward_run(loaded, tokens, layer), capture_layer_io(loaded, tokens, layer).output
        assert found is not None
        assert attention is not None
        if family == "albert":
            block = loaded.model.encoder.albert_layer_groups[0].albert_layers[0]
            first, second = block.attention.LayerNorm, block.full_layer_layer_norm
        else:
            block = loaded.model.encoder.layer[layer]
            first, second = block.attention.output.LayerNorm, block.output.LayerNorm
        with torch.inference_mode():
            middle = first(states[layer] + torch.from_numpy(attention))
            after = second(middle + torch.from_numpy(found.output))
        np.testing.assert_allclose(after, states[layer + 1], atol=1e-5)


def test_the_mixing_of_fnet_is_the_fourier_transform_of_what_enters() -> None:
    loaded, tokenizer = opened("fnet")
    tokens = tokenize(tokenizer, TEXT)
    states = trace(loaded, tokens).hidden_states
    for layer in range(loaded.num_hidden_layers):
        mixed = mixing_output(loaded, tokens, layer)
        np.testing.assert_allclose(mixed, np.fft.fft2(states[layer]).real, atol=1e-4)


@pytest.mark.parametrize("family", ["bert", "canine", "mra", "t5"])
def test_other_families_have_no_fourier_transform(family: str) -> None:
    loaded, tokenizer = opened(family)
    assert mixing_output(loaded, tokenize(tokenizer, TEXT), 0) is None
