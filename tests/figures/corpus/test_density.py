"""A map's density: shades increase with the counts, cells are in their place, colours show the majority."""

from typing import Any

import numpy as np
import pytest

from bertviz_core.corpus.analysis.clusters import map_density, whole_window
from bertviz_core.corpus.analysis.duplicates import ColumnValues
from bertviz_core.corpus.analysis.results import CorpusMap
from bertviz_core.figures.base.style import theme_named
from bertviz_core.figures.corpus import STEPS, corpus_map_figure, majority_map, value_colours

ROWS = 900


@pytest.fixture(scope="module")
def points() -> Any:
    return np.random.default_rng(0).standard_normal((ROWS, 2)).astype(np.float32)


def placed(points: Any, method: Any = "pca") -> CorpusMap:
    explained = np.array([0.4, 0.2], dtype=np.float32) if method == "pca" else None
    return CorpusMap(points, explained, None, method, ROWS, "A note.")


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_shades_grow_with_the_counts(points: Any, theme: str) -> None:
    density = map_density(points, whole_window(points), across=30, down=20)
    figure = corpus_map_figure(placed(points), density, "", "mine").drawn(theme_named(theme))
    (cells,) = [trace for trace in figure.data if trace.type == "heatmap"]
    shades = np.asarray(cells.z)
    assert shades.dtype == np.uint8
    order = np.argsort(density.counts, axis=None, kind="stable")
    assert (np.diff(shades.ravel()[order].astype(int)) >= 0).all()
    np.testing.assert_array_equal(shades == 0, density.counts == 0)
    assert shades.max() == STEPS
    ticks = dict(zip(cells.colorbar.ticktext, cells.colorbar.tickvals, strict=True))
    one = shades[density.counts == 1][0]
    assert ticks["1"] == pytest.approx(one, abs=1)


def test_a_cell_stands_where_its_points_are(points: Any) -> None:
    window = whole_window(points)
    density = map_density(points, window, across=8, down=5)
    (cells,) = corpus_map_figure(placed(points), density, "", "mine").drawn(theme_named("light")).data
    for row in range(0, ROWS, 50):
        x, y = points[row].tolist()
        column, line = round((x - cells.x0) / cells.dx), round((y - cells.y0) / cells.dy)
        assert density.counts[line, column] > 0
    assert cells.x0 - cells.dx / 2 == pytest.approx(window.left)
    assert cells.x0 + 7.5 * cells.dx == pytest.approx(window.right)
    assert cells.y0 + 4.5 * cells.dy == pytest.approx(window.top)


def test_every_value_has_its_cells_and_its_count(points: Any) -> None:
    codes = (points[:, 0] > 0).astype(np.int16)
    values = ColumnValues(("left <b>", "right"), codes)
    density = map_density(points, whole_window(points), values, across=12, down=9)
    spec = corpus_map_figure(placed(points), density, "side", "mine")
    assert spec.title == "Map of 900 rows, side of most rows of each cell — corpus mine"
    figure = spec.drawn(theme_named("light"))
    drawn = [np.asarray(trace.z) for trace in figure.data if trace.type == "heatmap"]
    assert density.majority is not None
    for place, cells in enumerate(drawn):
        np.testing.assert_array_equal(cells == 1, density.majority == place)
    names = [trace.name for trace in figure.data if trace.type == "scatter"]
    assert names == [f"left &lt;b&gt; ({(codes == 0).sum()})", f"right ({(codes == 1).sum()})"]


def test_axes_say_what_they_are(points: Any) -> None:
    density = map_density(points, whole_window(points), across=4, down=4)
    figure = corpus_map_figure(placed(points), density, "", "mine").drawn(theme_named("light"))
    assert figure.layout.xaxis.title.text == "first component, 40.0% of the variance"
    spec = corpus_map_figure(placed(points, "umap"), density, "", "mine")
    assert spec.drawn(theme_named("light")).layout.yaxis.title.text == "second axis"
    assert spec.caption.endswith("UMAP. A note.")


def test_hues_are_enough_and_a_column_is_needed(points: Any) -> None:
    theme = theme_named("light")
    hues = value_colours(10, theme)
    assert len(set(hues[:8])) == 8
    assert hues[8:] == [theme.muted] * 2
    with pytest.raises(ValueError, match="without values"):
        majority_map(map_density(points, whole_window(points)), "x", ("a", "b"), "t", theme)


def test_an_empty_window_is_drawn(points: Any) -> None:
    density = map_density(points[:0], whole_window(points), across=4, down=4)
    figure = corpus_map_figure(placed(points), density, "", "mine").drawn(theme_named("light"))
    assert not np.asarray(figure.data[0].z).any()


@pytest.mark.parametrize("theme", ["light", "print"])
def test_both_axes_have_one_scale(points: Any, theme: str) -> None:
    density = map_density(points, whole_window(points))
    figure = corpus_map_figure(placed(points), density, "", "mine").drawn(theme_named(theme, 400))
    assert (figure.layout.yaxis.scaleanchor, figure.layout.yaxis.scaleratio) == ("x", 1)
    assert figure.data[0].dx == pytest.approx(figure.data[0].dy, rel=0.05)
