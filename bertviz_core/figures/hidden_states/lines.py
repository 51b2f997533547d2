"""Lines and bars of tokens: paths through the layers, input parts, the pooler, one word in two texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.figures.base.axes import (
    label_sides,
    mark_second_text,
    same_scale,
    second_text_start,
    token_axis,
    token_labels,
)
from bertviz_core.figures.base.cells import colour_at
from bertviz_core.figures.base.marks import add_bars, add_heading, add_line
from bertviz_core.figures.base.spec import DASHES, FigureSpec, figure
from bertviz_core.figures.base.style import HUES, INPUT_COLOURS, TEXT_SIZE, Theme, escape, layout, sequential
from bertviz_core.figures.checkpoints.comparison import state_names, token_cosine_map
from bertviz_core.figures.hidden_states.heatmaps import HEIGHT
from bertviz_core.hidden_states.results import EmbeddingSum, PoolerCheck, TokenPaths, WordComparison, state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import decimals
from bertviz_core.trace.results import Trace

SYMBOLS = ("circle", "diamond")
"""Markers of the first and the second text."""
MOST_NAMED = 13
"""Maximum number of hidden states named by a colour bar."""
BESIDE, LOWEST = (210, 70), 300
"""Pixels beside the plot of the paths, with its bar beside and below it; minimum height of the plot."""
OUTSIDE = (0.06, 18.0)
"""Margin around the outermost points of the paths: share of the plot's width on either side, pixels above and below."""
NUMBER_PIXELS = 62
"""Width in pixels of one number above a point."""
FAR_OUT = 6.0
"""Number of standard deviations from which on a value of a vector is labelled."""


