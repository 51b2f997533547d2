"""Draw the contributions of words to the similarity of two texts, as a map of tokens by tokens."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.attribution.results import PairAttributions
from bertviz_core.figures.base.axes import even_axes, token_axis, token_labels
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, diverging, escape, layout
from bertviz_core.hidden_states.results import state_name
from bertviz_core.text import decimals, digits

ROW, AROUND, BESIDE = 28, 190, 200
"""Pixels: height of a token's row, margins above and below the map, width for colour bar and tokens."""
LEAST, MOST = 300, 760
"""Minimum and maximum height of the map in pixels."""


def _pairs_frame(pair_attributions: PairAttributions) -> pd.DataFrame:
    """Every pair of tokens with its share."""
    ledger = pair_attributions
    rows, columns = ledger.shares.shape
    return pd.DataFrame(
        {
            "position in the first": np.repeat(np.arange(rows), columns),
            "token of the first": np.repeat(np.array(ledger.first.tokens, dtype=object), columns),
            "position in the second": np.tile(np.arange(columns), rows),
            "token of the second": np.tile(np.array(ledger.second.tokens, dtype=object), rows),
            "share": ledger.shares.ravel().astype(float),
            "error": ledger.share_errors.ravel().astype(float),
        }
    )


@figure(
    "word-pairs",
    "words_pairs",
    "which words make two texts alike: the cosine by pairs of tokens (TEXT --pair TEXT --layer L)",
    table=_pairs_frame,
)
def pair_ledger_figure(pair_attributions: PairAttributions) -> FigureSpec:
    """Plot the share of token pairs in the cosine of two texts; the caption has the reference terms."""
    result = pair_attributions
    title = f"Which words make the two texts alike — {result.model}, states: {state_name(result.layer)}"
    row, column = np.unravel_index(np.abs(result.shares).argmax(), result.shares.shape)
    first, second = result.first.tokens[int(row)], result.second.tokens[int(column)]
    total = float(result.shares.sum())
    added = (
        f"cosine {decimals(result.cosine)} = pairs {decimals(total)} + reference terms "
        f"{decimals(result.reference_terms)}, up to {digits(result.error, 1)}"
    )
    if result.uncertain.any():
        added += "; a cross marks a share smaller than its own error"
    largest = f"the largest share is that of {first} and {second}, {decimals(float(result.shares[row, column]))}"
    draw = partial(ledger_map, pair_attributions, title)
    return FigureSpec(title, f"{title}: {added}; {largest}", draw, f"{title}: {added}.")


def ledger_map(ledger: PairAttributions, title: str, theme: Theme) -> go.Figure:
    """Draw tokens of the first text from top to bottom, of the second from left to right, on one scale around 0."""
    names, others = token_labels(ledger.first), token_labels(ledger.second)
    height = min(MOST, max(LEAST, AROUND + ROW * len(names)))
    limit = round_limit(float(np.abs(ledger.shares).max()))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    pairs = [[f"{name} · {other}" for other in others] for name in names]
    ends, room = (-limit, limit), (theme.pixels - BESIDE, height - AROUND)
    hover = "%{customdata}: %{z:.5f}"
    add_cells(figure, ledger.shares, ".3f", diverging(theme), ends, room, "cosine", hover, customdata=pairs)
    below, beside = np.nonzero(ledger.uncertain)
    marks = {"symbol": "x-thin-open", "size": 7, "color": theme.muted}
    figure.add_scatter(x=beside, y=below, mode="markers", marker=marks, hoverinfo="skip", showlegend=False)
    figure = even_axes(figure, theme)
    figure.update_xaxes(token_axis(others, theme.pixels - BESIDE), tickangle=-90)
    return figure.update_yaxes(token_axis(names, height - AROUND), range=[len(names) - 0.5, -0.5])
