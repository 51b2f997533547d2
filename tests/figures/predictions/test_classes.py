"""Bars of classes show the prediction's numbers, in the chosen order, some of many; an edit shows both versions.

Covers `bertviz_core/figures/predictions/classes.py`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import LIGHT, WIDTHS, Theme
from bertviz_core.figures.interventions.words import signed_bars
from bertviz_core.figures.predictions.classes import (
    MOST,
    SAYS,
    classes_change_figure,
    classes_figure,
    clear_stretches,
    next_sentence_figure,
    paired_bars,
    signed,
    words_change_figure,
)
from bertviz_core.figures.sentences.bars import named_score_bars
from bertviz_core.predictions.results import ClassPrediction, Scoring, WordShift
from tests.helpers.made_traces import tokens_of


def made(logits: list[float], scoring: Scoring = "softmax") -> ClassPrediction:
    numbers = np.array(logits, np.float32)
    probabilities = {
        "softmax": np.exp(numbers) / np.exp(numbers).sum(),
        "sigmoid": 1 / (1 + np.exp(-numbers)),
        "number": None,
    }[scoring]
    labels = tuple(f"<b>{place}</b>" for place in range(len(logits)))
    return ClassPrediction("made", tokens_of(3), labels, numbers, scoring, probabilities)


@pytest.mark.parametrize("scoring", SAYS)
@pytest.mark.parametrize("pixels", WIDTHS[::3])
def test_every_bar_is_a_class_with_its_number(scoring: Scoring, pixels: int) -> None:
    prediction = made([0.5, -1.5, 2.0], scoring)
    numbers = prediction.logits if prediction.probabilities is None else prediction.probabilities
    for order, rows in (("by size", [2, 0, 1]), ("as in the model", [0, 1, 2])):
        figure = classes_figure(prediction, order).drawn(replace(LIGHT, pixels=pixels))
        np.testing.assert_allclose(figure.data[0].x, numbers[rows])
        assert [name.replace("&lt;", "<").replace("&gt;", ">") for name in figure.layout.yaxis.ticktext] == [
            prediction.labels[row] for row in rows
        ]
        written = [float(word.replace("−", "-")) for word in figure.data[0].text]
        np.testing.assert_allclose(written, numbers[rows], atol=6e-4)
        low, high = figure.layout.xaxis.range
        assert low <= numbers.min()
        assert numbers.max() < high


def test_of_many_classes_the_greatest_are_drawn_and_said() -> None:
    prediction = made(np.random.default_rng(0).normal(size=10_000).tolist())
    spec = classes_figure(prediction, "as in the model")
    assert "the 30 greatest of 10,000" in spec.title
    shown = spec.drawn(LIGHT).data[0].x
    np.testing.assert_allclose(sorted(shown), np.sort(prediction.probabilities)[-MOST:], rtol=1e-6)


def test_the_two_outputs_of_a_pair_keep_their_order() -> None:
    prediction = made([0.0, 3.0])
    np.testing.assert_allclose(next_sentence_figure(prediction).drawn(LIGHT).data[0].x, prediction.probabilities)


def test_the_line_of_one_half_crosses_no_number() -> None:
    starts = np.array([0.9, 0.45, 0.1, 0.48])
    stretches = clear_stretches(starts, starts + 0.1, 4)
    np.testing.assert_allclose(stretches, [(-0.5, 0.65), (1.35, 2.65), (3.35, 3.5)])
    two_bars = clear_stretches(np.array([0.45, 0.9]), np.array([0.55, 1.0]), 1)
    np.testing.assert_allclose(two_bars, [(-0.5, -0.35), (0, 0.5)])
    assert clear_stretches(np.array([0.9]), np.array([1.0]), 1) == [(-0.5, 0.5)]
    figure = classes_figure(made([3.0, -0.1, -4.0], "sigmoid"), "by size").drawn(LIGHT)
    assert [(line.y0, line.y1) for line in figure.layout.shapes] == [(-0.5, 0.65), (1.35, 2.5)]


@pytest.mark.parametrize("scoring", SAYS)
def test_an_edit_draws_both_and_their_difference_the_largest_first(scoring: Scoring) -> None:
    before, after = made([0.0, 1.0, 2.0], scoring), made([0.1, 3.0, 2.0], scoring)
    figure = classes_change_figure(before, after).drawn(LIGHT)
    one, other = (np.array(trace.x) for trace in figure.data[:2])
    numbers = [each.logits if each.probabilities is None else each.probabilities for each in (before, after)]
    np.testing.assert_allclose(sorted(one), sorted(numbers[0]))
    np.testing.assert_allclose(sorted(other), sorted(numbers[1]))
    changes = np.abs(other - one)
    assert list(changes) == sorted(changes, reverse=True)
    unedited = classes_change_figure(before, before).drawn(LIGHT)
    assert [trace.name for trace in unedited.data] == ["The text"]
    np.testing.assert_allclose(unedited.data[0].x, sorted(numbers[0], reverse=True))
    assert all(
        f"({signed(change)})" in word for word, change in zip(figure.data[1].text, (other - one).tolist(), strict=True)
    )


def test_words_at_a_mask_are_drawn_before_and_after() -> None:
    values = np.array([0.5, 0.25], np.float32)
    shift = WordShift(2, 3, ("<s>", "city"), values, values[::-1].copy(), 0.1)
    figure = words_change_figure(shift, "[MASK]", "made").drawn(LIGHT)
    np.testing.assert_allclose(figure.data[0].x, values)
    np.testing.assert_allclose(figure.data[1].x, values[::-1])
    assert list(figure.layout.yaxis.ticktext) == ["&lt;s&gt;", "city"]


@pytest.mark.parametrize("pixels", WIDTHS)
@pytest.mark.parametrize(
    "draw",
    [
        lambda theme: named_score_bars(["a", "b"], np.array([0.49, 0.2]), ["", ""], "#0072b2", "unit", "t", theme),
        lambda theme: paired_bars(["a", "b"], np.array([0.49, 0.2]), np.array([0.4, 0.3]), "softmax", "t", True, theme),
        lambda theme: signed_bars(["a", "b"], [0.49, -0.2], "unit", "t", theme),
    ],
    ids=["scores", "classes", "signed"],
)
def test_no_line_of_a_grid_crosses_the_numbers_beside_bars(draw: Callable[[Theme], go.Figure], pixels: int) -> None:
    figure = FigureSpec("t", "", draw).drawn(replace(LIGHT, pixels=pixels))
    assert figure.layout.xaxis.showgrid is False
