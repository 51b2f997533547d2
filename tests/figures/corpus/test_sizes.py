"""Sizes of groups and clusters as bars: heights are counts of groups, lengths are rows."""

import numpy as np
import pytest

from bertviz_core.corpus.analysis.results import CorpusClusters, DuplicateGroups
from bertviz_core.figures.base.style import theme_named
from bertviz_core.figures.corpus import DRAWN, clusters_figure, duplicates_figure


def groups(sizes: list[int]) -> DuplicateGroups:
    starts = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    none = np.zeros(0, dtype=np.int64)
    scores = np.zeros(0, dtype=np.float32)
    return DuplicateGroups(0.9, np.arange(sum(sizes)), starts, none, none, scores, 0, 100)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_bars_count_the_groups_of_each_size(theme: str) -> None:
    spec = duplicates_figure(groups([5, 3, 3, 2, 2, 2]), "mine")
    (bars,) = spec.drawn(theme_named(theme)).data
    assert dict(zip(bars.x, np.asarray(bars.y).tolist(), strict=True)) == {"2": 3, "3": 2, "5": 1}
    assert list(bars.customdata) == ["3 groups", "2 groups", "1 group"]
    assert spec.title == "Near duplicates, cosine ≥ 0.9: 6 groups — corpus mine"
    assert "17 of 100 rows, 5 in the largest" in spec.alt


def test_no_group_is_drawn_too() -> None:
    spec = duplicates_figure(groups([]), "mine")
    assert len(spec.drawn(theme_named("light")).data[0].x) == 0
    assert "0 groups" in spec.title


@pytest.mark.parametrize("count", [1, 6, 50])
def test_clusters_have_the_length_of_their_rows(count: int) -> None:
    sizes = np.arange(count, 0, -1)
    typical = np.zeros((count, 5), dtype=np.int64)
    scores = np.ones((count, 5), dtype=np.float32)
    labels = np.repeat(np.arange(count), sizes)
    centres = np.zeros((count, 3), dtype=np.float32)
    found = CorpusClusters("k-means", labels, sizes, centres, typical, scores, len(labels), 0, "A note.")
    spec = clusters_figure(found, [f"<b>{place}" for place in range(count)], "mine")
    figure = spec.drawn(theme_named("light"))
    np.testing.assert_array_equal(figure.data[0].x, sizes[:DRAWN])
    assert all("<b>" not in name for name in figure.layout.yaxis.ticktext)
    assert spec.caption.endswith("A note.")
