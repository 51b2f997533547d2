"""Lines and bars of tokens: paths through the layers, parts of the input, the pooler, one word in two texts."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.results.hidden_states import PoolerCheck, TokenPaths, WordComparison
from figures.hidden_states import HEIGHT
from figures.style import HUES, TEXT_SIZE, Theme, escape, layout, sequential
from figures.tokens_axis import token_axis


def path_lines(paths: TokenPaths, names: Sequence[str], title: str, look: Theme) -> go.Figure:
    """Every token's way over the layers in the plane of largest variance; the label stands at its end."""
    states, seq, _ = paths.points.shape
    figure = go.Figure(layout=layout(look, escape(title), height=HEIGHT, showlegend=False))
    scale = sequential(look)
    for token in range(seq):
        points = paths.points[:, token]
        figure.add_scatter(
            x=points[:, 0],
            y=points[:, 1],
            mode="lines+markers+text" if seq <= 40 else "lines+markers",
            text=[""] * (states - 1) + [names[token]],
            textposition="middle right",
            line={"color": HUES[token % len(HUES)], "width": 1.5},
            marker={"size": 7, "color": list(range(states)), "cmin": -2, "cmax": states - 1, "colorscale": scale},
            hovertemplate=f"{names[token]}, layer %{{pointNumber}}<extra></extra>",
        )
    shares = [f"{share:.1%}" for share in paths.explained]
    figure.update_xaxes(title=f"first component, {shares[0]} of the variance")
    figure.update_yaxes(title=f"second component, {shares[1]} of the variance")
    return figure


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
    return figure.update_layout(margin={"t": 88}, bargap=0.2)


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
    labels = [*(["static embedding"] if comparison.static_cosine is not None else []), *map(str, range(len(curve)))]
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
    figure.update_xaxes(title="layer (0 is the embedding output)", tickvals=list(range(len(values))), ticktext=labels)
    low = min(0.0, *values)
    figure.update_yaxes(title="cosine", range=[low - 0.05, 1.12])
    return figure
