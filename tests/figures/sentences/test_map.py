"""The map of sentences: one scale on both axes at every width, labels inside the plot and as long as possible."""

import numpy as np
import pytest

from bertviz_core.figures.base.style import WIDTHS, theme_named
from bertviz_core.figures.sentences.similarity import sentence_scatter
from bertviz_core.sentences.similarity import sentence_map

LONG = "A sentence of many words that has all the room it needs"


@pytest.mark.parametrize("pixels", WIDTHS)
@pytest.mark.parametrize("count", [1, 2, 12, 60])
def test_both_axes_have_one_scale(pixels: int, count: int) -> None:
    placed = sentence_map(np.random.default_rng(0).standard_normal((count, 7)).astype(np.float32))
    figure = sentence_scatter(placed, ["word"] * count, "t", theme_named("light", pixels))
    assert (figure.layout.yaxis.scaleanchor, figure.layout.yaxis.scaleratio) == ("x", 1)
    left, right = figure.layout.xaxis.range
    assert left < placed.points[:, 0].min() <= placed.points[:, 0].max() < right


def test_a_sentence_is_not_cut_in_an_empty_plane() -> None:
    placed = sentence_map(np.eye(3, dtype=np.float32))
    figure = sentence_scatter(placed, [LONG] * 3, "t", theme_named("light"))
    assert LONG in figure.data[0].text


def test_what_the_note_says_of_the_axes_is_true_of_the_picture() -> None:
    placed = sentence_map(np.random.default_rng(0).standard_normal((9, 7)).astype(np.float32))
    assert placed.note.startswith("Both axes have the same scale; ")
