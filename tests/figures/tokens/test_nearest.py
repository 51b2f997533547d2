"""Bars of the nearest rows: every cosine next to its name, and no name read as markup."""

import numpy as np
import pytest

from bertviz_core.figures.base.axes import token_text
from bertviz_core.figures.base.style import THEMES, Theme
from bertviz_core.figures.tokens import neighbour_bars

NAMES = ("snake", "##py", "snake", "<b>x</b>")
COSINES = np.array([0.5, 0.25, 0.125, -0.0625], dtype=np.float32)
NORMS = np.array([1.5, 2.5, 3.5, 4.5], dtype=np.float32)
every_theme = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())


@every_theme
def test_each_bar_is_the_cosine_of_its_row(theme: Theme) -> None:
    figure = neighbour_bars([token_text(name) for name in NAMES], COSINES, NORMS, "Nearest", theme)
    bars, numbers = figure.data
    assert bars.orientation == "h"
    np.testing.assert_array_equal(bars.x, COSINES)
    assert list(bars.y) == [0, 1, 2, 3]
    assert [text.strip() for text in numbers.text] == ["0.5000", "0.2500", "0.1250", "−0.0625"]
    assert [f"norm {norm:.4f}" in hover_text for norm, hover_text in zip(NORMS, bars.customdata, strict=True)] == [
        True
    ] * 4
    assert list(figure.layout.yaxis.tickvals) == [0, 1, 2, 3]
    assert list(figure.layout.yaxis.ticktext) == ["snake", "##py", "snake", "&lt;b&gt;x&lt;/b&gt;"]
    assert figure.layout.yaxis.autorange == "reversed"
    assert (figure.layout.paper_bgcolor, bars.marker.color) == (theme.paper, theme.colours["embeddings"])


@every_theme
def test_every_bar_and_its_number_have_room(theme: Theme) -> None:
    low, high = neighbour_bars(NAMES, COSINES, NORMS, "Nearest", theme).layout.xaxis.range
    assert low < COSINES.min()
    assert high > COSINES.max() * 1.1


@every_theme
def test_a_title_is_text(theme: Theme) -> None:
    title = neighbour_bars(["a"], COSINES[:1], NORMS[:1], 'Rows to "<i>x</i>"', theme).layout.title.text
    assert title == 'Rows to "&lt;i&gt;x&lt;/i&gt;"'


@every_theme
def test_a_table_of_one_row_has_no_neighbour_and_an_empty_picture(theme: Theme) -> None:
    bars, _ = neighbour_bars([], COSINES[:0], NORMS[:0], "Nearest", theme).data
    assert len(bars.x) == 0
