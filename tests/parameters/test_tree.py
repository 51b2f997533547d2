"""The module tree: children add up to their parents at every depth and under every fold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_core.parameters.ledger import config_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.parameters.tree import parameter_tree, tree_depth
from tests.helpers.tiny import tiny_config

LEDGERS = [config_ledger(model_type, tiny_config(model_type)) for model_type in ("bert", "albert", "mobilebert")]


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
