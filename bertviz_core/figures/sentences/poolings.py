"""Poolings, and token pairs."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from plotly.subplots import make_subplots

from bertviz_core.figures.base.axes import label_width, similarity_colours, token_axis, token_text
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.marks import add_bars, add_line, add_map, pair_names, state_axis
from bertviz_core.figures.base.spec import STANDING, FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, colour_bar, diverging, escape, layout
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.results import Pooling, PoolingComparison, SentenceVectors, TokenPairShares
from bertviz_core.text import escape_controls, shortened

POOLING_WORDS = {
    "mean": "mean",
    "cls": "first token",
    "max": "max",
    "pooler": "pooler output",
    "weightedmean": "weighted mean",
    "lasttoken": "last token",
    "mean_sqrt_len_tokens": "sum over root of count",
    "splade": "weights of words",
    "idf": "weights of tokens",
}
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "x", "cross")
HEIGHT = 400
COLUMNS, FEW = 7, 3
"""Maximum number of hidden states with small maps, on a page and in a narrow place."""


def pooling_lines(comparison: PoolingComparison, title: str, theme: Theme) -> go.Figure:
    """Draw mean and spread of the cosines of all pairs, one line per pooling over the layers."""
    lines, slots = (2, 1) if theme.slim else (1, 2)
    figure = make_subplots(rows=lines, cols=slots, horizontal_spacing=0.1, vertical_spacing=0.2)
    figure.update_layout(layout(theme, escape(title), height=HEIGHT * (1 + 0.7 * theme.slim)))
    plots = ((comparison.mean_cosine, "mean cosine of two sentences"), (comparison.spread, "spread of these cosines"))
    layers, named = list(comparison.layers), [state_name(state) for state in comparison.layers]
    for place, (values, values_word) in enumerate(plots, start=1):
        spot = {"row": place, "col": 1} if theme.slim else {"row": 1, "col": place}
        for index, pooling in enumerate(comparison.poolings):
            word = pooling_word(pooling, comparison.edges.first)
            look = {"marker": {"size": 8, "symbol": SYMBOLS[index]}, "customdata": named, **spot}
            entry = {"name": word, "legendgroup": pooling, "showlegend": place == 1}
            hover = f"{escape(word)}, %{{customdata}}: %{{y:.4f}}"
            add_line(
                figure,
                layers,
                values[index].astype(np.float32),
                hover,
                theme.hues[index],
                2,
                DASHES[index],
                **entry,
                **look,
            )
        ticks = state_axis(layers, max(1, len(layers) // 12))
        figure.update_xaxes(title="after layer", showgrid=False, **spot, **ticks)
        figure.update_yaxes(title=values_word, rangemode="tozero", **spot)
    _plain_axes(figure, theme)
    return figure.update_layout(margin={"t": 84, "b": 8, "r": 16})


def pooling_maps(comparison: PoolingComparison, title: str, theme: Theme) -> go.Figure:
    """Draw small maps of all pairs: poolings as rows, some of the layers as columns; undefined ones are left out."""
    if comparison.matrices is None:
        raise ValueError("the comparison holds no matrices")
    columns = shown_columns(len(comparison.layers), FEW if theme.slim else COLUMNS)
    rows = len(comparison.poolings)
    figure = make_subplots(
        rows=rows,
        cols=len(columns),
        row_titles=[escape(pooling_word(pooling, comparison.edges.first)) for pooling in comparison.poolings],
        column_titles=[state_name(comparison.layers[column]) for column in columns],
        horizontal_spacing=0.02,
        vertical_spacing=0.03,
    )
    figure.update_layout(layout(theme, escape(title), height=110 + 130 * rows))
    for row in range(rows):
        for place, column in enumerate(columns):
            cells = comparison.matrices[row, column]
            if not np.isnan(cells).any():
                figure.add_heatmap(
                    z=cells.astype(np.float32),
                    coloraxis="coloraxis",
                    hovertemplate="cosine: %{z:.4f}<extra></extra>",
                    row=row + 1,
                    col=place + 1,
                )
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, autorange="reversed")
    figure.update_annotations(font_size=TEXT_SIZE)
    colours = similarity_colours("cosine", 1.0, theme)
    colours["colorbar"]["x"] = 1.06
    return figure.update_layout(coloraxis=colours, margin={"t": 84, "r": 40})


def shown_columns(layers: int, most: int = COLUMNS) -> list[int]:
    """Return the indices of the drawn hidden states: all, or every k-th back from the last."""
    step = -(-(layers - 1) // (most - 1)) or 1
    return sorted({0, *range(layers - 1, 0, -step)})


def pooling_word(pooling: Pooling, first_token: str | None) -> str:
    """Describe a pooling; the first-token pooling by the token's spelling, such as [CLS]."""
    if pooling == "cls" and first_token:
        return shortened(escape_controls(first_token), 20)
    return POOLING_WORDS[pooling]


