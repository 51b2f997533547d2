"""A model with a head is in memory once: its base is shared with all other pages."""

from pathlib import Path

import pytest

from bertviz_core.predictions.run import stored_tasks
from tests.helpers.tiny_heads import save_tiny_head
from ui.cache import models


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a tiny BERT with a masked-LM and a next-sentence head."""
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    save_tiny_head("bert", "pretraining", tmp_path / "tiny")
    return "tiny"


def test_heads_share_the_base_in_memory(tiny: str) -> None:
    assert stored_tasks(models.source(tiny)) == ("masked-lm", "next-sentence")
    base = models.loaded(tiny)
    before = models.loaded_models().nbytes
    heads = [models.with_head(tiny, task) for task in ("masked-lm", "next-sentence", "masked-lm")]
    assert heads[0] is heads[2]
    assert all(head.base is base for head in heads)
    own = {value.data_ptr() for value in base.model.parameters()}
    added = {
        value.data_ptr(): value.nbytes
        for head in heads
        for value in head.model.parameters()
        if value.data_ptr() not in own
    }
    # Two heads of one class are two models, each with its own parameters of the class.
    assert (
        sum(added.values())
        <= models.loaded_models().nbytes - before
        < sum(value.nbytes for value in base.model.parameters())
    )


def test_a_head_follows_its_base_that_was_loaded_anew(tiny: str) -> None:
    head = models.with_head(tiny, "masked-lm")
    source = models.source(tiny)
    models.loaded_models().pop((source.name, source.kind, source.revision))
    again = models.with_head(tiny, "masked-lm")
    assert again is not head
    assert again.base is models.loaded(tiny)
