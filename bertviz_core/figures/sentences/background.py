"""The background of a similarity: a histogram of pairs of unrelated texts, with those of a list."""

from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import HOVERED, MEASURE_WORDS, even_axes, sentence_text
from bertviz_core.figures.base.marks import add_heading, add_line, add_points
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, faint, layout, of_two
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.analysis.results import Background, ListedPairs
from bertviz_core.text import decimals

HEIGHT, FEW_PAIRS = 400, 66
"""Pixels of the figure, and most pairs of a list with a mark for each."""
BINS, FEW_BINS, MANY_PAIRS = 60, 24, 1_000
"""Bars of a histogram of this many pairs, and of fewer."""
BESIDE, NARROW, NUMBERED = 110, 30, 84
"""Pixels beside the plot, and of the name of a percentile without and with its number."""
BOTTOM, TOP = 0.24, 0.1
"""Shares of the height: below the histogram, and of the marks of a list below it."""
PERCENTS = (0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 100)
PAIRS = {"unrelated texts": "pairs of unrelated texts", "this list": "pairs of this list"}


def rank_words(background: Background, similarity: float) -> str:
    """Where a similarity lies among the pairs of a background, as the rest of a sentence."""
    rank, pairs = background.percentile_rank(similarity), PAIRS[background.of]
    if np.isnan(rank):
        return f"a number is missing, so that it cannot be compared with {pairs}"
    more, less = ("closer", "farther") if background.measure == "euclidean" else ("higher", "lower")
    whole = f"all {background.pairs:,} {pairs}"
    if rank in (0, 100):
        return f"{more if rank else less} than {whole}"
    return f"{more} than {rank_number(rank)}% of {pairs}"


def rank_number(rank: float) -> str:
    """A percentile rank between 0 and 100, which is rounded to neither."""
    if 0.05 <= rank < 99.95:
        return f"{rank:.1f}"
    return f"{min(max(rank, 0.01), 99.99):.2f}"


def ranks_words(ranks: Float[np.ndarray, " rows"]) -> str:
    """Several percentile ranks, one after the other."""
    return ", ".join(f"{rank:.0f}" if rank in (0, 100) else rank_number(rank) for rank in ranks.tolist())


def summary_words(background: Background) -> str:
    """Where the pairs of a background lie, in one sentence."""
    word, pairs = MEASURE_WORDS[background.measure], PAIRS[background.of]
    percents = background.marked[1:]
    middle, inner = (decimals(background.percentile(each), 2) for each in percents)
    below = "above" if background.measure == "euclidean" else "below"
    return (
        f"Of {background.pairs:,} {pairs}, 95% have a {word} {below} {middle} and 99% {below} {inner}; "
        f"mean {decimals(background.mean, 2)}, standard deviation {decimals(background.standard_deviation, 2)}."
    )


