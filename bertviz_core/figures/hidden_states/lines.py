"""Lines and bars of tokens: paths through the layers, parts of the input, the pooler, one word in two texts."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import label_sides, token_axis, token_labels
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, escape, layout, sequential
from bertviz_core.figures.hidden_states.heatmaps import HEIGHT
from bertviz_core.hidden_states.results import EmbeddingSum, PoolerCheck, TokenPaths, WordComparison
from bertviz_core.trace.results import Trace


def path_lines(paths: TokenPaths, names: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Every token's way over the layers in the plane of largest variance; the label stands at its end."""
    states, seq, _ = paths.points.shape
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT, showlegend=False))
    scale = sequential(theme)
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


def embedding_norms(
    lengths: Mapping[str, Float[np.ndarray, " seq"]], names: Sequence[str], title: str, theme: Theme
) -> go.Figure:
    """Lengths of the vectors that make each token's input, side by side."""
    figure = go.Figure(layout=layout(theme, escape(title), barmode="group", height=HEIGHT - 60))
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


def pooler_bars(check: PoolerCheck, title: str, theme: Theme) -> go.Figure:
    """The first token's last vector and the pooler's output, dimension by dimension."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT - 60))
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


def word_curve(comparison: WordComparison, title: str, theme: Theme) -> go.Figure:
    """Cosine of one word's two occurrences at every layer, beside the static embedding."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT - 60, showlegend=False))
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


@figure("word", "representations_word", "one word in two texts, layer by layer", ("word",))
def word_figure(word_comparison: WordComparison, word: str, model_name: str) -> FigureSpec:
    """One word in two texts, layer by layer."""
    title = f'"{word}" in two texts - {model_name}'
    alt = f"{title}: cosine of the two occurrences at every layer"
    return FigureSpec(title, alt, partial(word_curve, word_comparison, title))


@figure("paths", "representations_paths", "the tokens' paths over the layers", ("tokens",))
def paths_figure(token_paths: TokenPaths, trace: Trace, first_path: int) -> FigureSpec:
    """The tokens' ways through the layers in the plane of largest variance, from the token at first_path on."""
    names = token_labels(trace.tokens)[first_path : first_path + token_paths.points.shape[1]]
    title = f"Tokens' paths over the layers - {trace.model}"
    alt = f"{title}: a line per token, from the embedding to the last layer"
    caption = f"The marks stand out more with every layer, 0 to {trace.num_hidden_layers}."
    return FigureSpec(title, alt, partial(path_lines, token_paths, names, title), caption)


def embedding_lengths(parts: EmbeddingSum, shown: slice) -> dict[str, Float[np.ndarray, " seq"]]:
    """Name -> lengths of the vectors that are added, of their sum, and of what the layer norm makes of it."""
    vectors = {
        "word": parts.word,
        "position": parts.position,
        "token type": parts.token_type,
        "other": parts.other,
        "sum": parts.total,
        "after layer norm": parts.normalized,
    }
    return {name: np.linalg.norm(each[shown], axis=-1) for name, each in vectors.items() if each is not None}


@figure("input", "representations_embedding", "what each token's input is made of", ("tokens",))
def input_figure(input_lengths: Mapping[str, Float[np.ndarray, " seq"]], trace: Trace, first_token: int) -> FigureSpec:
    """Lengths of the vectors that make the tokens' input; first_token is the first one's position."""
    count = len(next(iter(input_lengths.values())))
    names = token_labels(trace.tokens)[first_token : first_token + count]
    title = f"What each token's input is made of - {trace.model}"
    alt = f"{title}: lengths of the vectors that are added"
    return FigureSpec(title, alt, partial(embedding_norms, input_lengths, names, title))


@figure("pooler", "representations_pooler", "the first token's vector and the pooler's output")
def pooler_figure(pooler_check: PoolerCheck, model_name: str) -> FigureSpec:
    """The first token's last vector, and what the pooler makes of it."""
    title = f"First token and pooler output - {model_name}"
    return FigureSpec(title, f"{title}, dimension by dimension", partial(pooler_bars, pooler_check, title))
