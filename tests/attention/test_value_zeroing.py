"""Value zeroing equals a direct implementation of its definition, one token at a time, in every layer."""

import numpy as np
import pytest
import torch

from bertviz_core.attention.value_zeroing import value_zeroing
from bertviz_core.errors import SupersededError, UnsupportedModelError
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_causes import opened
from tests.helpers.tiny_models import LAYERS, PAIR, TEXT

VALUES = {
    "bert": "encoder.layer.{}.attention.self.value",
    "distilbert": "transformer.layer.{}.attention.v_lin",
    "eurobert": "layers.{}.self_attn.v_proj",
    "roberta": "encoder.layer.{}.attention.self.value",
}
"""Module of a family that projects values; each row of its output belongs to one token."""


@pytest.mark.parametrize("family", VALUES)
@pytest.mark.parametrize("layer", range(LAYERS))
def test_it_is_the_definition_run_token_by_token(family: str, layer: int) -> None:
    loaded, tokenizer = opened(family)
    tokens = tokenize(tokenizer, TEXT, PAIR if family == "bert" else None)
    ids = torch.tensor(tokens.input_ids[None])
    inputs = {"input_ids": ids}
    if tokens.token_type_ids is not None and family == "bert":
        inputs["token_type_ids"] = torch.tensor(tokens.token_type_ids[None])
    module = loaded.model.get_submodule(VALUES[family].format(layer))

    def states(without: int | None) -> np.ndarray:
        def hook(_: object, __: object, output: torch.Tensor) -> torch.Tensor:
            output = output.clone()
            if without is not None:
                output[:, without] = 0
            return output

        handle = module.register_forward_hook(hook)
        with torch.no_grad():
            output = loaded.model(**inputs, output_hidden_states=True).hidden_states[layer + 1][0]
        handle.remove()
        return output.double().numpy()

    clean = states(None)
    expected = np.empty((len(tokens), len(tokens)))
    for place in range(len(tokens)):
        moved = states(place)
        dots = (moved * clean).sum(axis=1)
        expected[:, place] = 1 - dots / np.linalg.norm(moved, axis=1) / np.linalg.norm(clean, axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    calls: list[tuple[int, int]] = []
    shares = value_zeroing(loaded, tokens, layer, lambda *step: calls.append(step), max_nbytes=20_000)
    np.testing.assert_allclose(shares, expected, atol=1e-4)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    assert len(calls) > 1
    assert calls[-1] == (len(tokens), len(tokens))


def test_what_cannot_be_zeroed_or_is_not_wanted_ends() -> None:
    loaded, tokenizer = opened("mpnet")
    with pytest.raises(UnsupportedModelError, match="no value can be set to zero"):
        value_zeroing(loaded, tokenize(tokenizer, TEXT), 0)
    loaded, tokenizer = opened("bert")
    with pytest.raises(ValueError, match="layer 3 of 3"):
        value_zeroing(loaded, tokenize(tokenizer, TEXT), LAYERS)

    def stop(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        value_zeroing(loaded, tokenize(tokenizer, TEXT), 0, stop)