def _plain_axes(figure: go.Figure, theme: Theme) -> None:
    """Style the second pair of axes like the first, since the base layout only covers one pair."""
    lines = {"gridcolor": theme.grid, "linecolor": theme.muted, "zeroline": False, "automargin": True}
    letters = {"title_font_size": TEXT_SIZE, "title_standoff": 12, "tickfont_size": TEXT_SIZE - 1}
    figure.update_xaxes(**lines, **letters).update_yaxes(**lines, **letters)


def pooling_and_layer(vectors: SentenceVectors) -> str:
    """Describe pooling, layer and model for a title."""
    return f"{pooling_word(vectors.pooling, vectors.first_token)}, {state_name(vectors.layer)} — {vectors.model}"


def _poolings_frame(pooling_comparison: PoolingComparison) -> "pd.DataFrame":
    """A row for every pooling and hidden state that is defined."""
    compared = pooling_comparison
    places = np.argwhere(np.isfinite(compared.mean_cosine)).tolist()
    names = [pooling_word(pooling, compared.edges.first) for pooling in compared.poolings]
    rows = [
        (
            names[row],
            state_name(compared.layers[at]),
            float(compared.mean_cosine[row, at]),
            float(compared.spread[row, at]),
        )
        for row, at in places
    ]
    return pd.DataFrame(rows, columns=["pooling", "hidden state", "mean cosine", "spread"])


def _maps_frame(pooling_comparison: PoolingComparison) -> "pd.DataFrame":
    """A row for every cell of every map."""
    compared, matrices = pooling_comparison, pooling_comparison.matrices
    if matrices is None:
        matrices = np.zeros((0, 0, 0, 0), dtype=np.float32)
    places = np.argwhere(np.isfinite(matrices))
    frame = pd.DataFrame(places, columns=["pooling", "hidden state", "first", "second"])
    names = [pooling_word(pooling, compared.edges.first) for pooling in compared.poolings]
    frame["pooling"] = [names[row] for row in places[:, 0].tolist()]
    frame["hidden state"] = [state_name(compared.layers[place]) for place in places[:, 1].tolist()]
    frame[["first", "second"]] += 1
    frame["cosine"] = matrices[tuple(places.T)]
    return frame


@figure("poolings", "sentences_poolings", table=_poolings_frame)
def poolings_figure(pooling_comparison: PoolingComparison, model_name: str) -> FigureSpec:
    """Sentences under every pooling and layer."""
    title = f"{len(pooling_comparison.sentences)} sentences under every pooling — {model_name}"
    alt = f"{title}: mean and spread, a line per pooling over the layers"
    return FigureSpec.of(title, alt, "", pooling_lines, pooling_comparison)


@figure("pooling-maps", "sentences_pooling_maps", table=_maps_frame)
def pooling_maps_figure(pooling_comparison: PoolingComparison, model_name: str) -> FigureSpec:
    """The same cosines as small maps."""
    title = f"Cosines by pooling and layer — {model_name}"
    alt = f"{title}: small maps, a row per pooling, a column per layer"
    return FigureSpec.of(title, alt, "", pooling_maps, pooling_comparison)


Unit = Literal["tokens", "words"]
ROW, SMALLEST, LARGEST = 26, 330, 470
TOTALS = 0.16
"""Share of the figure for the totals beside the cells."""


