"""Fine-tuned models of the catalogue have the shapes of their base model, and a head for a supported task.

Covers `bertviz_core/models/catalog/__init__.py`.
"""

import pytest
import torch
import transformers

from bertviz_core.models import catalog
from bertviz_core.models.skeleton import TASK_CLASSES, build_skeleton
from bertviz_core.predictions.run import PREDICTED

ENTRIES = catalog.entries()
HEADS = {name: entry for name, entry in ENTRIES.items() if entry.task not in ("", "masked-lm")}
WHOLE = {
    # The Hub's own figure for each weights file, rounded as on its page.
    "distilbert-base-uncased-finetuned-sst-2-english": 67,
    "distilbert-base-cased-distilled-squad": 65,
    # fairseq's README, table of RoBERTa checkpoints.
    "roberta-large-mnli": 355,
}
"""Published millions of parameters, including the head."""


def parameters(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_each_head_that_is_shown_has_a_model_in_the_catalogue() -> None:
    assert {entry.task for entry in ENTRIES.values()} == {*PREDICTED, ""} - {"next-sentence"}
    assert len(HEADS) == 8
    assert not {entry.name.casefold() for entry in HEADS.values()} & {
        name.casefold()
        for entry in ENTRIES.values()
        if entry not in HEADS.values()
        for name in (*entry.aliases, entry.name)
    }


@pytest.mark.parametrize("name", HEADS)
def test_a_fine_tuned_model_has_the_parameters_of_its_base_and_its_head(name: str) -> None:
    entry = HEADS[name]
    whole = build_skeleton(name, dict(entry.config), entry.task)
    base = build_skeleton(name, dict(entry.config), "base")
    assert type(whole).__name__ == entry.config["architectures"][0]
    assert parameters(base) == entry.parameters
    head = parameters(whole) - parameters(whole.base_model)
    hidden, outputs = whole.config.hidden_size, entry.config.get("num_labels", 2)
    assert head in {outputs * (hidden + 1), outputs * (hidden + 1) + hidden * (hidden + 1)}, "with or without a layer"
    if name in WHOLE:
        assert round(parameters(whole) / 1e6) == WHOLE[name]
    assert entry.hub_id.partition("/")[2] == name
    assert entry.licence in ("Apache-2.0", "MIT", "CC-BY-4.0")


@pytest.mark.slow
def test_the_task_is_that_of_transformers_own_class() -> None:
    for entry in ENTRIES.values():
        (name,) = entry.config["architectures"]
        config = type(build_skeleton(entry.name, dict(entry.config), "base").config)
        classes = getattr(transformers, TASK_CLASSES[entry.task or "base"])._model_mapping[config]
        if "ForPreTraining" not in name:
            assert classes.__name__ == name
        else:
            assert entry.task == ("" if name.startswith("Electra") else "masked-lm")
