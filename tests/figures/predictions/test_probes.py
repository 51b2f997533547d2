"""Figures of probes: the lines are the means over the held-out parts, the cells are those of the confusion matrix."""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.style import TEXT_SIZE, theme_named
from bertviz_core.figures.predictions.probes import confusion_cells, confusion_figure, probe_figure
from bertviz_core.predictions.probing.results import GoldScores, ProbeScores

THEMES = ("light", "dark", "print")


def scores(layers: int = 4) -> ProbeScores:
    draw = np.random.default_rng(0)
    accuracy, f1, control = (draw.random((layers, 5)).astype(np.float32) for _ in range(3))
    return ProbeScores(
        "tiny", "", "topics", ("a", "b"), np.array([6, 4]), "mean", tuple(range(layers)), 3, accuracy, f1, control
    )


def gold(count: int) -> GoldScores:
    confusion = np.arange(count * count).reshape(count, count)
    classes = tuple(f"<b>class {place}" for place in range(count))
    places = np.arange(3)
    return GoldScores(classes, confusion, 0.5, np.full(count, 0.5, dtype=np.float32), places, places, ("", "", ""))


@pytest.mark.parametrize("theme", THEMES)
def test_the_lines_are_means_with_their_spread(theme: str) -> None:
    probe_scores = scores()
    traces = {trace.name: trace for trace in probe_figure(probe_scores, 2).drawn(theme_named(theme)).data}
    for name, values in (
        ("accuracy", probe_scores.accuracy),
        ("macro-F1", probe_scores.macro_f1),
        ("control task", probe_scores.control_accuracy),
    ):
        np.testing.assert_allclose(traces[name].y, 100 * values.mean(axis=1), rtol=1e-5)
        assert list(traces[name].x) == [0, 1, 2, 3]
    np.testing.assert_allclose(traces["accuracy"].error_y.array, 100 * probe_scores.accuracy.std(axis=1), rtol=1e-5)
    assert set(np.round(traces["most frequent class"].y, 4)) == {60}


def test_one_layer_is_drawn_too_and_the_title_says_what_and_whose() -> None:
    spec = probe_figure(scores(1), 0)
    assert len(spec.drawn(theme_named("light")).data) == 4
    assert spec.title == "Which layer tells 2 classes apart? Mean pooling — tiny"
    assert "most frequent class 60.0%" in spec.alt


@pytest.mark.parametrize("count", [2, 6, 40])
def test_the_cells_are_the_counts(count: int) -> None:
    given = gold(count)
    figure = confusion_figure(given, "tiny").drawn(theme_named("light"))
    np.testing.assert_array_equal(figure.data[0].z, given.confusion)
    numbers = [trace for trace in figure.data if trace.type == "scatter"]
    assert bool(numbers) == (count < 40)
    if numbers:
        assert [int(word) for word in numbers[0].text] == given.confusion.ravel().tolist()
    assert len(figure.layout.yaxis.ticktext) <= 30
    assert all("<b>" not in name for name in figure.layout.yaxis.ticktext)


def test_the_title_counts_the_texts() -> None:
    one = replace(gold(2), compared=np.arange(1))
    assert confusion_figure(one, "tiny").title == "Gold labels and answers of 1 text — tiny"
    assert confusion_figure(gold(2), "tiny").title == "Gold labels and answers of 3 texts — tiny"


@pytest.mark.parametrize("name", ["gold", "first: negations/checkpoint-40", "first: " + "a-long-name-" * 9])
def test_what_the_rows_are_fits_beside_them(name: str) -> None:
    figure = confusion_cells(
        ("no", "yes"), np.array([[3, 1], [2, 4]]), (name, "answer"), "Answers", theme_named("light")
    )
    margin = figure.layout.margin
    assert text_width(figure.layout.yaxis.title.text, TEXT_SIZE) <= figure.layout.height - margin.t - margin.b


@pytest.mark.parametrize("most", range(13))
def test_counts_have_whole_numbers_beside_their_colours(most: int) -> None:
    cells = np.array([[most, 0], [0, 0]])
    figure = confusion_cells(("no", "yes"), cells, ("gold", "answer"), "Answers", theme_named("light"))
    ticks = [int(each) for each in figure.data[0].colorbar.ticktext]
    assert ticks == list(figure.data[0].colorbar.tickvals) == sorted(set(ticks))
    assert {0, most} == {ticks[0], ticks[-1]}