def background_histogram(background: Background, listed: ListedPairs | None, title: str, theme: Theme) -> go.Figure:
    """Draw the share of the pairs over their similarity, with percentiles; below or over it a list's pairs."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    (colour, _), (other, dash) = of_two(theme)
    values = background.similarities.astype(np.float64)
    own = None if listed is None else listed.similarities
    own = None if own is None else own[np.isfinite(own)]
    few = own is not None and 0 < len(own) <= FEW_PAIRS
    low, high = _ends(background, values, own)
    edges = np.linspace(low, high, (BINS if len(values) >= MANY_PAIRS else FEW_BINS) + 1)
    word, name = MEASURE_WORDS[background.measure], PAIRS[background.of]
    _add_outline(figure, values, edges, name, colour, "solid")
    if own is not None and len(own) > FEW_PAIRS:
        _add_outline(figure, own, edges, PAIRS["this list"], other, dash)
    axes: dict[str, Any] = {"title": word, "range": [low, high]}
    if few and listed is not None and own is not None:
        _add_marks(figure, background, listed, other)
        axes["anchor"] = "y2"
        rug = {"domain": [0, TOP], "anchor": "x", "range": [-1, 1], "showticklabels": False, "showgrid": False}
        figure.update_layout(yaxis2=rug)
    figure.update_layout(xaxis=axes)
    figure.update_layout(yaxis={"title": "pairs, %", "rangemode": "tozero", "domain": [BOTTOM if few else 0, 1]})
    even_axes(figure, theme)
    _add_percentiles(figure, background, theme, BOTTOM if few else 0)
    return figure


def _ends(background: Background, values: np.ndarray, own: np.ndarray | None) -> tuple[float, float]:
    """Ends of the axis: for the cosine 1 and what is below 0; otherwise all that is drawn."""
    every = values if own is None or not len(own) else np.concatenate((values, own))
    low, high = float(every.min()), float(every.max())
    if background.measure == "cosine":
        return min(0.0, low) - 0.02, 1.02
    room = 0.03 * (high - low) or 0.5
    return low - room, high + room


def _add_outline(figure: go.Figure, values: np.ndarray, edges: np.ndarray, name: str, colour: str, dash: str) -> None:
    shares = 100 * np.histogram(values, edges)[0] / len(values)
    outline = np.repeat(edges, 2), np.concatenate(([0], np.repeat(shares, 2), [0]))
    filled = {"name": name, "mode": "lines", "fill": "tozeroy", "fillcolor": faint(colour, 0.25), "showlegend": True}
    add_line(figure, *outline, f"{name}: %{{y:.1f}}%", colour, 2, dash, **filled)


def _add_marks(figure: go.Figure, background: Background, listed: ListedPairs, colour: str) -> None:
    """Mark each pair of a list, with its sentences and its percentile rank."""
    rows, columns = np.triu_indices(len(listed.sentences), 1)
    scores = listed.similarities
    names = [f"{place + 1} {sentence_text(text, HOVERED)}" for place, text in enumerate(listed.sentences)]
    hovers = [
        f"{decimals(score)}, {rank_words(background, score)}<br>{names[one]}<br>{names[two]}"
        for score, one, two in zip(scores.tolist(), rows.tolist(), columns.tolist(), strict=True)
    ]
    look = {"symbol": "line-ns", "line": {"width": 2, "color": colour}}
    named = {"name": PAIRS["this list"], "customdata": hovers, "yaxis": "y2", "showlegend": True}
    add_points(
        figure, scores.astype(np.float32), np.zeros(len(scores), int), "%{customdata}", 16, colour, look, **named
    )


def _add_percentiles(figure: go.Figure, background: Background, theme: Theme, bottom: float) -> None:
    """Draw a line at each percentile, named beside its end: the first on its other side, the others at two heights."""
    turned, (low, high) = background.measure == "euclidean", figure.layout.xaxis.range
    percents, ends = background.marked, (high, low) if turned else (low, high)
    for percent, height, outer in zip(percents, (1.0, 1.0, 0.88), (True, False, False), strict=True):
        place = background.percentile(percent)
        pixels = abs(place - ends[0]) / (high - low) * (theme.pixels - BESIDE)
        if outer and pixels < (NARROW if theme.narrow else NUMBERED):  # no room outside: inside, below the others
            outer, height = False, 0.76
        line = {"color": theme.text, "width": 1, "dash": "dot"}
        top = bottom + (1 - bottom) * height
        figure.add_shape(type="line", x0=place, x1=place, y0=bottom, y1=top, xref="x", yref="paper", line=line)
        words = f"{percent}%" if theme.narrow else f"{percent}%: {decimals(place, 2)}"
        side = {"xanchor": "right" if outer != turned else "left", "yanchor": "top", "xref": "x", "borderpad": 3}
        add_heading(figure, words, place, top, TEXT_SIZE - 2, **side)


def background_frame(background: Background, listed: ListedPairs | None) -> "pd.DataFrame":
    """One row per percentile: the similarity below which this share of the pairs lies, and of the list's pairs."""
    columns = {"percentile": PERCENTS, PAIRS[background.of]: [background.percentile(each) for each in PERCENTS]}
    own = None if listed is None else listed.similarities
    if own is not None and len(own) and np.isfinite(own).all():
        columns[PAIRS["this list"]] = np.percentile(own.astype(np.float64), PERCENTS).tolist()
    return pd.DataFrame(columns)


@figure("background", "sentences_background", table=background_frame)
def background_figure(background: Background, listed: ListedPairs | None) -> FigureSpec:
    """How alike unrelated texts are to the model, with the pairs of a list (--pooling, --layer)."""
    word = MEASURE_WORDS[background.measure]
    title = f"{word[0].upper()}{word[1:]} of {background.pairs:,} {PAIRS[background.of]} — {background.model}"
    about = f"{title}. {summary_words(background)}"
    return FigureSpec(title, about, partial(background_histogram, background, listed, title), about)
