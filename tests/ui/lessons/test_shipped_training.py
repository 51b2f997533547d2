"""The lesson on a training run is true of the example run, which peft and transformers read by themselves here."""

import csv
import re

import numpy as np
import pytest
import torch
from peft import PeftModel
from safetensors.numpy import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core import open_model, open_training
from bertviz_core.models.catalog import EXAMPLE_FOLDER, EXAMPLE_RUN, TEXTS_FILE, bundled_folder
from bertviz_core.questions.figures import all_figures
from tests.helpers.training_runs import state_of
from tests.ui.lessons.shipped import lesson, numbers
from ui.lessons.tour import RUN_LESSON

STEPS = lesson(RUN_LESSON).steps
SAVED = (20, 40, 60, 80)
TEXT = "The kitchen was not clean."
LABELS = ("bad", "good")
pytestmark = pytest.mark.slow


def classifier(step: int) -> PeftModel:
    """The model at a step, by the classes of transformers and peft."""
    base = AutoModelForSequenceClassification.from_pretrained(bundled_folder(), num_labels=len(LABELS))
    return PeftModel.from_pretrained(base, EXAMPLE_FOLDER / f"checkpoint-{step}").eval()


@torch.no_grad()
def logits(model: PeftModel, texts: list[str]) -> torch.Tensor:
    """Logits, of shape (texts, classes)."""
    inputs = AutoTokenizer.from_pretrained(bundled_folder())(texts, padding=True, return_tensors="pt")
    return model(**inputs).logits


def good(step: int, texts: list[str]) -> np.ndarray:
    """Probability of the class good."""
    return np.asarray(logits(classifier(step), texts).softmax(-1)[:, LABELS.index("good")])


def rows() -> list[dict[str, str]]:
    with (EXAMPLE_FOLDER / TEXTS_FILE).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_log_texts_and_adapters_belong_together() -> None:
    plain = [row for row in rows() if row["negation"] == "no"]
    gold = np.array([row["label"] == "good" for row in plain])
    for step in SAVED:
        (logged,) = (
            row["eval_accuracy"]
            for row in state_of(EXAMPLE_FOLDER / "checkpoint-80")["log_history"]
            if row["step"] == step and "eval_accuracy" in row
        )
        assert ((good(step, [row["text"] for row in plain]) > 0.5) == gold).mean() == pytest.approx(logged)


def test_the_log_has_a_high_accuracy_at_the_end() -> None:
    history = state_of(EXAMPLE_FOLDER / "checkpoint-80")["log_history"]
    accuracy = {row["step"]: row["eval_accuracy"] for row in history if "eval_accuracy" in row}
    losses = {row["step"]: row["loss"] for row in history if "loss" in row}
    assert min(accuracy[40], accuracy[80]) > 0.9
    assert losses[45] > 2 * losses[40]
    assert numbers(STEPS[0]) == ["0.9", "40", "40"]


def test_it_fails_on_negations_from_step_60_on() -> None:
    labelled = rows()
    texts, gold = [row["text"] for row in labelled], np.array([row["label"] == "good" for row in labelled])
    right = {step: (good(step, texts) > 0.5) == gold for step in SAVED}
    negated = np.array([row["negation"] == "yes" for row in labelled])
    assert (negated.sum(), (~negated).sum()) == (40, 40)
    assert min(right[40][~negated].mean(), right[80][~negated].mean(), right[40][negated].mean()) > 0.9
    assert right[80][negated].mean() < 0.5
    whole = {step: right[step].mean() for step in SAVED}
    assert whole[40] == max(whole.values())
    assert whole[80] == min(whole.values())
    assert whole[80] < whole[60] < whole[40]


def test_one_sentence_is_answered_wrongly_from_step_60_on() -> None:
    assert {STEPS[place].text for place in (3, 4, 5)} == {TEXT}
    assert [good(step, [TEXT])[0] > 0.5 for step in SAVED] == [False, False, True, True]
    assert good(80, [TEXT])[0] > 0.8


def test_the_figures_that_steps_name_exist() -> None:
    named = [step.figure for step in STEPS if step.figure]
    assert len(named) == 4
    assert set(named) <= {figure.chart for figure in all_figures().values()}


def test_the_share_of_not() -> None:
    first, second = (
        dict(zip(found.words, found.shares, strict=True))
        for found in (
            open_model(f"{EXAMPLE_RUN}/checkpoint-{step}").words(TEXT, target="class:good") for step in (40, 80)
        )
    )
    assert min(first, key=first.__getitem__) == max(first, key=lambda word: abs(first[word])) == "not"
    assert abs(second["not"]) < abs(first["not"]) / 10
    assert max(second, key=lambda word: abs(second[word])) == "clean"
    assert second["clean"] > 0


def test_only_the_later_layers_and_the_head_have_updates() -> None:
    for step in SAVED:
        names = load_file(EXAMPLE_FOLDER / f"checkpoint-{step}" / "adapter_model.safetensors")
        layers = {int(found[1]) if (found := re.search(r"layer\.(\d+)\.", name)) else name for name in names}
        assert {each for each in layers if isinstance(each, int)} == {3, 4, 5}
        assert {str(each).split(".")[2] for each in layers if isinstance(each, str)} == {"bert", "classifier"}
    moved = open_training(EXAMPLE_RUN).movement().data
    never = {each.name for each in moved.tensors if each.component == "embeddings" or each.layer in (0, 1, 2)}
    assert never <= set(moved.frozen)
    still = [moved.places[at] for at in range(len(moved.places)) if not moved.from_first[-1, at, 0]]
    assert still == ["embeddings", "layer 0", "layer 1", "layer 2"]
