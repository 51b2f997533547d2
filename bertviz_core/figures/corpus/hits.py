"""Draw the hits of a search in a corpus as bars of their cosines."""

from functools import partial

import numpy as np
import plotly.graph_objects as go

from bertviz_core.corpus.results import CorpusHit, CorpusHits
from bertviz_core.figures.base.axes import HOVERED, sentence_text
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, Theme, escape, layout
from bertviz_core.figures.sentences.bars import add_score_bars
from bertviz_core.figures.sentences.labels import name_rows, sentence_names
from bertviz_core.text import counted, quoted

ROW = 34
"""Height of a hit in pixels."""
AROUND = 104
"""Margins for title and axis in pixels."""
DRAWN = 25
"""Maximum number of drawn hits; the table contains all."""
LONGEST_QUERY = 40
"""Maximum length of the query in the title in characters; the caption contains more."""


def hit_bars(corpus_hits: CorpusHits, title: str, theme: Theme) -> go.Figure:
    """Draw one bar per hit, nearest at the top, with its text and row number."""
    hits = corpus_hits.hits[:DRAWN]
    texts, plot = [_words(hit) for hit in hits], ROW * max(len(hits), 3)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + plot))
    scores = np.array([hit.score for hit in hits], dtype=np.float32)
    add_score_bars(figure, scores, [f"{sentence_text(text, HOVERED)}:" for text in texts], HUES[0], theme)
    figure.update_xaxes(title="cosine with the query")
    name_rows(figure, sentence_names([hit.row for hit in hits], texts, theme, ROW), plot)
    return figure.update_layout(margin={"b": 56, "r": 16})


@figure("corpus-search", "corpus_search", "rows of a corpus nearest to a query (FOLDER 'TEXT')")
def hits_figure(corpus_hits: CorpusHits) -> FigureSpec:
    """Plot the rows of a corpus nearest to a text."""
    near = quoted(corpus_hits.query, LONGEST_QUERY)
    title = f"Nearest to {near} among {counted(corpus_hits.searched, 'row')} — {corpus_hits.corpus}"
    listed = ", ".join(f"row {hit.row} {hit.score:.4f}" for hit in corpus_hits.hits[:DRAWN]) or "none"
    way = "every row compared" if corpus_hits.recall is None else f"by an index, recall {corpus_hits.recall:.1%}"
    where = f" Only rows with {corpus_hits.where}." if corpus_hits.where else ""
    caption = f"{title}. Query: {quoted(corpus_hits.query, 200)}; {way}.{where}"
    return FigureSpec(title, f"{title}: {listed}", partial(hit_bars, corpus_hits, title), caption)


def _words(hit: CorpusHit) -> str:
    """Return the label of a hit: its text, or its columns if the corpus stores none."""
    if hit.text is not None:
        return hit.text
    return ", ".join(f"{name}: {value}" for name, value in hit.columns.items()) or "no text kept"
