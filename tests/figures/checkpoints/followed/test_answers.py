"""Figures of what the checkpoints answer: probabilities, surprise and cosine of a text; scores and changed answers."""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.checkpoints.training.results import FINAL, FollowedLabels, FollowedText
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.checkpoints.training import (
    MOST_CLASSES,
    drawn_classes,
    text_plots,
    training_scores_figure,
    training_text_figure,
)
from bertviz_core.questions.tables.training import labels_sentence
from tests.helpers.hand_made import ACTIVE

STEPS = np.array([10, 20, 20])
NAMES = ("checkpoint-10", "checkpoint-20", FINAL)
PROBABILITIES = np.array([[0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
TEXT = FollowedText(
    run="run",
    text="not bad",
    pair=None,
    task="sequence-classification",
    checkpoints=NAMES,
    steps=STEPS,
    answers=("positive", "negative", "negative"),
    scores=PROBABILITIES.max(axis=1),
    labels=("negative", "positive"),
    probabilities=PROBABILITIES,
    surprise=None,
    cosine=np.array([0.1, 0.2, 0.3]),
    notices=(),
)
LABELS = FollowedLabels(
    run="run",
    checkpoints=NAMES,
    steps=STEPS,
    texts=("a", "b", "c"),
    pairs=None,
    gold=("x", "", "y"),
    answers=(("x", "x", "x"), ("x", "y", "y"), ("x", "y", "y")),
    accuracy=np.array([0.5, 1.0, 1.0]),
    macro_f1=np.array([1 / 3, 1.0, 1.0]),
    notices=(),
)


def test_a_line_is_a_class_and_answers_are_named_where_they_begin() -> None:
    figure = training_text_figure(TEXT).drawn(LIGHT)
    lines = {trace.name: list(trace.y) for trace in figure.data}
    assert lines == {
        "negative": [0.2, 0.6, 0.7],
        "positive": [0.8, 0.4, 0.3],
        "cosine of the two texts": [0.1, 0.2, 0.3],
    }
    assert [(each.x, each.text) for each in figure.layout.annotations] == [(10, "answer: positive"), (20, "→ negative")]
    assert "not bad" in figure.layout.title.text


def test_without_classes_the_probability_of_the_answer_or_the_number_is_drawn() -> None:
    spans = replace(TEXT, labels=(), probabilities=None, cosine=None)
    (plot,) = text_plots(spans)
    assert plot.title == "probability of the answer"
    numbers = replace(spans, answers=("", "", ""), scores=np.array([1.5, 2.5, -3.0]))
    (plot,) = text_plots(numbers)
    assert (plot.title, plot.span) == ("number", None)
    surprise = replace(numbers, scores=np.full(3, np.nan), surprise=np.array([3.0, 2.0, 1.0]))
    (plot,) = text_plots(surprise)
    assert plot.title == "surprise, nats"
    assert not training_text_figure(surprise).draw(LIGHT).layout.annotations


def test_of_many_classes_the_answers_come_first() -> None:
    count = MOST_CLASSES + 4
    probabilities = np.full((3, count), 0.05)
    probabilities[:, 2] = 0.2
    many = replace(TEXT, labels=tuple(map(str, range(count))), probabilities=probabilities, answers=("9", "9", "2"))
    chosen = drawn_classes(many)
    assert len(chosen) == MOST_CLASSES
    assert {2, 9} <= set(chosen)
    assert chosen == sorted(chosen)


def test_scores_are_in_percent_and_bars_count_the_changed_answers() -> None:
    spec = training_scores_figure(LABELS)
    traces = {trace.name: list(trace.y) for trace in spec.drawn(LIGHT).data}
    assert traces == {
        "accuracy": [50, 100, 100],
        "macro-F1": pytest.approx([100 / 3, 100, 100]),
        "answers that changed": [None, 2, 0],
    }
    assert spec.title.startswith("Scores of 2 texts with gold labels")
    sure = replace(LABELS, ece=np.array([0.3, 0.2, 0.25]), brier=np.array([0.5, 0.4, 0.1]), log_loss=np.arange(3.0))
    traces = {trace.name: list(trace.y) for trace in training_scores_figure(sure).drawn(LIGHT).data}
    assert traces["ECE"] == [0.3, 0.2, 0.25]
    assert traces["log loss, nats"] == [0, 1, 2]


def test_names_of_a_stranger_are_text() -> None:
    active = replace(TEXT, run=ACTIVE, text=ACTIVE, labels=(ACTIVE, "b"), answers=(ACTIVE, "b", ACTIVE))
    drawn = training_text_figure(active).drawn(LIGHT).to_json()
    assert ACTIVE not in drawn


def test_the_sentence_names_the_largest_fall_between_two_checkpoints() -> None:
    names, steps = ("checkpoint-2", "checkpoint-4", "checkpoint-6", "checkpoint-8"), np.array([2, 4, 6, 8])
    answers = (("x", "x", "x"),) * 4
    accuracy = np.array([0.85, 0.925, 0.75, 0.725])
    fell = replace(LABELS, checkpoints=names, steps=steps, answers=answers, accuracy=accuracy, macro_f1=accuracy)
    assert labels_sentence(fell).endswith("Of all steps it falls most from step 4 to step 6 (92.5% to 75.0%).")
    rose = replace(fell, accuracy=np.sort(accuracy))
    assert "falls" not in labels_sentence(rose)
    assert (fell.fall, rose.fall) == (1, None)
