"""The load report of the checkpoint page: figures, texts, keys, repair, the head's additions; no weight is read."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification

from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny, tiny_config
from tests.pages.opened import metrics, opened, visible_text


@pytest.fixture
def classifier(models_dir: Path) -> Path:
    """A fine-tuned classifier with three labels, as written by save_pretrained."""
    torch.manual_seed(0)
    folder = models_dir / "mine"
    AutoModelForSequenceClassification.from_config(tiny_config("bert", num_labels=3)).save_pretrained(folder)
    return folder


def words(at: AppTest) -> str:
    """The box that explains the report."""
    (box,) = [*at.success, *at.warning, *at.error]
    return visible_text(box.value)


def keys(at: AppTest) -> list[dict[str, Any]]:
    """The rows of the table of keys."""
    frame = next(each.value for each in at.dataframe if "status" in each.value)
    return [{str(name): cell for name, cell in row.items()} for row in frame.to_dict("records")]


def test_the_bundled_model_is_reported_whole() -> None:
    at = opened("checkpoint")
    assert not at.exception
    assert metrics(at) == {
        "Matched": "103 of 103", "New": "0", "Unused": "0", "Wrong shape": "0", "From the file": "100%",
    }  # fmt: skip
    assert words(at).startswith("Complete: all 103 tensors")
    assert "values were read only" in words(at)
    assert len(keys(at)) == 104
    assert [row["name"] for row in keys(at) if row["status"] == "ignored"] == ["embeddings.position_ids"]
    assert len(sent_charts(at)) == 1  # nothing is added, so there is no figure of it


def test_a_new_head_is_told_and_its_keys_come_first() -> None:
    at = opened("checkpoint", load_task="sequence-classification", labels="3")
    assert metrics(at)["Matched"] == "103 of 105"
    assert "Train it before you use it" in words(at)
    assert [row["name"] for row in keys(at)[:2]] == ["classifier.weight", "classifier.bias"]
    assert keys(at)[0]["model_shape"] == "(3, 384)"
    (message,) = [each.value for each in at.markdown if "→" in each.value]
    assert message == "BertForSequenceClassification: 22,713,216 → **22,714,371** parameters (+1,155 added)"


def test_a_fine_tuned_classifier_opens_for_its_own_task(classifier: Path) -> None:
    at = opened("checkpoint", model="mine")
    assert not at.exception
    assert at.selectbox(key="load_task").value == "sequence-classification"
    assert metrics(at)["Matched"] == "57 of 57"
    assert "3 (default)" in at.number_input(key="labels").placeholder
    other = opened("checkpoint", model="mine", labels="2")
    assert metrics(other)["Wrong shape"] == "2"
    assert "has 3 labels, and 2 are expected" in words(other)


def test_a_foreign_prefix_is_repaired_in_code(classifier: Path) -> None:
    tensors = load_file(classifier / "model.safetensors")
    save_file({f"net.{name}": value for name, value in tensors.items()}, classifier / "model.safetensors")
    at = opened("checkpoint", model="mine")
    assert metrics(at)["Matched"] == "0 of 57"
    assert "57 of 57 match" in words(at)
    assert any("strip net.: 0 → 57 of 57" in visible_text(each.value) for each in at.markdown)
    assert any("removeprefix('net.')" in each.value for each in at.code)


def test_keys_are_searched_and_narrowed() -> None:
    at = opened("checkpoint", load_task="masked-lm", key_status="new")
    assert {row["status"] for row in keys(at)} == {"new"}
    assert len(keys(at)) == 6
    at = opened("checkpoint", key_search="position")
    assert {row["name"] for row in keys(at)} == {"embeddings.position_embeddings.weight", "embeddings.position_ids"}


def test_markup_in_a_key_is_shown_and_not_read(classifier: Path) -> None:
    tensors = load_file(classifier / "model.safetensors")
    evil = "net.![x](http://evil.example)<b>."
    save_file({f"{evil}{name}": value for name, value in tensors.items()}, classifier / "model.safetensors")
    at = opened("checkpoint", model="mine")
    assert not at.exception
    for each in [*at.markdown, *at.error]:
        assert "![x](" not in each.value
        assert "http://evil" not in each.value


def test_a_model_without_its_file_still_shows_what_a_head_adds() -> None:
    at = opened("checkpoint", model="bert-base-uncased", load_task="sequence-classification", labels="2")
    assert not at.exception
    assert "nothing to report on" in words(at)
    assert not at.metric
    (message,) = [each.value for each in at.markdown if "→" in each.value]
    assert "109,482,240 → **109,483,778**" in message
    assert len(sent_charts(at)) == 1


def test_a_task_that_the_family_lacks_falls_back(classifier: Path) -> None:
    at = opened("checkpoint", model="distilbert-base-uncased", load_task="next-sentence")
    assert not at.exception
    assert at.selectbox(key="load_task").value != "next-sentence"


def test_a_buffer_that_the_class_sets_itself_is_not_said_to_come_from_the_file(models_dir: Path) -> None:
    folder = save_tiny("bart", models_dir / "bart")
    at = opened("checkpoint", model="bart", load_task="masked-lm")
    with torch.no_grad():
        loaded = AutoModelForMaskedLM.from_pretrained(folder)
    assert not loaded.final_logits_bias.any()
    count = len(load_file(folder / "model.safetensors"))
    assert metrics(at)["Matched"] == f"{count} of {count + 1}"
    assert f"{count} of {count + 1} tensors of BartForConditionalGeneration come from the file" in words(at)
    assert "the class itself sets final_logits_bias; nothing is random" in words(at)
    assert not at.warning
