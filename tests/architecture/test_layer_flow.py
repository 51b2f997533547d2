"""The data flow of one layer: its steps in the order of the run, and its blocks if they contain all of them."""

import math
from functools import cache

import pytest

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.dry_run import dry_model, plain_row
from bertviz_core.architecture.layer_flow import layer_flow, layer_paths
from bertviz_core.architecture.module_tree import module_tree, shapes_of
from bertviz_core.architecture.results import LayerFlow, Window
from bertviz_core.architecture.sizes import describe
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.figures.architecture.layers import flow_rows, unused_words
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.ledger import config_ledger
from tests.helpers.decoders import LAYOUTS, decoder_config
from tests.helpers.dry_models import dry_tiny
from tests.helpers.model_faces import SEQ, TYPES, faces
from tests.helpers.tiny_models import HEADS, HIDDEN, tiny_config, tiny_model

LISTED = ("flaubert", "xlm")
"""Families whose layers are not modules: their parts are in separate lists."""


@cache
def flow_of(model_type: str, layer: int = 1) -> LayerFlow:
    flows = faces(model_type).flows
    return flows[min(layer, len(flows) - 1)]


POOLED_OR_PADDED = {
    "canine": SEQ // 4,  # downsampling_rate
    "funnel": math.ceil(SEQ / 2),  # the second block
    "longformer": 8,  # a multiple of the attention window
    "led": 8,
    "reformer": 8,  # of the chunk length
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("model_type", [*TYPES, *LAYOUTS])
def test_a_layer_has_the_text_s_vectors_its_heads_and_all_its_parameters(model_type: str) -> None:
    flow = flow_of(model_type)
    vectors = POOLED_OR_PADDED.get(model_type, SEQ)
    assert (flow.seq, flow.vectors, flow.hidden) == (SEQ, vectors, HIDDEN)
    counts = [row.count or 0 for row in flow_rows(flow)]
    assert sum(counts) == flow.total
    assert sum(each.numel for each in (*flow.steps, *flow.remainders)) == flow.total
    for step in flow.steps:
        shape = step.leaves or ()
        of_text = step.part in ("query", "key", "value", "query_key_value", "feed_forward")
        assert not of_text or vectors in shape, (step.name, shape)
        if step.part == "query":
            width = shape[-2] if step.class_name == "Conv1d" else shape[-1]
            assert width == (flow.num_attention_heads or 0) * (flow.head_dim or 0)
    drawn = [box.detail for row in flow_rows(flow) for box in row.boxes if " heads, " in box.detail]
    for detail in drawn:
        assert detail.startswith(f"{HEADS} heads, {vectors} × {vectors}"), detail


@pytest.mark.parametrize(
    ("model_type", "unused"),
    [
        ("longformer", "query_global, key_global, value_global"),
        ("led", "query_global, key_global, value_global"),
        ("luke", "w2e_query, e2w_query, e2e_query"),
    ],
)
def test_projections_that_a_plain_text_skips_are_named_with_their_number(model_type: str, unused: str) -> None:
    flow = flow_of(model_type)
    each = 3 * (HIDDEN * HIDDEN + HIDDEN)
    row = flow_rows(flow)[-1]
    assert (row.boxes[0].label, row.count) == (unused, each)
    assert unused_words(flow) == f" {each:,} of them are not used for this text: {unused}."
    assert unused_words(flow_of("bert")) == ""


def test_attention_to_a_band_is_not_drawn_as_one_over_the_whole_text() -> None:
    for layer, window in enumerate((2, 4, 2)):
        flow = flow_of("led", layer)
        assert not flow.softmax
        assert flow.window == Window(window, window)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("model_type", "drawn"), [("bert", True), ("lilt", False), ("mobilebert", False)])
def test_blocks_are_drawn_where_they_hold_all_steps(model_type: str, drawn: bool) -> None:
    assert bool(flow_of(model_type).blocks) is drawn


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
        layer_flow(tree, ledger, run, describe(source, ledger), None, 3)


@pytest.mark.parametrize(("parallel", "order"), [(True, "parallel"), (False, "pre-norm")])
def test_blocks_side_by_side_are_not_drawn_one_behind_the_other(parallel: bool, order: str) -> None:
    config = decoder_config("gpt_neox", use_parallel_residual=parallel).to_dict()
    ledger = config_ledger("gpt_neox", config)
    source = ModelSource("gpt_neox", "local", config, None, None, "", False)
    dry = dry_model("gpt_neox", config)
    run = shapes_of(dry, plain_row(dry.model, SEQ))
    tree = module_tree("gpt_neox", config, fold=False)
    facts = model_facts("gpt_neox", config)
    flow = layer_flow(tree, ledger, run, describe(source, ledger, facts), facts, 1)
    assert flow.order == order
    assert bool(flow.blocks) is not parallel


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
    assert (first.blocks[0].norms_before, second.blocks[0].norms_before) == ((), ("attn_norm",))
    assert (first.window, second.window) == (None, Window(2, 2))
    assert first.gated
    assert second.gated
    assert second.positions == ("rotary",)
    assert [step.part for step in second.steps if step.kind == "projection"] == ["query_key_value"]


@pytest.mark.slow
@pytest.mark.parametrize(("model_type", "gated"), [("bert", False), ("t5", False), ("mt5", True), ("eurobert", True)])
def test_gates_are_told_from_the_sizes(model_type: str, gated: bool) -> None:
    assert flow_of(model_type).gated is gated


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("model_type", "softmax"),
    [("bert", True), ("deberta-v2", True), ("fnet", False), ("yoso", False), ("t5", True), ("convbert", False)],
)
def test_attention_of_its_own_kind_is_not_drawn_as_softmax(model_type: str, softmax: bool) -> None:
    assert flow_of(model_type).softmax is softmax


def test_a_shared_layer_says_how_often_it_runs() -> None:
    assert flow_of("albert").applications == 3
