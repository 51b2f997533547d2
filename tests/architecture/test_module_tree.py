"""The module tree: the text of print(model), and the counts of the ledger, for every family."""

from collections import Counter

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from bertviz_core.architecture.module_tree import module_tree, printed, tree_of
from bertviz_core.architecture.results import ModuleTree
from bertviz_core.models.catalog import bundled_folder, find
from bertviz_core.models.skeleton import build_skeleton, task_of_class
from bertviz_core.models.sources import resolve
from bertviz_core.parameters.ledger import config_ledger, source_ledger
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import FAMILIES, tiny_config

VALUES_IN_PRINT = ("ibert",)
"""Families whose print contains values of tensors, which a model without values lacks."""


def check_sums(tree: ModuleTree) -> None:
    """Assert that every module's count is the sum of its own weights and of its submodules."""
    for row in tree.rows:
        inside = [each for each in tree.rows if each.parent == row.id]
        own = len(row.paths) * sum(torch.Size(each.shape).numel() for each in row.weights if each.tied_to is None)
        assert row.numel == own + sum(each.numel for each in inside), row.id


@pytest.mark.sample(31)
@pytest.mark.parametrize("model_type", FAMILIES)
def test_the_text_is_that_of_print_and_the_sums_are_the_ledgers(model_type: str) -> None:
    config = tiny_config(model_type).to_dict()
    model = build_skeleton(model_type, config)
    folded, single = tree_of(model_type, model), tree_of(model_type, model, fold=False)
    if model_type not in VALUES_IN_PRINT:
        assert printed(folded) == repr(model)
    total = sum(parameter.numel() for parameter in model.parameters())
    for tree in (folded, single):
        assert tree.rows[0].numel == tree.total == total
        assert len({row.id for row in tree.rows}) == len(tree.rows)
        check_sums(tree)
    paths = [path for row in folded.rows for path in row.paths]
    assert Counter(paths) == Counter(row.paths[0] for row in single.rows)
    assert len(single.rows) >= len(folded.rows)


@pytest.mark.parametrize(
    ("task", "architecture"),
    [
        ("masked-lm", "BertForMaskedLM"),
        ("pretraining", "BertForPreTraining"),
        ("sequence-classification", "BertForSequenceClassification"),
        ("base", "BertModel"),
    ],
)
def test_heads_are_printed_and_counted_with_ties_once(task: str, architecture: str) -> None:
    config = tiny_config("bert").to_dict()
    model = build_skeleton("bert", config, task)
    tree = module_tree("bert", config, task)
    assert tree.architecture == type(model).__name__ == architecture
    assert printed(tree) == repr(model)
    assert tree.total == config_ledger("bert", config, task).total
    check_sums(tree)
    assert task_of_class("bert", config, architecture) == task


def test_a_class_of_no_task_is_shown_as_the_base_model() -> None:
    assert task_of_class("bert", tiny_config("bert").to_dict(), "SomethingElse") == "base"


def test_the_bundled_model_prints_as_transformers_prints_it_with_its_weights() -> None:
    import transformers

    model = transformers.AutoModel.from_pretrained(bundled_folder())
    source = resolve("all-MiniLM-L6-v2", Settings.from_environment())
    tree = module_tree(source.name, source.config)
    assert printed(tree) == repr(model)
    assert tree.total == source_ledger(source, Settings.from_environment()).total == 22_713_216


def test_bert_base_folds_twelve_layers_of_7_087_872_parameters() -> None:
    entry = find("bert-base-uncased")
    assert entry is not None
    tree = module_tree("bert-base-uncased", entry.config)
    (layers,) = [row for row in tree.rows if row.repeats > 1]
    assert (layers.id, layers.repeats, layers.head) == ("encoder.layer.0-11", 12, "BertLayer(")
    assert layers.numel == 12 * 7_087_872
    assert tree.total == 109_482_240
    (query,) = [row for row in tree.rows if row.id.endswith("self.query")]
    assert query.numel == 12 * (768 * 768 + 768)
    assert query.weights[0].shape == (768, 768)
    assert (query.part, layers.part, tree.rows[1].part) == ("query", "", "embeddings")
    assert "    (word_embeddings): Embedding(30522, 768, padding_idx=0)" in printed(tree).split("\n")


def test_a_shared_layer_stands_once() -> None:
    tree = module_tree("albert", tiny_config("albert").to_dict())
    assert sum(row.class_name == "AlbertLayer" for row in tree.rows) == 1


def test_labels_are_counted() -> None:
    config = tiny_config("bert", num_labels=7).to_dict()
    tree = module_tree("bert", config, "sequence-classification")
    own = AutoModelForSequenceClassification.from_config(AutoConfig.for_model(**config))
    assert tree.total == own.num_parameters()
    assert tree.rows[-1].weights[0].shape == (7, 12)
