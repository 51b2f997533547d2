"""Lines and bars of tokens: paths through the layers, parts of the input, the pooler, one word in two texts."""

import html
import re
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.results.hidden_states import PoolerCheck, TokenPaths, WordComparison
from figures.hidden_states import HEIGHT
from figures.style import HUES, TEXT_SIZE, Theme, escape, layout, sequential
from figures.tokens_axis import token_axis

NARROW = np.array([480.0, 280.0])
"""Pixels between the outermost points in the narrowest plot."""
LETTER, LINE, MARK = 8.0, 18.0, 4.5
"""Pixels: width of a letter, height of a line, radius of a mark."""


def path_lines(paths: TokenPaths, names: Sequence[str], title: str, look: Theme) -> go.Figure:
    """Every token's way over the layers in the plane of largest variance; the label stands at its end."""
    states, seq, _ = paths.points.shape
    figure = go.Figure(layout=layout(look, escape(title), height=HEIGHT, showlegend=False))
    scale = sequential(look)
    sides = label_sides(paths.points, names)
    for token in range(seq):
        points = paths.points[:, token]
        figure.add_scatter(
            x=points[:, 0],
            y=points[:, 1],
            mode="lines+markers+text" if sides[token] else "lines+markers",
            text=[""] * (states - 1) + [names[token]],
            textposition=sides[token] or "middle right",
            line={"color": HUES[token % len(HUES)], "width": 1.5},
            marker={"size": 7, "color": list(range(states)), "cmin": -2, "cmax": states - 1, "colorscale": scale},
            hovertemplate=f"{names[token]}, layer %{{pointNumber}}<extra></extra>",
        )
    shares = [f"{share:.1%}" for share in paths.explained]
    figure.update_xaxes(title=f"first component, {shares[0]} of the variance")
    figure.update_yaxes(title=f"second component, {shares[1]} of the variance")
    return figure


def label_sides(points: Float[np.ndarray, "states seq 2"], names: Sequence[str]) -> list[str]:
    """For each end of a path the side on which its label stands; "" where it would cover another, or an end.

    Reckoned for the narrowest plot, so that nothing overlaps in a wider one.
    """
    low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
    spots = (points[-1] - low) / np.where(high > low, high - low, 1) * NARROW
    taken = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in spots.tolist()]
    sides = []
    for place, ((x, y), name) in enumerate(zip(spots.tolist(), names, strict=True)):
        width = LETTER * len(html.unescape(re.sub("<[^>]*>", "", name)))
        for side, (left, bottom) in {
            "middle right": (x + MARK, y - LINE / 2),
            "middle left": (x - MARK - width, y - LINE / 2),
            "top center": (x - width / 2, y + MARK),
            "bottom center": (x - width / 2, y - MARK - LINE),
        }.items():
            box = (left, bottom, left + width, bottom + LINE)
            if not any(_cover(box, other) for other in (*taken[:place], *taken[place + 1 :])):
                taken.append(box)
                sides.append(side)
                break
        else:
            sides.append("")
    return sides


def _cover(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two boxes (left, bottom, right, top) share any area."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def embedding_norms(
    lengths: Mapping[str, Float[np.ndarray, " seq"]], names: Sequence[str], title: str, look: Theme
) -> go.Figure:
    """Lengths of the vectors that make each token's input, side by side."""
    figure = go.Figure(layout=layout(look, escape(title), barmode="group", height=HEIGHT - 60))
    for colour, (name, values) in zip(HUES, lengths.items(), strict=False):
        figure.add_bar(
            x=list(range(len(names))),
            y=values,
            name=name,
            marker={"color": colour},
            customdata=list(names),
            hovertemplate=f"%{{customdata}}, {name}: %{{y:.4f}}<extra></extra>",
        )
    figure.update_xaxes(token_axis(names, 860), tickangle=-90 if len(names) > 12 else 0)
    figure.update_yaxes(title="length of the vector")
    # At the very top, so that a legend of two lines finds its place below it.
    return figure.update_layout(margin={"t": 88}, title={"y": 1, "yanchor": "top", "pad": {"t": 10}}, bargap=0.2)


def pooler_bars(check: PoolerCheck, title: str, look: Theme) -> go.Figure:
    """The first token's last vector and the pooler's output, dimension by dimension."""
    figure = go.Figure(layout=layout(look, escape(title), height=HEIGHT - 60))
    for colour, name, vector in zip(HUES, ("[CLS]", "pooler output"), (check.cls, check.output), strict=False):
        figure.add_scatter(
            x=list(range(len(vector))),
            y=vector,
            name=name,
            mode="lines",
            line={"color": colour, "width": 1.2},
            hovertemplate=f"{name}[%{{x}}] = %{{y:.5f}}<extra></extra>",
        )
    figure.update_xaxes(title="dimension")
    figure.update_yaxes(title="value")
    return figure.update_layout(margin={"t": 88})


def word_curve(comparison: WordComparison, title: str, look: Theme) -> go.Figure:
    """Cosine of one word's two occurrences at every layer, beside the static embedding."""
    figure = go.Figure(layout=layout(look, escape(title), height=HEIGHT - 60, showlegend=False))
    curve = comparison.cosine
    labels = [*(["static"] if comparison.static_cosine is not None else []), *map(str, range(len(curve)))]
    values = [*([comparison.static_cosine] if comparison.static_cosine is not None else []), *curve.tolist()]
    figure.add_scatter(
        x=list(range(len(values))),
        y=values,
        mode="lines+markers+text",
        text=[f"{value:.4f}" for value in values],
        textposition="top center",
        textfont={"size": TEXT_SIZE - 1},
        line={"color": HUES[0], "width": 2.5},
        marker={"size": 9},
        hovertemplate="%{y:.4f}<extra></extra>",
    )
    figure.update_xaxes(
        title="layer (static: the word's own row; 0: the embedding output)",
        tickvals=list(range(len(values))),
        ticktext=labels,
    )
    low = min(0.0, *values)
    figure.update_yaxes(title="cosine", range=[low - 0.05, 1.12])
    return figure
