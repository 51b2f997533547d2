"""The design of a model agrees with its behaviour: which tokens change when another one does."""

from typing import Any

import pytest
import torch
from transformers import AutoModel, PreTrainedModel

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.design import design_of
from bertviz_core.architecture.results import Design
from bertviz_core.parameters.ledger import module_ledger
from tests.helpers.decoders import DECODERS, WRITERS, decoder_config, writer_config
from tests.helpers.tiny_models import FAMILIES, tiny_config, tiny_model

TOKENS = 7
SEES_NOTHING = ("mra",)
"""MRA attends to blocks of 32 tokens and does nothing without a GPU: no token sees another."""
CAN_DECODE = [
    name for name in FAMILIES if hasattr(config := tiny_config(name), "is_decoder") and not config.is_encoder_decoder
]
"""Families whose config has the entry. ConvBERT ignores it, and four others do in transformers 5.15."""


def designed(model: PreTrainedModel, with_facts: bool = False) -> Design:
    facts = model_facts("tiny", model.config.to_dict()) if with_facts else None
    return design_of(model, module_ledger("tiny", model), facts)


def made(config: Any) -> PreTrainedModel:
    torch.manual_seed(0)
    model: PreTrainedModel = AutoModel.from_config(config).eval()
    return model


def looks_ahead(model: PreTrainedModel) -> bool:
    """Whether the first token's vector changes when the last token does."""
    first = torch.arange(5, 5 + TOKENS)[None]
    second = first.clone()
    second[0, -1] = 20
    with torch.no_grad():
        one, other = (model(input_ids=ids).last_hidden_state[0, 0] for ids in (first, second))
    return not torch.equal(one, other)


@pytest.mark.sample(28)
@pytest.mark.parametrize("model_type", [name for name in FAMILIES if name not in SEES_NOTHING])
def test_an_encoder_looks_ahead_and_a_decoder_does_not(model_type: str) -> None:
    model = tiny_model(model_type)
    design = designed(model)
    assert (design.kind == "encoder-decoder") is model.config.is_encoder_decoder
    stack = model.get_encoder() if design.kind == "encoder-decoder" else model
    assert looks_ahead(stack) is (design.kind != "decoder")


@pytest.mark.parametrize("model_type", DECODERS)
def test_a_family_that_only_predicts_the_next_token_is_a_decoder(model_type: str) -> None:
    model = made(decoder_config(model_type))
    design = designed(model)
    assert (design.kind, design.cross_attention) == ("decoder", False)
    assert not looks_ahead(model)
    assert (design.encoder_layers, design.decoder_layers) == (0, 3)


@pytest.mark.parametrize("model_type", CAN_DECODE)
def test_an_encoder_family_is_a_decoder_if_its_config_stops_it_from_looking_ahead(model_type: str) -> None:
    model = tiny_model(model_type, is_decoder=True)
    design = designed(model)
    assert looks_ahead(model) is (design.kind != "decoder")
    assert not design.cross_attention


def test_a_pooler_under_a_causal_mask_reads_the_first_token_alone() -> None:
    ids = torch.arange(5, 5 + TOKENS)[None]
    other = ids.clone()
    other[0, 1:] += 1
    for is_decoder, output in (
        (True, "a vector per token and one from the first token, which sees no other"),
        (False, "a vector per token and one for the text"),
    ):
        model = tiny_model("bert", is_decoder=is_decoder)
        with torch.no_grad():
            pooled = [model(input_ids=each).pooler_output for each in (ids, other)]
        assert torch.allclose(*pooled, atol=1e-6) == is_decoder
        assert designed(model).output == output


@pytest.mark.parametrize("model_type", ["bert", "roberta", "electra", "rembert", "bert-generation"])
def test_cross_attention_is_said_where_another_models_vectors_change_the_answer(model_type: str) -> None:
    model = tiny_model(model_type, is_decoder=True, add_cross_attention=True)
    assert designed(model).cross_attention
    ids, other = torch.arange(5, 5 + TOKENS)[None], torch.randn(1, 4, model.config.hidden_size)
    with torch.no_grad():
        alone, read = model(input_ids=ids), model(input_ids=ids, encoder_hidden_states=other)
    assert not torch.allclose(alone.last_hidden_state, read.last_hidden_state)


def test_a_word_in_the_config_that_the_family_does_not_take_changes_nothing() -> None:
    for config in (decoder_config("llama", add_cross_attention=True), decoder_config("opt", add_cross_attention=True)):
        assert not designed(made(config)).cross_attention
    for model_type in ("convbert", "distilbert", "xlnet", "deberta-v2"):
        assert designed(tiny_model(model_type, is_decoder=True)).kind == "encoder"


def test_a_decoder_whose_causal_mask_is_switched_off_is_an_encoder() -> None:
    model = made(decoder_config("llama", is_causal=False))
    assert looks_ahead(model)
    assert designed(model).kind == "encoder"


@pytest.mark.parametrize("model_type", WRITERS)
def test_an_encoder_with_a_decoder_has_both_stacks_and_cross_attention(model_type: str) -> None:
    model = made(writer_config(model_type))
    design = designed(model)
    assert design == Design("encoder-decoder", 3, 1, cross_attention=True, mixes=False, local_layers=0)
    ids, written = torch.arange(5, 5 + TOKENS)[None], torch.tensor([[2, 7, 9]])
    changed, longer = ids.clone(), written.clone()
    changed[0, -1], longer[0, -1] = 20, 11
    with torch.no_grad():
        answers = [
            model(input_ids=text, decoder_input_ids=so_far).last_hidden_state[0, 0]
            for text, so_far in ((ids, written), (changed, written), (ids, longer))
        ]
    assert not torch.equal(answers[0], answers[1])
    assert torch.equal(answers[0], answers[2])


def test_windows_and_other_ways_of_mixing_are_told() -> None:
    assert designed(tiny_model("modernbert"), with_facts=True).local_layers == 1
    assert designed(made(decoder_config("mistral")), with_facts=True).local_layers == 3
    assert designed(made(decoder_config("gemma2")), with_facts=True).local_layers == 2
    assert designed(made(decoder_config("llama")), with_facts=True).local_layers == 0
    assert designed(tiny_model("fnet")).mixes
    assert not designed(tiny_model("bert")).mixes
    assert designed(tiny_model("albert")).encoder_layers == 3
