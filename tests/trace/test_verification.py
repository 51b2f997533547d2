"""Recorded attention is compared once with the model's own; a model that differs is not recorded."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import Gemma2Config, Gemma2Model, GraniteSWAConfig, GraniteSWAModel

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.sizes import capabilities
from bertviz_core.attention.maps import attention_probs
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.recording import NAME, RecordingCheck, register
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.ledger import config_ledger
from bertviz_core.sentences.encoding import batches
from bertviz_core.trace.run import RUN_LOCK, trace, trace_unlocked
from bertviz_core.trace.verification import check_batches, check_recording, may_wait, receipt
from tests.helpers.made_traces import tokens_of
from tests.helpers.tiny_models import tiny_model

SIZES: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "intermediate_size": 40,
}


def loaded(model: Any) -> LoadedModel:
    """A model in memory as returned by load_model."""
    model.set_attn_implementation(register())
    return LoadedModel("m", "r", model.config.model_type, model.eval(), "cpu", "float32", False, "recorded", ())


def own_output(model: Any, ids: Any) -> Any:
    """The model's own eager output."""
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        return model(
            input_ids=torch.tensor(ids)[None], output_hidden_states=True, output_attentions=True, return_dict=True
        )


def with_cap() -> Any:
    """A model that caps its scores at small values."""
    torch.manual_seed(0)
    return Gemma2Model(Gemma2Config(**SIZES, attn_logit_softcapping=0.5, query_pre_attn_scalar=12))


def test_attention_that_sdpa_does_not_know_is_the_models_own() -> None:
    model = loaded(with_cap())
    tokens = tokens_of(7)
    found = trace(model, tokens)
    own = own_output(model.model, tokens.input_ids)
    for state, expected in zip(found.hidden_states, own.hidden_states, strict=True):
        np.testing.assert_allclose(state, expected[0].numpy(), atol=1e-5)
    for layer, expected in enumerate(own.attentions):
        np.testing.assert_allclose(attention_probs(found, layer), expected[0].numpy(), atol=1e-5)
    assert model.recorded_in_part
    assert found.query is None
    assert "recorded" not in found.attention_source


def with_sinks_in_each_layer() -> Any:
    """A model whose heads attend to a sink besides the tokens, with a large weight, and that runs without values."""
    torch.manual_seed(0)
    sizes = {name: value for name, value in SIZES.items() if name != "head_dim"}
    model = GraniteSWAModel(GraniteSWAConfig(**sizes, bos_token_id=1, eos_token_id=2))
    for name, parameter in model.named_parameters():
        if name.endswith("sinks"):
            torch.nn.init.constant_(parameter, 2.0)
    return model


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "make", [with_sinks_in_each_layer, with_cap, lambda: tiny_model("bert"), lambda: tiny_model("deberta")]
)
def test_the_card_says_of_the_maps_what_a_run_finds(make: Any) -> None:
    model = loaded(make())
    config = model.model.config.to_dict()
    source = ModelSource("m", "local", config, None, None, "", False)
    card = capabilities(source, config_ledger("m", config), model_facts("m", config))
    (maps,) = [each.answer for each in card if each.name == "Attention maps"]
    found = trace(model, tokens_of(7)).attention_source
    message = {"exact, with q, k and v": ("recorded",), "maps only": ("eager",), "with a learned sink": ("recorded",)}
    assert found in message[maps]


def test_a_model_that_is_recorded_is_compared_before_its_first_run_and_once() -> None:
    model = loaded(tiny_model("bert"))
    runs = []
    model.model.register_forward_hook(lambda *_: runs.append(model.model.config._attn_implementation))
    found = trace(model, tokens_of(5))
    assert runs == [NAME, "eager", NAME]
    check = model.recording_check
    assert check is not None
    assert check.attention_probs < 1e-5
    assert check.hidden_states < 1e-5
    assert found.attention_source == "recorded"
    assert f"on {check.tokens} tokens spread over its vocabulary and not on this text" in receipt(check)
    trace(model, tokens_of(6))
    assert runs[3:] == [NAME]


def test_a_model_whose_recorded_run_differs_is_run_by_its_own_attention() -> None:
    """A layer that behaves differently while it is recorded: the comparison must detect it."""
    module = tiny_model("bert")

    def altered(_layer: Any, _inputs: Any, output: Any) -> Any:
        if module.config._attn_implementation != NAME:
            return output
        return (output[0] * 1.5, *output[1:]) if isinstance(output, tuple) else output * 1.5

    module.encoder.layer[1].register_forward_hook(altered)
    model = loaded(module)
    found = trace(model, tokens_of(5))
    own = own_output(module, tokens_of(5).input_ids)
    assert model.attention_source == "eager"
    np.testing.assert_allclose(found.hidden_states[-1], own.hidden_states[-1][0].numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("probs", "states", "words"),
    [(2.1e-6, 1e-7, "3e-6"), (0.0, 0.0, "1e-8"), (9.5e-5, 1e-6, "1e-4"), (1e-7, 4e-5, "4e-5"), (0.02, 0.01, "2e-2")],
)
def test_a_receipt_names_a_bound_of_one_digit(probs: float, states: float, words: str) -> None:
    assert f"the model's own within {words}." in receipt(RecordingCheck(12, probs, states))


def test_the_comparison_of_a_family_compared_in_tests_may_come_after_the_first_run() -> None:
    known, unknown = loaded(tiny_model("bert")), loaded(with_cap())
    assert (may_wait(known), may_wait(unknown)) == (True, False)
    runs = []
    known.model.register_forward_hook(lambda *_: runs.append(known.model.config._attn_implementation))
    with RUN_LOCK:
        trace_unlocked(known, tokens_of(5), check_later=True)
        assert (runs, known.recording_check) == ([NAME], None)
        check_recording(known)
        assert known.recording_check is not None
        trace_unlocked(unknown, tokens_of(5), check_later=True)
    assert unknown.attention_source == "eager", "compared before its run, in which its capped scores were not recorded"


def feels(module: Any, change: Any) -> LoadedModel:
    """A model whose layer 1 adds something that depends on the whole batch."""

    def altered(_layer: Any, _inputs: Any, output: Any) -> Any:
        states = output[0] if isinstance(output, tuple) else output
        changed = states + change(states)
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    module.encoder.layer[1].register_forward_hook(altered)
    return loaded(module)


def test_texts_run_together_only_where_they_do_not_change_each_other() -> None:
    """Three texts, two of the same length: run together, by length, or one by one."""
    free = loaded(tiny_model("bert"))
    padded = feels(tiny_model("bert"), lambda states: 0.1 * states.shape[1])
    crowded = feels(tiny_model("bert"), lambda states: 0.1 * states.shape[0])
    assert [check_batches(each) for each in (free, padded, crowded)] == ["any length", "one length", "one text"]
    lengths = [5, 3, 5]
    assert [sorted(map(sorted, batches(each, lengths))) for each in (free, padded, crowded)] == [
        [[0, 1, 2]],
        [[0, 2], [1]],
        [[0], [1], [2]],
    ]
