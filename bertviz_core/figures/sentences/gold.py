"""Draw the cosine of pairs of sentences against their gold similarity, a plot for each model."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import HOVERED, even_axes, sentence_text
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.base.text_width import shortened_label
from bertviz_core.sentences.results import GoldCosines, GoldPairs
from bertviz_core.text import counted, decimals

HEIGHT, BESIDE = 400, 64
"""Pixels: height of a plot with its axes, and width of the labels beside it."""
GAP = 0.1
"""Share of the figure's length between two plots."""
MOST_OPAQUE, FEW = 0.75, 100
"""Opacity of the points of so few pairs; of more pairs they are fainter."""
LEAST_OPAQUE = 0.25


def gold_scatter(pairs: GoldPairs, title: str, theme: Theme) -> go.Figure:
    """Draw a point per pair: gold similarity across, cosine up; both models on one scale."""
    count = len(pairs.models)
    stacked = theme.slim and count > 1
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT * (count if stacked else 1)))
    lowest = min(0.0, *(float(each.cosines.min()) for each in pairs.models))
    hovers = [
        f"{number}: {sentence_text(one, HOVERED)}<br>{sentence_text(other, HOVERED)}"
        for number, (one, other) in enumerate(zip(pairs.first_sentences, pairs.second_sentences, strict=True), start=1)
    ]
    opacity = max(LEAST_OPAQUE, min(MOST_OPAQUE, MOST_OPAQUE * (FEW / len(pairs.gold)) ** 0.5))
    size = (1 - GAP * (count - 1)) / count
    for place, each in enumerate(pairs.models):
        x, y = ("x", "y") if place == 0 else (f"x{place + 1}", f"y{place + 1}")
        start = place * (size + GAP)
        across, down = (
            ([start, start + size], [0.0, 1.0]) if not stacked else ([0.0, 1.0], [1 - start - size, 1 - start])
        )
        figure.add_scatter(
            x=pairs.gold,
            y=each.cosines,
            mode="markers",
            marker={"size": 7, "color": theme.colours[("embeddings", "task head")[place]], "opacity": opacity},
            customdata=hovers,
            hovertemplate="%{customdata}<br>gold %{x}, cosine %{y:.4f}<extra></extra>",
            showlegend=False,
            xaxis=x,
            yaxis=y,
        )
        figure.update_layout(
            {
                x.replace("x", "xaxis"): {"domain": across, "anchor": y, "title": "gold similarity"},
                y.replace("y", "yaxis"): {
                    "domain": [max(down[0], 0.0), min(down[1], 1.0)],
                    "anchor": x,
                    "title": "cosine",
                    "range": [lowest - 0.03, 1.03],
                },
            }
        )
        width = (theme.pixels - BESIDE) * (1 if stacked else size)
        figure.add_annotation(
            text=shortened_label(escape(_name(pairs, place)), width, TEXT_SIZE - 1),
            x=across[0],
            y=min(down[1], 1.0),
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"size": TEXT_SIZE - 1},
        )
    return even_axes(figure, theme).update_layout(margin={"t": 84, "r": 16})


def correlation_words(one: GoldCosines) -> str:
    """Both correlations of a model."""
    numbers = [decimals(each, 3) if np.isfinite(each) else "none" for each in (one.spearman, one.pearson)]
    return f"Spearman {numbers[0]}, Pearson {numbers[1]}"


def _name(pairs: GoldPairs, place: int) -> str:
    one = pairs.models[place]
    side = "" if len(pairs.models) == 1 else f"{('first', 'second')[place]}, "
    return f"{side}{correlation_words(one)}"


def gold_frame(gold_pairs: GoldPairs) -> pd.DataFrame:
    """One row per pair, the largest rank error of the last model first; numbers of pairs from 1."""
    pairs = gold_pairs
    columns: dict[str, object] = {"pair": np.arange(len(pairs.gold)) + 1, "gold": pairs.gold}
    sides = ("",) if len(pairs.models) == 1 else (" first", " second")
    for side, each in zip(sides, pairs.models, strict=True):
        columns |= {f"cosine{side}": each.cosines, f"rank error{side}": each.rank_errors}
    columns |= {"first sentence": pairs.first_sentences, "second sentence": pairs.second_sentences}
    return pd.DataFrame(columns).iloc[pairs.worst].reset_index(drop=True)


@figure(
    "gold-cosines",
    "sentences_gold",
    "cosine against the gold similarity of pairs (--set other=MODEL for two; texts: S1 S2 SIMILARITY ...)",
    table=gold_frame,
)
def gold_cosines_figure(gold_pairs: GoldPairs) -> FigureSpec:
    """Plot the cosine of each pair of sentences against its gold similarity, in one model or two."""
    names = " and ".join(dict.fromkeys(each.model for each in gold_pairs.models))
    title = f"Cosine and gold similarity of {counted(len(gold_pairs.gold), 'pair')} — {names}"
    about = "; ".join(f"{each.model}: {correlation_words(each)}" for each in gold_pairs.models)
    return FigureSpec(title, f"{title}: {about}", partial(gold_scatter, gold_pairs, title), f"{title}: {about}")