def path_lines(
    paths: TokenPaths, names: Sequence[str], positions: Sequence[int], second_text: int | None, title: str, theme: Theme
) -> go.Figure:
    """Draw every token's path over the layers in the plane of largest variance, with distinct colours and dashes.

    The legend names all tokens; a label is at the end of a path if it fits. Markers darken from the embeddings to the
    last layer, as in the colour bar.
    """
    states = len(paths.points)
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT - 40))
    marks = {"cmin": 1 - states, "cmax": 0, "colorscale": _state_scale(theme)}
    across = float(theme.pixels - BESIDE[theme.narrow])
    free = (OUTSIDE[0] * across, OUTSIDE[1])
    extent = same_scale(figure, paths.points.reshape(-1, 2), (across, float(LOWEST)), free)
    sides = label_sides(paths.points, names, extent, (across - float(extent[0])) / 2)
    named = [state_name(state) for state in range(states)]
    for token, (name, side) in enumerate(zip(names, sides, strict=True)):
        colour, second = theme.hues[token % len(HUES)], second_text is not None and token >= second_text
        mark = {"size": 8, "symbol": SYMBOLS[second], "line": {"color": colour, "width": 1.5}}
        label = {"text": [""] * (states - 1) + [name], "textposition": side or "middle right"}
        label |= {"mode": "lines+markers+text" if side else "lines+markers", "name": f"{positions[token]} {name}"}
        look = {"marker": {**marks, **mark, "color": [-at for at in range(states)]}, "customdata": named}
        dash, hover = DASHES[token // len(HUES) % len(DASHES)], f"{name}, %{{customdata}}"
        x, y = paths.points[:, token].T
        add_line(figure, x, y, hover, colour, 1.5, dash, **label, **look)
    figure.add_scatter(x=[None], y=[None], mode="markers", showlegend=False, marker={**marks, **_state_bar(states)})
    for words, symbol in zip(("first text", "second text"), SYMBOLS, strict=True) if second_text is not None else ():
        key = {"symbol": symbol, "size": 8, "color": theme.muted}
        figure.add_scatter(x=[None], y=[None], mode="markers", name=words, marker=key)
    shares = [f"{share:.1%}" for share in paths.explained]
    figure.update_xaxes(title=f"component 1, {shares[0]} of the variance")
    return figure.update_yaxes(title=f"component 2, {shares[1]} of the variance")


def _state_scale(theme: Theme) -> list[list[float | str]]:
    """Return a scale from the last layer to the embeddings, which remain visible on the paper."""
    colours = [colour for _, colour in sequential(theme)][:0:-1]
    return [[place / (len(colours) - 1), colour] for place, colour in enumerate(colours)]


def _state_bar(states: int) -> dict[str, Any]:
    """Return a bar for the marker colours, the embeddings on top."""
    every = -(-states // MOST_NAMED)
    shown = [*range(0, states - 1, every), states - 1]
    words = {"tickvals": [-state for state in shown], "ticktext": [state_name(state) for state in shown]}
    bar = {"title": {"text": "hidden state", "side": "right"}, "thickness": 14, **words}
    return {"color": [0], "showscale": True, "colorbar": bar}


def embedding_norms(
    lengths: Mapping[str, Float[np.ndarray, " seq"]],
    names: Sequence[str],
    second_text: int | None,
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw the norms of the vectors that form each token's input, side by side."""
    figure = go.Figure(layout=layout(theme, escape(title), barmode="group", height=HEIGHT - 20))
    for name, values in lengths.items():
        hover, named = f"%{{customdata}}, {name}: %{{y:.4f}}", {"name": name, "customdata": list(names)}
        add_bars(figure, values, hover, _input_colour(name, theme), False, **named)
    across = theme.pixels - 80
    figure.update_xaxes(token_axis(names, across), tickangle=-90 if len(names) * 60 > across else 0)
    figure.update_yaxes(title="length of the vector")
    highest = max((float(each.max(initial=0)) for each in lengths.values()), default=0.0)
    figure.update_yaxes(range=[0, (1.12 if second_text is not None else 1.04) * highest or 1])
    return mark_second_text(figure.update_layout(bargap=0.2), second_text, len(names), theme, inside=True)


def _input_colour(part: str, theme: Theme) -> str:
    owner, share = INPUT_COLOURS["after layer norm" if part.startswith("after ") else part]  # after any class of norm
    return colour_at([[0, theme.colours[owner]], [1, theme.text if share > 0 else theme.paper]], abs(share))


def pooler_bars(check: PoolerCheck, first_token: str, title: str, theme: Theme) -> go.Figure:
    """Draw the first token's last vector above and the pooler's output below, each on its own scale.

    Outstanding values of the vector are labelled; the pooler's output is between -1 and 1 by tanh.
    """
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT, showlegend=False))
    rows = ((f"{first_token} after the last layer", check.cls), ("pooler output", check.output))
    colours = (theme.text, theme.colours["pooler"])
    for axis, colour, (name, vector) in zip(("y", "y2"), colours, rows, strict=True):
        places, hover = list(range(len(vector))), "dimension %{x}: %{y:.5f}"
        add_line(figure, places, vector, hover, colour, 1.2, mode="lines", name=name, yaxis=axis)
        add_heading(figure, f"<b>{name}</b>", 0, 1, yref=f"{axis} domain", font=None)
    peak = int(np.abs(check.cls).argmax())
    value, left = float(check.cls[peak]), peak > len(check.cls) / 2
    if abs(value) > FAR_OUT * float(check.cls.std()):
        side = {"xanchor": "right" if left else "left", "xshift": -6 if left else 6, "showarrow": False}
        figure.add_annotation(text=f"dimension {peak}: {decimals(value, 2)}", x=peak, y=value, **side)
    scale = {**figure.layout.yaxis.to_plotly_json(), "title": "value"}
    figure.update_layout(
        xaxis={"title": "dimension", "anchor": "y2"},
        yaxis={"title": "value", "domain": [0.57, 1]},
        yaxis2={**scale, "domain": [0, 0.43], "anchor": "x", "range": [-1.05, 1.05]},
        margin={"t": 72},
    )
    return figure


def word_curve(comparison: WordComparison, title: str, theme: Theme) -> go.Figure:
    """Draw the cosine of a word's two occurrences in every hidden state, beside the same row of the word table."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT - 20, showlegend=False))
    curve = comparison.cosine
    table = comparison.static_cosine is not None
    values = [*([comparison.static_cosine] if table else []), *curve.tolist()]
    labels = [*(["word<br>table"] if table else []), "embeddings", *map(str, range(len(curve) - 1))]
    words = [*(["row of the word table"] if table else []), *(state_name(state) for state in range(len(curve)))]
    every = max(1, -(-len(values) * NUMBER_PIXELS // (theme.pixels - 80)))
    named_places = {*range(0, len(values) - every, every), len(values) - 1}
    numbers = [f"{value:.4f}" if place in named_places else "" for place, value in enumerate(values)]
    look = {"textposition": "top center", "textfont": {"size": TEXT_SIZE - 1}, "marker": {"size": 9}}
    named = {"mode": "lines+markers+text", "text": numbers, "customdata": words}
    add_line(figure, list(range(len(values))), values, "%{customdata}: %{y:.4f}", theme.hues[0], 2.5, **named, **look)
    shown = [place for place, label in enumerate(labels) if not label.isdigit() or place in named_places]
    ticks = {"tickvals": shown, "ticktext": [labels[place] for place in shown]}
    figure.update_xaxes(title="hidden state: embeddings, then after layer 0, 1, ...", **ticks)
    low = min(0.0, *values)
    return figure.update_yaxes(title="cosine", range=[low - 0.05, 1.12])


def _word_frame(word_comparison: WordComparison) -> "pd.DataFrame":
    names = state_names(len(word_comparison.cosine))
    return pd.DataFrame({"hidden state": names, "cosine": word_comparison.cosine})


def _paths_frame(token_paths: TokenPaths, trace: Trace, picked_tokens: Sequence[int]) -> "pd.DataFrame":
    names = state_names(len(token_paths.points))
    rows = [
        (position, trace.tokens.tokens[position], name, *token_paths.points[entry, place].tolist())
        for place, position in enumerate(picked_tokens)
        for entry, name in enumerate(names)
    ]
    return pd.DataFrame(rows, columns=["position", "token", "hidden state", "component 1", "component 2"])


def _input_frame(
    input_lengths: Mapping[str, Float[np.ndarray, " seq"]], trace: Trace, first_token: int, embedding_sum: EmbeddingSum
) -> "pd.DataFrame":
    shown = slice(first_token, first_token + len(next(iter(input_lengths.values()))))
    columns = {f"{name}, length": values for name, values in input_lengths.items()}
    frame = pd.DataFrame({"token": list(trace.tokens.tokens[shown]), **columns})
    output, embeddings = embedding_sum.output, trace.hidden_states[0]
    if output.shape == embeddings.shape:
        frame["largest difference to the model"] = np.abs(output - embeddings).max(axis=-1)[shown]
    return frame


def _pooler_frame(pooler_check: PoolerCheck) -> "pd.DataFrame":
    numbers = {"linear": pooler_check.linear, "tanh": pooler_check.output}
    frame = pd.DataFrame({"dimension": range(len(pooler_check.output)), **numbers})
    if len(pooler_check.cls) == len(frame):
        frame.insert(1, "CLS", pooler_check.cls)
    return frame


def compared_states_frame(run_comparison: Behaviour) -> "pd.DataFrame":
    """A row per hidden state, a column per token: the cosine of the two models' vectors."""
    cosines = run_comparison.cosines
    if cosines is None:
        raise ValueError("no cosines")
    columns = [f"{place} {token}" for place, token in enumerate(run_comparison.tokens.tokens)]
    frame = pd.DataFrame(cosines.astype(float), columns=columns)
    frame.insert(0, "hidden state", state_names(len(cosines)))
    return frame


@figure("word", "representations_word", table=_word_frame)
def word_figure(word_comparison: WordComparison, word: str, model_name: str) -> FigureSpec:
    """One word in two texts, layer by layer."""
    title = f"“{word}” in two texts — {model_name}"
    alt = f"{title}: cosine of the two occurrences in every hidden state"
    return FigureSpec.of(title, alt, "", word_curve, word_comparison)


@figure("paths", "representations_paths", reported=True, table=_paths_frame)
def paths_figure(token_paths: TokenPaths, trace: Trace, picked_tokens: Sequence[int]) -> FigureSpec:
    """The tokens' paths over the layers."""
    labels = token_labels(trace.tokens)
    names = [labels[position] for position in picked_tokens]
    sequences = [trace.tokens.sequence[position] for position in picked_tokens]
    second = sequences.index(1) if 1 in sequences else None
    title = f"Tokens' paths over the layers — {trace.model}"
    alt = f"{title}: a line per token, from the embeddings to the last layer"
    caption = f"{title}. The marks darken from the embeddings to the last layer"
    return FigureSpec.of(title, alt, caption, path_lines, token_paths, names, list(picked_tokens), second)


def embedding_lengths(parts: EmbeddingSum, shown: slice) -> dict[str, Float[np.ndarray, " seq"]]:
    """Return name -> norms of the summed vectors, of their sum, and of the sum after the normalisation.

    The sum is omitted for a single vector, and the normalisation for families without one.
    """
    vectors = parts.parts
    if len(vectors) > 1:
        vectors["sum"] = parts.total
    if parts.normalized is not None:
        vectors[f"after {parts.norm_name}"] = parts.normalized
    return {name: np.linalg.norm(each[shown], axis=-1) for name, each in vectors.items()}


@figure("input", "representations_embedding", reported=True, table=_input_frame)
def input_figure(input_lengths: Mapping[str, Float[np.ndarray, " seq"]], trace: Trace, first_token: int) -> FigureSpec:
    """What each token's input is made of."""
    count = len(next(iter(input_lengths.values())))
    names = token_labels(trace.tokens)[first_token : first_token + count]
    title = f"What each token's input is made of — {trace.model}"
    alt = f"{title}: lengths of the vectors that are added"
    second = second_text_start(trace.tokens, first_token, count)
    return FigureSpec.of(title, alt, "", embedding_norms, input_lengths, names, second)


@figure("pooler", "representations_pooler", reported=True, table=_pooler_frame)
def pooler_figure(pooler_check: PoolerCheck, trace: Trace) -> FigureSpec:
    """The first token's vector and the pooler's output."""
    title = f"First token and pooler output — {trace.model}"
    return FigureSpec.of(
        title, f"{title}, dimension by dimension", "", pooler_bars, pooler_check, token_labels(trace.tokens)[0]
    )


@figure("states-compared", "representations_compared", table=compared_states_frame)
def states_compared_figure(run_comparison: Behaviour) -> FigureSpec:
    """Cosine of each token's hidden states in two models, by layer (--set other=)."""
    cosines = run_comparison.cosines
    if cosines is None:
        raise ValueError("no cosines")
    names = " and ".join(dict.fromkeys((run_comparison.first, run_comparison.second)))
    title = f"Cosine of each token's hidden states — {names}"
    state, token = np.unravel_index(int(cosines.argmin()), cosines.shape)
    where = f"{state_names(len(cosines))[state]}, token {token}"
    alt = f"{title}: a row per hidden state, a column per token; smallest {where}: {decimals(float(cosines.min()))}"
    return FigureSpec.of(title, alt, "", token_cosine_map, cosines, token_labels(run_comparison.tokens))
