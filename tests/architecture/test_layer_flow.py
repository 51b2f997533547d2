"""The way through one layer: the order of the run tells pre-norm from post-norm as the family's table does."""

from functools import cache

import pytest

from bertviz_core.architecture.dry_run import dry_model, plain_row, shapes_of
from bertviz_core.architecture.layer_flow import layer_flow, layer_paths
from bertviz_core.architecture.module_tree import module_tree
from bertviz_core.architecture.results import LayerFlow
from bertviz_core.architecture.sizes import describe
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.models.families import family
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.ledger import config_ledger
from tests.helpers.decoders import decoder_config
from tests.helpers.dry_models import dry_tiny
from tests.helpers.tiny_models import FAMILIES, tiny_config, tiny_model

LISTED = ("flaubert", "xlm")
"""Families whose layers are no modules: their parts stand in lists of their own."""
OWN_ORDER = ("lilt", "mobilebert", "xmod")
SEQ = 7


@cache
def flow_of(model_type: str, layer: int = 1) -> LayerFlow:
    config = tiny_config(model_type).to_dict()
    ledger = config_ledger(model_type, config)
    source = ModelSource(model_type, "local", config, None, None, "", False)
    layer = min(layer, len(ledger.layers) - 1)
    tree = module_tree(model_type, config, fold=False)
    dry = dry_tiny(model_type)
    run = shapes_of(dry, plain_row(dry.model, SEQ))
    return layer_flow(tree, ledger, run, describe(source, ledger), config, layer)


@pytest.mark.parametrize("model_type", FAMILIES)
def test_the_order_of_the_run_is_the_familys(model_type: str) -> None:
    flow = flow_of(model_type)
    table = "pre-norm" if family(model_type).norm_first or model_type in ("gpt2", "mt5", "umt5") else "post-norm"
    assert flow.order == ("" if model_type in OWN_ORDER else table)
    assert sum(step.numel for step in flow.steps) <= flow.total
    assert flow.seq == SEQ
    assert flow.hidden == 12


@pytest.mark.parametrize("model_type", LISTED)
def test_a_layer_that_is_no_module_is_the_parts_that_carry_its_number(model_type: str) -> None:
    flow, model = flow_of(model_type), tiny_model(model_type)
    named = [(name, each.numel()) for name, each in model.named_parameters() if ".1." in name]
    assert flow.total == sum(numel for _, numel in named) == sum(step.numel for step in flow.steps)
    assert all(any(name.startswith(f"{path}.") for path in flow.paths) for name, _ in named)
    assert [step.kind for step in flow.steps] == [
        *["projection"] * 3, "attention_output", "norm", "feed_forward", "activation", "feed_forward", "norm",
    ]  # fmt: skip


def test_canine_has_the_layers_of_its_deep_encoder_and_they_see_pooled_characters() -> None:
    flow = flow_of("canine")
    assert flow.paths == ("encoder.layer.1",)
    assert flow.total == sum(each.numel() for each in tiny_model("canine").encoder.layer[1].parameters())
    assert (flow.seq, flow.vectors) == (SEQ, SEQ // 4)


def test_a_layer_that_is_not_there_is_not_drawn() -> None:
    config = tiny_config("bert").to_dict()
    ledger = config_ledger("bert", config)
    source = ModelSource("bert", "local", config, None, None, "", False)
    tree, dry = module_tree("bert", config, fold=False), dry_tiny("bert")
    run = shapes_of(dry, plain_row(dry.model, SEQ))
    with pytest.raises(UnsupportedModelError, match="no modules of their own"):
        layer_flow(tree, ledger, run, describe(source, ledger), config, 3)


@pytest.mark.parametrize(("parallel", "order"), [(True, ""), (False, "pre-norm")])
def test_blocks_side_by_side_are_not_drawn_one_behind_the_other(parallel: bool, order: str) -> None:
    config = decoder_config("gpt_neox", use_parallel_residual=parallel).to_dict()
    ledger = config_ledger("gpt_neox", config)
    source = ModelSource("gpt_neox", "local", config, None, None, "", False)
    dry = dry_model("gpt_neox", config)
    run = shapes_of(dry, plain_row(dry.model, SEQ))
    tree = module_tree("gpt_neox", config, fold=False)
    assert layer_flow(tree, ledger, run, describe(source, ledger), config, 1).order == order


def test_a_decoder_that_calls_its_layers_decoder_is_drawn() -> None:
    config = decoder_config("opt").to_dict()
    ledger = config_ledger("opt", config)
    assert layer_paths(ledger, "opt") == {layer: (f"decoder.layers.{layer}",) for layer in range(3)}


def test_steps_of_bert_with_their_sizes() -> None:
    steps = flow_of("bert").steps
    assert [(step.part, step.enters, step.leaves) for step in steps] == [
        ("query", (SEQ, 12), (SEQ, 12)),
        ("key", (SEQ, 12), (SEQ, 12)),
        ("value", (SEQ, 12), (SEQ, 12)),
        ("attention_output", (SEQ, 12), (SEQ, 12)),
        ("layer_norm", (SEQ, 12), (SEQ, 12)),
        ("feed_forward", (SEQ, 12), (SEQ, 14)),
        ("feed_forward", (SEQ, 14), (SEQ, 14)),
        ("feed_forward", (SEQ, 14), (SEQ, 12)),
        ("layer_norm", (SEQ, 12), (SEQ, 12)),
    ]
    assert sum(step.numel for step in steps) == flow_of("bert").total == 4 * (144 + 12) + 2 * 168 + 14 + 12 + 48


def test_modernbert_is_pre_norm_gated_and_local_in_some_layers() -> None:
    first, second = flow_of("modernbert", 0), flow_of("modernbert", 1)
    assert (first.first_norm, second.first_norm) == (False, True)
    assert (first.window, second.window) == (None, 2)
    assert first.gated
    assert second.gated
    assert second.positions == "rotary"
    assert [step.part for step in second.steps if step.kind == "projection"] == ["query_key_value"]


@pytest.mark.parametrize(("model_type", "gated"), [("bert", False), ("t5", False), ("mt5", True), ("eurobert", True)])
def test_gates_are_told_from_the_sizes(model_type: str, gated: bool) -> None:
    assert flow_of(model_type).gated is gated


@pytest.mark.parametrize(
    ("model_type", "softmax"), [("bert", True), ("deberta-v2", True), ("fnet", False), ("yoso", False), ("t5", True)]
)
def test_attention_of_its_own_kind_is_not_drawn_as_softmax(model_type: str, softmax: bool) -> None:
    assert flow_of(model_type).softmax is softmax


def test_a_shared_layer_says_how_often_it_runs() -> None:
    assert flow_of("albert").applications == 3
