"""The lesson on a training run is true of the run that its command makes."""

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.questions.figures import all_figures
from tests.helpers.negations import negations_models
from tests.helpers.training_runs import state_of
from tests.ui.lessons.shipped import lesson, numbers
from ui.lessons.tour import RUN_LESSON

STEPS = lesson(RUN_LESSON).steps
SAVED = (20, 40, 60, 80)
TEXT = "The kitchen was not clean."
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run() -> Path:
    """The folder of the run."""
    return negations_models() / "negations"


@torch.no_grad()
def good(checkpoint: Path, texts: list[str]) -> np.ndarray:
    """Probability of the class good by transformers' own class."""
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    inputs = AutoTokenizer.from_pretrained(checkpoint)(texts, padding=True, return_tensors="pt")
    return np.asarray(model(**inputs).logits.softmax(-1)[:, model.config.label2id["good"]])


def rows(run: Path) -> list[dict[str, str]]:
    with (run / "negations.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_log_has_a_high_accuracy_at_the_end(run: Path) -> None:
    history = state_of(run / "checkpoint-80")["log_history"]
    accuracy = {row["step"]: row["eval_accuracy"] for row in history if "eval_accuracy" in row}
    losses = {row["step"]: row["loss"] for row in history if "loss" in row}
    assert min(accuracy[40], accuracy[80]) > 0.9
    assert losses[45] > 2 * losses[40]
    assert numbers(STEPS[0]) == ["0.9", "40", "40"]


def test_it_fails_on_negations_from_step_60_on(run: Path) -> None:
    labelled = rows(run)
    texts, gold = [row["text"] for row in labelled], np.array([row["label"] == "good" for row in labelled])
    right = {step: (good(run / f"checkpoint-{step}", texts) > 0.5) == gold for step in SAVED}
    negated = np.array([row["negation"] == "yes" for row in labelled])
    assert (negated.sum(), (~negated).sum()) == (40, 40)
    assert min(right[40][~negated].mean(), right[80][~negated].mean(), right[40][negated].mean()) > 0.9
    assert right[80][negated].mean() < 0.5
    whole = {step: right[step].mean() for step in SAVED}
    assert whole[40] == max(whole.values())
    assert whole[80] == min(whole.values())
    assert whole[80] < whole[60] < whole[40]


def test_one_sentence_is_answered_wrongly_from_step_60_on(run: Path) -> None:
    assert {STEPS[place].text for place in (3, 4, 5)} == {TEXT}
    assert [good(run / f"checkpoint-{step}", [TEXT])[0] > 0.5 for step in SAVED] == [False, False, True, True]
    assert good(run / "checkpoint-80", [TEXT])[0] > 0.8


def test_the_figures_that_steps_name_exist() -> None:
    named = [step.figure for step in STEPS if step.figure]
    assert len(named) == 4
    assert set(named) <= {figure.chart for figure in all_figures().values()}


def test_the_share_of_not(run: Path) -> None:
    first, second = (
        dict(zip(found.words, found.shares, strict=True))
        for found in (open_model(run / f"checkpoint-{step}").words(TEXT, target="class:good") for step in (40, 80))
    )
    others = [abs(share) for word, share in first.items() if word != "not"]
    assert -first["not"] > 2 * max(others)
    assert second["not"] > 0
    assert second["clean"] > second["not"]


def test_the_frozen_part_is_equal_and_the_later_layers_are_not(run: Path) -> None:
    first, second = (load_file(run / f"checkpoint-{step}" / "model.safetensors") for step in (40, 80))
    for name, value in first.items():
        frozen = ".embeddings." in name or any(f".layer.{layer}." in name for layer in range(3))
        assert np.array_equal(value, second[name]) == frozen, name
