"""Lines and bars over the steps of a run: the drawn numbers, marks, names above, and ticks of counts."""

import numpy as np
import pytest

from bertviz_core.checkpoints.training.results import FINAL
from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from bertviz_core.figures.checkpoints.training import MOST_MARKS, StepAxis, StepPlot, step_plots
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED

STEPS = np.array([5, 1_500, 3_000, 3_000])
NAMES = ("checkpoint-5", "checkpoint-1500", "checkpoint-3000", FINAL)
VALUES = np.array([0.5, np.nan, 0.25, 0.75])


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_lines_are_the_numbers_and_the_final_model_is_a_diamond(theme: Theme) -> None:
    plots = (StepPlot("p", [("a", VALUES), (ACTIVE, VALUES / 2)], span=(0, 1)), StepPlot("q", [("b", 2 * VALUES)]))
    figure = step_plots(plots, StepAxis(NAMES, STEPS), ACTIVE, theme)
    lines = {trace.name: trace for trace in figure.data}
    assert list(lines) == ["a", ACTIVE_ESCAPED, "b"]
    assert list(lines["a"].y) == [0.5, None, 0.25, 0.75]
    assert list(lines["b"].x) == STEPS.tolist()
    assert lines["a"].yaxis == lines[ACTIVE_ESCAPED].yaxis != lines["b"].yaxis
    assert list(lines["a"].marker.symbol) == ["circle"] * 3 + ["diamond"]
    assert lines["a"].customdata[3] == "final model, step 3,000"
    assert list(figure.layout.yaxis.range) == [0, 1]
    assert len({trace.line.color for trace in figure.data}) == 3
    low, high = figure.layout.xaxis.range
    assert low < 5 < 3_000 < high


def test_names_stand_where_they_begin_and_only_where_there_is_room() -> None:
    steps = np.array([0, 1, 1_000, 1_001])
    names = [(0, "cat"), (1, ACTIVE), (2, "dog"), (3, "a mouse")]
    figure = step_plots([StepPlot("p", [("a", VALUES)])], StepAxis(NAMES, steps, names), "t", LIGHT)
    assert [(each.text.partition(" ")[0], each.x) for each in figure.layout.annotations][0][1] == 1
    assert {each.x for each in figure.layout.annotations} <= {1, 1_001}
    assert [shape.x0 for shape in figure.layout.shapes] == [1, 1_000, 1_001]
    assert "onerror" not in ACTIVE or "<img" not in str(figure.layout.annotations)


@pytest.mark.parametrize(("largest", "tick"), [(0, 1), (1, 1), (6, 2), (11, 5), (250, 50), (99_999, 20_000)])
def test_bars_have_whole_ticks_and_end_before_the_edge(largest: int, tick: int) -> None:
    counts = np.array([0.0, largest, 0, 0])
    figure = step_plots([StepPlot("n", [("n", counts)], as_bars=True)], StepAxis(NAMES, STEPS), "t", LIGHT)
    (bars,) = figure.data
    assert list(bars.y) == counts.tolist()
    assert figure.layout.yaxis.dtick == tick
    assert figure.layout.xaxis.range[1] >= 3_000 + bars.width / 2


def test_a_single_checkpoint_and_hundreds_are_drawn() -> None:
    one = step_plots([StepPlot("p", [("a", VALUES[:1])])], StepAxis(NAMES[:1], STEPS[:1]), "t", LIGHT)
    assert one.layout.xaxis.range[0] < 5 < one.layout.xaxis.range[1]
    count = MOST_MARKS + 1
    names, steps = tuple(f"checkpoint-{step}" for step in range(count)), np.arange(count)
    many = step_plots([StepPlot("p", [("a", np.ones(count))])], StepAxis(names, steps), "t", LIGHT)
    assert many.data[0].mode == "lines"


def test_of_two_equal_lines_the_upper_one_is_dashed_so_that_both_are_visible() -> None:
    lines = [("accuracy", VALUES), ("macro-F1", VALUES * 1.001), ("other", VALUES + 1)]
    figure = step_plots([StepPlot("p", lines)], StepAxis(NAMES, STEPS), "t", LIGHT)
    first, second, other = (trace.line.dash for trace in figure.data[:3])
    assert first == other != second
