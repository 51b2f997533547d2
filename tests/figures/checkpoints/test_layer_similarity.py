"""Maps and lines of two models over many texts: the drawn numbers, scales, names."""

import numpy as np
import pytest

from bertviz_core.checkpoints.layer_similarity import layer_similarity
from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from bertviz_core.figures.checkpoints.comparison import (
    LAYER_MEASURES,
    layer_map,
    layer_similarity_figure,
    text_cosines_figure,
)
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED

RANDOM = np.random.default_rng(0)
COMPARED = layer_similarity(
    ("one", ACTIVE),
    RANDOM.normal(size=(3, 12, 5)).astype(np.float32),
    RANDOM.normal(size=(5, 12, 7)).astype(np.float32),
)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_map_has_the_first_model_down_the_second_across_and_ends_at_one(theme: Theme) -> None:
    for measure, values in zip(LAYER_MEASURES, (COMPARED.cka, COMPARED.shared_neighbours), strict=True):
        figure = layer_similarity_figure(COMPARED, measure).draw(theme)
        cells = figure.data[0]
        assert np.asarray(cells.z) == pytest.approx(values, abs=1e-6)
        assert cells.zmax == 1
        assert cells.zmin <= min(0, float(values.min()))
        assert cells.colorbar.title.text == measure
        assert figure.layout.xaxis.title.text == f"layer of {ACTIVE_ESCAPED}"
        assert figure.layout.yaxis.title.text == "layer of one"
        assert list(figure.layout.xaxis.ticktext) == ["emb.", "0", "1", "2", "3"]


def test_a_scale_without_negative_numbers_begins_at_zero_and_an_unknown_cell_stays_empty() -> None:
    values = np.array([[np.nan, 0.5], [0.2, 1]])
    cells = layer_map(values, ("one", "other"), "CKA", "x", LIGHT).data[0]
    assert (cells.zmin, cells.zmax) == (0, 1)
    assert np.isnan(cells.z[0][0])


def test_lines_are_the_mean_cosines_of_each_model() -> None:
    figure = text_cosines_figure(COMPARED).draw(LIGHT)
    first, second = figure.data
    assert list(first.y) == COMPARED.first_cosine.tolist()
    assert list(second.y) == COMPARED.second_cosine.tolist()
    assert second.name == f"second: {ACTIVE_ESCAPED}"
    assert first.line.dash != second.line.dash
    assert figure.layout.yaxis.range[0] <= min(COMPARED.first_cosine.min(), COMPARED.second_cosine.min(), 0)
    assert list(figure.layout.xaxis.tickvals) == [0, 1, 2, 3, 4]
