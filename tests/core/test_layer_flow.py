"""The way through one layer: the order of the run tells pre-norm from post-norm as the family's table does."""

from functools import cache

import pytest

from bertviz_core.architecture import describe
from bertviz_core.dry_run import plain_row
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.families import family
from bertviz_core.layer_flow import layer_flow
from bertviz_core.module_shapes import shapes_of
from bertviz_core.module_tree import module_tree
from bertviz_core.parameters import config_ledger
from bertviz_core.results.module_tree import LayerFlow
from bertviz_core.sources import ModelSource
from tests.core.dry_models import dry_tiny
from tests.core.tiny_models import FAMILIES, tiny_config

NO_LAYERS = ("canine", "flaubert", "xlm")
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


@pytest.mark.parametrize("model_type", [name for name in FAMILIES if name not in (*NO_LAYERS, "gpt2")])
def test_the_order_of_the_run_is_the_familys(model_type: str) -> None:
    flow = flow_of(model_type)
    table = "pre-norm" if family(model_type).norm_first or model_type in ("mt5", "umt5") else "post-norm"
    assert flow.order == ("" if model_type in OWN_ORDER else table)
    assert sum(step.numel for step in flow.steps) <= flow.total
    assert flow.seq == SEQ
    assert flow.hidden == 12


@pytest.mark.parametrize("model_type", NO_LAYERS)
def test_layers_that_are_no_modules_are_not_drawn(model_type: str) -> None:
    with pytest.raises(UnsupportedModelError, match="no modules of their own"):
        flow_of(model_type)


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
