"""The figure of a background: percentiles where NumPy has them, a mark for each pair of a list, names inside.

Covers `bertviz_core/figures/sentences/background.py`.
"""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.sentences.background import background_figure, rank_number
from bertviz_core.sentences.analysis.results import Background, ListedPairs
from bertviz_core.sentences.results import MEASURES, Measure

RANDOM = np.random.default_rng(0)
VALUES = np.sort(np.clip(RANDOM.normal(0.1, 0.1, 1_225), -1, 1).astype(np.float32))
LISTED = ListedPairs(("<b>one</b>", "two", "three"), np.array([0.5, 0.1, np.nan], np.float32))


def made(measure: Measure = "cosine") -> Background:
    return Background("m", "r", "mean", 6, "", "", measure, "unrelated texts", (), VALUES)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("pixels", [350, 1_000])
def test_percentiles_and_marks_stand_where_they_belong(measure: Measure, pixels: int) -> None:
    found = made(measure)
    figure = background_figure.of({"background": found, "listed": LISTED}).drawn(replace(LIGHT, pixels=pixels))
    lines = [shape.x0 for shape in figure.layout.shapes]
    np.testing.assert_allclose(lines, np.percentile(VALUES.astype(float), found.marked))
    marks = figure.data[-1]
    np.testing.assert_array_equal(marks.x, LISTED.similarities)
    assert "&lt;b&gt;one" in marks.customdata[0]
    outline = figure.data[0]
    assert sum(outline.y[1:-1:2]) == pytest.approx(100), "every pair is in a bar"
    low, high = figure.layout.xaxis.range
    for name in figure.layout.annotations[-3:]:
        assert low <= name.x <= high


def test_a_long_list_is_an_outline_and_a_background_needs_none() -> None:
    many = ListedPairs(tuple(map(str, range(20))), VALUES[:190])
    assert len(background_figure.of({"background": made(), "listed": many}).drawn(LIGHT).data) == 2
    assert len(background_figure.of({"background": made(), "listed": None}).drawn(LIGHT).data) == 1
    assert [rank_number(rank) for rank in (50, 99.96, 99.999, 0.001)] == ["50.0", "99.96", "99.99", "0.01"]