def pair_heatmap(shares: TokenPairShares, unit: Unit, title: str, theme: Theme) -> go.Figure:
    """Draw the contribution of every pair of tokens, or words, to the cosine, with totals of rows and columns."""
    cells, rows, columns = _pieces(shares, unit)
    row_totals, column_totals = shares.first_totals, shares.second_totals
    if unit == "words":
        row_totals, column_totals = shares.first_word_totals, shares.second_word_totals
    names, others = [token_text(row) for row in rows], [token_text(column) for column in columns]
    height = max(SMALLEST, min(LARGEST, 190 + ROW * len(names)))
    figure = go.Figure(layout=layout(theme, escape(title), height=height, showlegend=False))
    limit = float(np.abs(cells).max(initial=0)) or 1.0
    left = max((label_width(name, TEXT_SIZE - 1) for name in names), default=0.0) + 16
    room = ((theme.pixels - left - STANDING) * (1 - TOTALS - 0.01), (height - 130) * (1 - TOTALS - 0.02))
    values, bar = cells.astype(np.float32), colour_bar("adds to the cosine", -limit, limit)
    scale = {"zmin": -limit, "zmax": limit, "colorscale": diverging(theme), "colorbar": bar}
    add_map(figure, values, "%{customdata}: %{z:.5f}", pair_names(names, others), **scale)
    _add_totals(figure, names, row_totals, "h", theme)
    _add_totals(figure, others, column_totals, "v", theme)
    totals = {"domain": [1 - TOTALS, 1], "nticks": 3, "tickfont": {"size": TEXT_SIZE - 3}, "gridcolor": theme.grid}
    figure.update_layout(
        xaxis={**token_axis(others, 560), "domain": [0, 1 - TOTALS - 0.01], "tickangle": -90 if len(others) > 9 else 0},
        yaxis={**token_axis(names, height - 170), "domain": [0, 1 - TOTALS - 0.02], "autorange": "reversed"},
        xaxis2={**totals, "anchor": "y"},
        yaxis2={**totals, "anchor": "x"},
        bargap=0.25,
    )
    return cell_numbers(figure, values, ".3f", diverging(theme), (-limit, limit), room)


def _pieces(shares: TokenPairShares, unit: Unit) -> tuple[np.ndarray, Sequence[str], Sequence[str]]:
    """Return the cells and the names of their rows and columns."""
    if unit == "tokens":
        return shares.cells, shares.first_tokens, shares.second_tokens
    return shares.word_cells, shares.first_words, shares.second_words


def _add_totals(
    figure: go.Figure, names: Sequence[str], totals: Float[np.ndarray, " names"], way: Literal["h", "v"], theme: Theme
) -> None:
    """Add bars of sums beside the rows (h) or above the columns (v)."""
    sums, across = totals.astype(np.float32), way == "h"
    axes = {"xaxis": "x2", "yaxis": "y"} if across else {"xaxis": "x", "yaxis": "y2"}
    hues = [theme.hues[1] if total >= 0 else theme.hues[0] for total in sums.tolist()]
    hover = f"%{{customdata}} in all: %{{{'x' if across else 'y'}:.5f}}"
    add_bars(figure, sums, hover, hues, across, customdata=list(names), orientation=way, **axes)


def _cells_frame(pair_shares: TokenPairShares, unit: Unit) -> "pd.DataFrame":
    """A row per piece of the first sentence, a column per piece of the second."""
    cells, rows, columns = _pieces(pair_shares, unit)
    frame = pd.DataFrame(cells, columns=[f"{place} {name}" for place, name in enumerate(columns)])
    frame.insert(0, unit[:-1], list(rows))
    return frame


@figure("pair", "sentences_pair", table=_cells_frame)
def token_pairs_figure(pair_shares: TokenPairShares, unit: Unit, model_name: str) -> FigureSpec:
    """Why two sentences are alike (--pooling, --layer)."""
    shares = pair_shares
    pooling = pooling_word(shares.pooling, shares.first_tokens[0] if shares.first_tokens else None)
    where = f"{pooling}, {state_name(shares.layer)}"
    title = f"Contributions of {unit[:-1]} pairs to {shares.total:.4f}, {where} — {model_name}"
    alt = f"{title}: a row per piece of the first sentence, a column per piece of the second"
    return FigureSpec.of(title, alt, "", pair_heatmap, shares, unit)
