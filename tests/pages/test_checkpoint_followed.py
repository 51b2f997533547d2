"""Training run: every checkpoint is run on the text, on labelled texts or on a list of texts, when the reader asks.

Covers `bertviz_core/questions/views/training.py`, `ui/views/checkpoint.py`.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_training
from bertviz_core.questions import opened as subjects
from tests.helpers.charts import sent_charts
from tests.helpers.training_runs import SAVED
from tests.pages.opened import training_page, visible_text

pytestmark = pytest.mark.usefixtures("patience")

TEXT = "love bank"
LABELLED = "LABEL_0\tlove bank\nLABEL_1\tmy my\nLABEL_0\tpet"
LISTED = ("love bank", "my my", "a river", "pet")


def chart(at: AppTest, name: str) -> Any:
    (found,) = [each for each in sent_charts(at) if each.key == f"checkpoint_training_{name}"]
    return found.figure


def markdown(at: AppTest) -> str:
    return " ".join(visible_text(each.value) for each in at.markdown)


@pytest.mark.slow
def test_no_checkpoint_is_run_before_the_reader_asks(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    load = subjects.load_model

    def counted(source: Any, *more: Any) -> Any:
        loaded.append(source.name)
        return load(source, *more)

    monkeypatch.setattr(subjects, "load_model", counted)
    at = training_page(text=TEXT)
    assert loaded == []
    at.button_group(key="followed").set_value("the text").run()
    assert not at.exception
    assert loaded == [*(f"my-run/checkpoint-{step}" for step in SAVED), "my-run"]


@pytest.mark.slow
def test_the_text_of_the_sidebar_is_followed(run_folder: Path) -> None:
    at = training_page(followed="the text", text=TEXT, pair="my language")
    found = open_training(run_folder).follow(TEXT, "my language")
    assert found.data.probabilities is not None
    lines = {each["name"]: each["y"] for each in chart(at, "text")["data"]}
    for label, values in zip(found.data.labels, found.data.probabilities.T, strict=True):
        assert lines[label] == pytest.approx(values.tolist(), abs=1e-6)
    assert lines["cosine of the two texts"] == pytest.approx(found.to_json()["cosine"], abs=1e-6)
    assert all(sentence in markdown(at) for sentence in found.sentences)
    at = training_page(followed="the text", text=TEXT)
    assert "The answer changes from LABEL_1 to LABEL_0 at step 6" in markdown(at)


@pytest.mark.slow
def test_labelled_texts_are_scored_at_every_checkpoint(run_folder: Path) -> None:
    query = {"answers_from": "my own list", "answered_texts": LABELLED, "checkpoint_answers_by_step": "true"}
    at = training_page(followed="labelled texts", **query)
    gold, texts = zip(*(line.split("\t") for line in LABELLED.splitlines()), strict=True)
    found = open_training(run_folder).scores(texts, gold).data
    accuracy, macro_f1, changed = (each["y"] for each in chart(at, "scores")["data"])
    assert accuracy == pytest.approx((100 * found.accuracy).tolist())
    assert macro_f1 == pytest.approx((100 * found.macro_f1).tolist())
    assert changed == [None, *found.changed[1:]]  # none comes before the first
    (answers,) = [each.value for each in at.dataframe if "answer of checkpoint-4" in each.value]
    assert answers["answer of checkpoint-4"].tolist() == list(found.answers[1])


def test_texts_without_labels_of_the_head_say_what_to_give(run_folder: Path) -> None:
    at = training_page(followed="labelled texts", answers_from="my own list", answered_texts="love bank\nmy my")
    assert "Give texts with gold labels" in visible_text(at.info[-1].value)
    at = training_page(
        followed="labelled texts", answers_from="my own list", answered_texts="cat\tlove bank\ndog\tmy my"
    )
    assert "No gold label ('cat', 'dog') is a class of the task head ('LABEL_0', 'LABEL_1')" in visible_text(
        at.info[-1].value
    )


@pytest.mark.slow
def test_layers_and_heads_are_followed_over_a_list(run_folder: Path) -> None:
    listed = {"followed": "a list of texts", "compared_list": "my own list"}
    assert "at least 4" in visible_text(training_page(**listed).info[-1].value)
    at = training_page(**listed, compared_texts="\n".join(LISTED), entropy_drawn="change from the first checkpoint")
    found = open_training(run_folder).layers(LISTED).data
    assert found.entropy is not None
    assert np.array(chart(at, "cka")["data"][0]["z"]) == pytest.approx(found.cka.T, abs=1e-6)
    change = (found.entropy - found.entropy[0]).reshape(len(found.steps), -1).T
    assert np.array(chart(at, "entropy")["data"][0]["z"]) == pytest.approx(change, abs=1e-6)
    assert "CKA with the first is, of all hidden states, lowest" in markdown(at)


def test_a_run_with_a_single_checkpoint_is_run_too(run_folder: Path) -> None:
    for place in [*run_folder.glob("checkpoint-[468]"), *run_folder.glob("checkpoint-10")]:
        shutil.rmtree(place)
    (run_folder / "model.safetensors").unlink()
    at = training_page(followed="the text", text=TEXT)
    assert "The answer is LABEL_1 at the only checkpoint." in markdown(at)
