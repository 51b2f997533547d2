"""The figure of fewer dimensions draws the numbers of the curve and marks the dimensions of the training."""

import math

import numpy as np
import pytest

from bertviz_core.figures.base.style import DARK, LIGHT, WIDTHS, Theme, theme_named
from bertviz_core.figures.sentences.similarity import dimensions_figure
from bertviz_core.sentences.results import DimensionCurve

COUNTS = np.array([8, 12, 16, 768])
CURVE = DimensionCurve(
    "mine", ("a", "b", "c"), COUNTS, 1, np.array([0.5, 0.6, 0.7, 1.0]), np.array([-0.2, math.nan, 0.4, 1.0]),
    4 * COUNTS, (16,),
)  # fmt: skip


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_lines_are_the_curve(theme: Theme) -> None:
    shared, spearman = dimensions_figure(CURVE).drawn(theme).data
    assert list(shared.y) == [0.5, 0.6, 0.7, 1.0]
    assert list(spearman.y) == [-0.2, None, 0.4, 1.0]
    assert list(shared.x) == list(spearman.x) == np.log2(COUNTS).tolist()
    assert list(shared.marker.symbol) == ["circle", "circle", "diamond", "circle"]
    assert shared.customdata[2] == "16 dimensions, 64 bytes, trained"


@pytest.mark.parametrize("pixels", WIDTHS)
def test_labels_are_the_dimensions(pixels: int) -> None:
    axis = dimensions_figure(CURVE).drawn(theme_named("light", pixels)).layout.xaxis
    assert (
        dict(zip(axis.tickvals, axis.ticktext, strict=True)).items()
        <= {place: f"{count:,}" for place, count in zip(np.log2(COUNTS).tolist(), COUNTS.tolist(), strict=True)}.items()
    )
