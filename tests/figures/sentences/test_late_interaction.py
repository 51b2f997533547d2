"""The figure of late interaction: cells, frames and bars are the result's, at every width."""

import numpy as np
import pytest

from bertviz_core.figures.base.style import HUES, WIDTHS, theme_named
from bertviz_core.figures.sentences.ranking import late_interaction_figure
from bertviz_core.predictions.results import LateInteraction


def made(rows: int, columns: int, mean: bool = False, normalized: bool = True) -> LateInteraction:
    generator = np.random.default_rng(2)
    return LateInteraction(
        model="a-model",
        query="<b>query</b>",
        document="the document",
        query_tokens=tuple(f"<q{row}>" for row in range(rows)),
        expanded=np.arange(rows) >= rows - 2,
        document_tokens=tuple(f"d{column}" for column in range(columns)),
        skipped=(),
        cosines=generator.uniform(-1, 1, (rows, columns)).astype(np.float32),
        normalized=normalized,
        mean=mean,
        dimensions=5,
        trained=True,
        notices=(),
    )


@pytest.mark.sample(8)
@pytest.mark.parametrize("pixels", WIDTHS)
@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (32, 9), (7, 180), (1, 1)])
def test_the_bars_are_the_framed_cells_and_add_up_to_the_score(pixels: int, rows: int, columns: int) -> None:
    result = made(rows, columns)
    figure = late_interaction_figure(result).drawn(theme_named("light", pixels))
    (cells,), (bars,) = ([each for each in figure.data if each.type == kind] for kind in ("heatmap", "bar"))
    np.testing.assert_array_equal(np.array(cells.z), result.cosines)
    frames = [(each.x0 + 0.5, each.y0 + 0.5) for each in figure.layout.shapes]
    framed = [result.cosines[int(row), int(column)] for column, row in frames]
    np.testing.assert_array_equal(framed, result.cosines.max(axis=1))
    np.testing.assert_array_equal(np.array(bars.x), framed)
    assert float(np.sum(framed, dtype=np.float64)) == pytest.approx(result.score)
    assert [colour == HUES[0] for colour in bars.marker.color] == (~result.expanded).tolist()
    assert f"{result.score:.4f}".replace("-", "−") in figure.layout.xaxis2.title.text.replace("<br>", " ")
    assert "<b>" not in figure.layout.title.text.replace("<br>", "")


def test_a_mean_and_dot_products_are_named() -> None:
    result = made(4, 5, mean=True, normalized=False)
    assert result.score == pytest.approx(float(result.cosines.max(axis=1).mean()))
    spec = late_interaction_figure(result)
    assert "the mean of 4 largest dot products" in spec.caption
    assert "largest dot product, mean" in spec.drawn(theme_named("light", 980)).layout.xaxis2.title.text
