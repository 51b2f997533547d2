"""Draw the cosine of two sentences as a sum over pairs of tokens."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import token_axis, token_text
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.colour_bars import colour_bar
from bertviz_core.figures.base.fitted import STANDING
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, diverging, escape, layout
from bertviz_core.figures.base.text_width import label_width
from bertviz_core.figures.sentences.poolings import pooling_word
from bertviz_core.hidden_states.results import state_name
from bertviz_core.sentences.results import TokenPairShares

Unit = Literal["tokens", "words"]
ROW, SMALLEST, LARGEST = 26, 330, 470
TOTALS = 0.16
"""Share of the figure for the totals beside the cells."""


def pair_heatmap(shares: TokenPairShares, unit: Unit, title: str, theme: Theme) -> go.Figure:
    """Draw the contribution of every pair of tokens, or words, to the cosine, with totals of rows and columns."""
    if unit == "tokens":
        cells, rows, columns = shares.cells, shares.first_tokens, shares.second_tokens
        row_totals, column_totals = shares.first_totals, shares.second_totals
    else:
        cells, rows, columns = shares.word_cells, shares.first_words, shares.second_words
        row_totals, column_totals = shares.first_word_totals, shares.second_word_totals
    names, others = [token_text(row) for row in rows], [token_text(column) for column in columns]
    height = max(SMALLEST, min(LARGEST, 190 + ROW * len(names)))
    figure = go.Figure(layout=layout(theme, escape(title), height=height, showlegend=False))
    limit = float(np.abs(cells).max(initial=0)) or 1.0
    figure.add_heatmap(
        x=np.arange(len(others), dtype=np.int32),
        y=np.arange(len(names), dtype=np.int32),
        z=cells.astype(np.float32),
        zmin=-limit,
        zmax=limit,
        colorscale=diverging(theme),
        colorbar=colour_bar("adds to the cosine", -limit, limit),
        customdata=[[f"{name} · {other}" for other in others] for name in names],
        hovertemplate="%{customdata}: %{z:.5f}<extra></extra>",
    )
    _add_totals(figure, names, row_totals, "h", theme)
    _add_totals(figure, others, column_totals, "v", theme)
    small = {"size": TEXT_SIZE - 3}
    figure.update_layout(
        xaxis={**token_axis(others, 560), "domain": [0, 1 - TOTALS - 0.01], "tickangle": -90 if len(others) > 9 else 0},
        yaxis={**token_axis(names, height - 170), "domain": [0, 1 - TOTALS - 0.02], "autorange": "reversed"},
        xaxis2={"domain": [1 - TOTALS, 1], "nticks": 3, "tickfont": small, "gridcolor": theme.grid, "anchor": "y"},
        yaxis2={"domain": [1 - TOTALS, 1], "nticks": 3, "tickfont": small, "gridcolor": theme.grid, "anchor": "x"},
        bargap=0.25,
    )
    left = max((label_width(name, TEXT_SIZE - 1) for name in names), default=0.0) + 16
    room = ((theme.pixels - left - STANDING) * (1 - TOTALS - 0.01), (height - 130) * (1 - TOTALS - 0.02))
    return cell_numbers(figure, cells.astype(np.float32), ".3f", diverging(theme), (-limit, limit), room)


def _add_totals(
    figure: go.Figure, names: Sequence[str], totals: Float[np.ndarray, " names"], way: Literal["h", "v"], theme: Theme
) -> None:
    """Add bars of sums beside the rows (h) or above the columns (v)."""
    places, sums = np.arange(len(names), dtype=np.int32), totals.astype(np.float32)
    across = way == "h"
    figure.add_bar(
        x=sums if across else places,
        y=places if across else sums,
        orientation=way,
        xaxis="x2" if across else "x",
        yaxis="y" if across else "y2",
        marker={"color": [HUES[1] if total >= 0 else HUES[0] for total in sums.tolist()]},
        customdata=list(names),
        hovertemplate=f"%{{customdata}} in all: %{{{'x' if across else 'y'}:.5f}}<extra></extra>",
    )


def _cells_frame(pair_shares: TokenPairShares, unit: Unit) -> pd.DataFrame:
    """A row per piece of the first sentence, a column per piece of the second."""
    shares = pair_shares
    cells, rows, columns = shares.cells, shares.first_tokens, shares.second_tokens
    if unit == "words":
        cells, rows, columns = shares.word_cells, shares.first_words, shares.second_words
    frame = pd.DataFrame(cells, columns=[f"{place} {name}" for place, name in enumerate(columns)])
    frame.insert(0, unit[:-1], list(rows))
    return frame


@figure("pair", "sentences_pair", "why two sentences are alike (--pooling, --layer)", table=_cells_frame)
def token_pairs_figure(pair_shares: TokenPairShares, unit: Unit, model_name: str) -> FigureSpec:
    """Plot the cosine of two sentences as a sum over pairs of their tokens or words."""
    shares = pair_shares
    pooling = pooling_word(shares.pooling, shares.first_tokens[0] if shares.first_tokens else None)
    where = f"{pooling}, {state_name(shares.layer)}"
    title = f"Contributions of {unit[:-1]} pairs to {shares.total:.4f}, {where} — {model_name}"
    alt = f"{title}: a row per piece of the first sentence, a column per piece of the second"
    return FigureSpec(title, alt, partial(pair_heatmap, shares, unit, title))
