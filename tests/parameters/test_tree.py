"""The module tree: children add up to their parents at every depth and under every fold."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertviz_core.parameters.ledger import config_ledger
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.parameters.tree import parameter_tree, tree_depth
from tests.helpers.tiny import CONFIGS, tiny_config

LEDGERS = [config_ledger(model_type, tiny_config(model_type)) for model_type in ("bert", "albert", "mobilebert")]


@settings(deadline=None)
@given(ledger=st.sampled_from(LEDGERS), depth=st.integers(1, 9), max_nodes=st.integers(1, 60))
def test_nothing_is_lost_by_depth_or_fold(ledger: Ledger, depth: int, max_nodes: int) -> None:
    nodes = parameter_tree(ledger, depth, max_nodes)
    assert nodes[0].numel == ledger.total
    assert nodes[0].tensors == ledger.tensors
    ids = [node.id for node in nodes]
    assert len(set(ids)) == len(ids)
    for index, node in enumerate(nodes):
        children = [each for each in nodes if each.parent == node.id]
        if children:
            assert sum(each.numel for each in children) == node.numel
            assert sum(each.tensors for each in children) == node.tensors
        if node.parent is not None:
            assert node.parent in ids[:index]
    assert sum(not node.folded for node in nodes) <= max_nodes + 1


@pytest.mark.parametrize("ledger", LEDGERS, ids=lambda ledger: ledger.model)
def test_a_node_has_the_rows_of_its_module(ledger: Ledger) -> None:
    counted = [row for row in ledger.parameters if row.tied_to is None]
    for node in parameter_tree(ledger, tree_depth(ledger)):
        module = f"{node.id}." if node.id else ""
        rows = [row for row in counted if f"{row.name}.".startswith(module)]
        assert (len(rows), sum(row.numel for row in rows)) == (node.tensors, node.numel)


def test_depth_counts_from_one() -> None:
    with pytest.raises(ValueError, match="depth"):
        parameter_tree(LEDGERS[0], 0)


GPT2 = {"model_type": "gpt2", "vocab_size": 67, "n_positions": 41, "n_embd": 8, "n_layer": 3, "n_head": 2}
EVERY_CONFIG = {**{model_type: tiny_config(model_type) for model_type in CONFIGS}, "gpt2": GPT2}


def whole_tree(model_type: str) -> dict[str, TreeNode]:
    """Id -> node of a tiny model's whole tree."""
    ledger = config_ledger(model_type, EVERY_CONFIG[model_type])
    return {node.id: node for node in parameter_tree(ledger, tree_depth(ledger), 10_000)}


@pytest.mark.parametrize(
    ("model_type", "name", "label"),
    [
        ("bert", "encoder.layer.1", "layer 1"),
        ("bert", "encoder.layer.1.attention", "attention"),
        ("bert", "encoder.layer.1.attention.output", "attention output"),
        ("bert", "encoder.layer.1.intermediate.dense", "feed-forward intermediate"),
        ("bert", "encoder.layer.1.output", "feed-forward output"),
        ("bert", "embeddings.LayerNorm", "embeddings LayerNorm"),
        ("gpt2", "h.1", "layer 1"),
        ("gpt2", "h.1.mlp.c_proj", "mlp c_proj"),
        ("t5", "encoder.block.1.layer", "layer 1"),
        ("t5", "decoder.block.1.layer.1", "EncDecAttention"),
        ("t5", "encoder.block.1.layer.1", "DenseReluDense"),
        ("xlm", "attentions.1", "layer 1"),
    ],
)
def test_labels_say_of_what_a_module_is(model_type: str, name: str, label: str) -> None:
    assert whole_tree(model_type)[name].label == label


@pytest.mark.sample(33)
@pytest.mark.parametrize("model_type", EVERY_CONFIG)
def test_no_two_neighbours_share_a_label(model_type: str) -> None:
    nodes = whole_tree(model_type)
    beside = Counter((node.parent, node.label) for node in nodes.values())
    assert max(beside.values()) == 1, beside.most_common(3)
    assert max(Counter((node.parent, node.short) for node in nodes.values() if node.short).values(), default=1) == 1


@pytest.mark.parametrize("model_type", ["bert", "roberta", "albert", "electra", "mpnet", "modernbert", "gpt2", "xlm"])
def test_a_head_adds_no_ring(model_type: str) -> None:
    """At one depth, the base model and the one with a head show the same parts of the layers."""
    base, headed = (
        config_ledger(model_type, EVERY_CONFIG[model_type], task) for task in ("base", "sequence-classification")
    )
    inside = [[node.label for node in parameter_tree(each, 4) if node.part] for each in (base, headed)]
    assert inside[0]
    assert inside[0] == inside[1]
    assert sum(node.numel for node in parameter_tree(headed, 3) if node.parent == "") == headed.total
