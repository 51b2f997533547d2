"""Hits of a search as bars: their lengths are the cosines, in the order of the hits; texts are not read as markup."""

import numpy as np
import pytest

from bertviz_core.corpus.results import CorpusHit, CorpusHits
from bertviz_core.figures.base.style import theme_named
from bertviz_core.figures.corpus import HITS_DRAWN as DRAWN
from bertviz_core.figures.corpus import hits_figure


def hits(count: int, text: str | None = "<b>A bank</b>") -> CorpusHits:
    found = tuple(CorpusHit(7 * row, 0.9 - row / 100, text, {"kind": "a", "year": row}) for row in range(count))
    return CorpusHits("a <i>query</i>", "mine", "tiny", found, "exact", "", 90, 90, None, 0.01)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
@pytest.mark.parametrize("count", [0, 1, 10, 60])
def test_bars_are_the_cosines(theme: str, count: int) -> None:
    inputs = hits(count)
    figure = hits_figure(inputs).drawn(theme_named(theme))
    bars = next(trace for trace in figure.data if trace.type == "bar")
    np.testing.assert_allclose(bars.x, [hit.score for hit in inputs.hits[:DRAWN]], rtol=1e-6)
    names = figure.layout.yaxis.ticktext
    assert all("<b>" not in name for name in names)
    assert len(bars.x) == min(count, DRAWN)


def test_the_words_name_query_filter_and_recall() -> None:
    spec = hits_figure(hits(2))
    assert spec.title == "Nearest to 'a <i>query</i>' among 90 rows — corpus mine"
    assert "row 0 0.9000, row 7 0.8900" in spec.alt
    assert "Every row compared" in spec.caption
    filtered = CorpusHits("q", "mine", "tiny", (), "index", "kind=a", 5, 90, 0.97, 0.01)
    assert "recall 97.0%" in hits_figure(filtered).caption
    assert "Only rows with kind=a." in hits_figure(filtered).caption


def test_a_corpus_without_texts_shows_its_columns() -> None:
    figure = hits_figure(hits(1, None)).drawn(theme_named("light"))
    assert "kind: a" in figure.layout.yaxis.ticktext[0]
