"""Draw texts in the order of a score for a query: a bar per score, and a line to the place by the cosine."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import HOVERED, sentence_text
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.sentences.bars import add_score_bars
from bertviz_core.figures.sentences.labels import SIZE, name_rows, sentence_names
from bertviz_core.predictions.results import Ranking
from bertviz_core.text import counted, decimals, shortened, tied

ROW, ROWS = 34, 20
"""Pixels of a row, and maximum number of texts."""
BARS, SLIM_BARS = 0.66, 0.42
"""Share of the plot for the bars, and where the figure is slim; lines and places are right of them."""
SCORE, RISE, COSINE = 56, 48, 46
"""Pixels of a score after its bar, of the places gained before a line, and of a cosine after it."""
MARGIN, LONGEST_QUERY = 8, 50


def rise_text(rise: int) -> str:
    """How many places higher or lower a text is than by the cosine: ▲ 3, ▼ 2, or = for the same place."""
    return "=" if rise == 0 else f"{'▲' if rise > 0 else '▼'} {abs(rise):,}"


def score_label(ranking: Ranking) -> str:
    """What the score is, as the title of an axis."""
    if ranking.by_tokens:
        return "score, late interaction"
    if ranking.label:
        return f"probability of {shortened(ranking.label, 24)}"
    return "score, the logit" if ranking.score_name == "logit" else f"score, {ranking.score_name} of the logit"


def ranking_bars(ranking: Ranking, title: str, theme: Theme) -> go.Figure:
    """Draw the highest texts as bars of their scores; a line leads from each to its place by the cosine.

    A text that is not among the drawn ones by its cosine has a dotted line that ends below the last row.
    """
    order = ranking.order[:ROWS]
    count = len(order)
    plot = ROW * max(count, 3)
    figure = go.Figure(layout=layout(theme, escape(title), height=112 + plot))
    texts = [ranking.texts[index] for index in order.tolist()]
    hover = [f"{sentence_text(text, HOVERED)}<br>score" for text in texts]
    add_score_bars(figure, ranking.scores[order], hover, HUES[0], theme)
    names = sentence_names([int(index) + 1 for index in order], texts, theme, ROW)
    room = theme.pixels - name_rows(figure, names, plot) - MARGIN
    share = SLIM_BARS if theme.slim else BARS
    values = ranking.scores[order]
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    longest = (high - low or 1.0) * share * room / (share * room - SCORE)
    figure.update_xaxes(title=escape(score_label(ranking)), domain=[0, share], range=[low, low + longest])
    figure.update_layout(margin={"b": 60, "r": MARGIN})
    _add_places(figure, ranking, theme, share, (1 - share) * room)
    return figure


def _add_places(figure: go.Figure, ranking: Ranking, theme: Theme, share: float, width: float) -> None:
    """Draw the lines from the places by the score to those by the cosine, the changes, and the cosines.

    Args:
        figure: figure with the bars.
        ranking: the ranking.
        theme: theme of the figure.
        share: share of the plot for the bars.
        width: pixels of the part right of them.
    """
    order, ranks, rises = ranking.order[:ROWS], ranking.cosine_rank, ranking.rise
    count, ends = len(order), []
    colours = {1: theme.colours["task head"], -1: theme.colours["embeddings"], 0: theme.muted}
    for row, index in enumerate(order.tolist()):
        rise, place = int(rises[index]), int(ranks[index])
        colour, drawn = colours[int(np.sign(rise))], place <= count
        end = place - 1 if drawn else count - 0.5
        ends.append((end, f"{float(ranking.cosines[index]):.2f}".replace("-", "−") if drawn else "", colour))
        figure.add_scatter(
            x=[RISE, width - COSINE],
            y=[row, end],
            xaxis="x2",
            mode="lines",
            line={"color": colour, "width": 2 if rise else 1.5, "dash": "solid" if drawn else "dot"},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=[RISE],
            y=[row],
            xaxis="x2",
            mode="markers+text",
            marker={"size": 6, "color": colour},
            text=[f"{rise_text(rise)} "],
            textposition="middle left",
            textfont={"size": SIZE, "color": theme.text},
            customdata=[f"{sentence_text(ranking.texts[index], HOVERED)}<br>by the cosine {place:,}"],
            hovertemplate=f"%{{customdata}}, cosine {decimals(float(ranking.cosines[index]))}<extra></extra>",
            showlegend=False,
        )
    figure.add_scatter(
        x=[width - COSINE] * count,
        y=[end for end, _, _ in ends],
        xaxis="x2",
        mode="markers+text",
        marker={"size": [6 if label else 0 for _, label, _ in ends], "color": [colour for _, _, colour in ends]},
        text=[f" {label}" for _, label, _ in ends],
        textposition="middle right",
        textfont={"size": SIZE, "color": theme.text},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.update_layout(
        xaxis2={
            "domain": [share, 1],
            "anchor": "y",
            "range": [0, width],
            "tickmode": "array",
            "tickvals": [(RISE + width - COSINE) / 2],
            "ticktext": ["by cosine" if theme.slim else "place by the cosine"],
            "tickfont": {"size": TEXT_SIZE, "color": theme.text},
            "showgrid": False,
            "zeroline": False,
            "ticks": "",
        }
    )


def scorer(ranking: Ranking) -> str:
    """What scores the texts, in a sentence."""
    return "late interaction" if ranking.by_tokens else "the head"


def moved_words(ranking: Ranking) -> str:
    """What the score moved, in one sentence: how many texts have another place, and which rises most."""
    rises = ranking.rise
    moved, count = int(np.count_nonzero(rises)), len(rises)
    if count == 1:
        return "One text has one place."
    if not moved:
        return f"{scorer(ranking).capitalize()} and the cosine put {counted(count, 'text')} in the same order."
    best = int(np.argmax(rises))
    have = "has" if moved == 1 else "have"
    return (
        f"{moved:,} of {counted(count, 'text')} {have} another place than by the cosine; of all, "
        f"text {best + 1}{tied(rises.tolist())} rises most, "
        f"from {int(ranking.cosine_rank[best]):,} to {int(ranking.rank[best]):,}."
    )


def ranking_frame(ranking: Ranking) -> pd.DataFrame:
    """One row per text by descending score; `number` is the place in the list, from 1, `rise` the places gained."""
    order = ranking.order
    logits = {} if ranking.by_tokens else {"logit": ranking.logits[order]}
    return pd.DataFrame(
        {
            "rank": ranking.rank[order],
            "score": ranking.scores[order],
            **logits,
            "by cosine": ranking.cosine_rank[order],
            "rise": ranking.rise[order],
            "cosine": ranking.cosines[order],
            "number": order + 1,
            "text": [ranking.texts[index] for index in order.tolist()],
        }
    )


@figure(
    "ranking",
    "sentences_ranking",
    "texts in the order of a head or of late interaction for a query (--set query_sentence=TEXT)",
    table=ranking_frame,
)
def ranking_figure(ranking: Ranking) -> FigureSpec:
    """Plot the texts by their score for the query, with their places by the cosine of a sentence model."""
    query = shortened(" ".join(ranking.query.split()), LONGEST_QUERY)
    title = f"Ranked for “{query}” — {ranking.model}"
    about = f"{moved_words(ranking)} Cosines of {ranking.sentence_model}."
    return FigureSpec(title, f"{title}: {about}", partial(ranking_bars, ranking, title), f"{title}. {about}")
