"""Horizontal bars of scores that may be negative, with the numbers at their right."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.style import TEXT_SIZE, Theme
from bertviz_core.text import decimals

NUMBER_SIZE = TEXT_SIZE - 1
PLOT = 0.5
"""Minimum share of the figure's width for the plot."""


def add_score_bars(
    figure: go.Figure,
    scores: Float[np.ndarray, " rows"],
    hover: Sequence[str],
    colour: str,
    theme: Theme,
    places: int = 4,
) -> go.Figure:
    """Add bars from the first score at the top to the last."""
    rows, values = np.arange(len(scores), dtype=np.int32), np.asarray(scores, dtype=np.float32)
    words = [decimals(value, places) for value in values.tolist()]
    figure.add_bar(
        x=values,
        y=rows,
        orientation="h",
        marker={"color": colour},
        customdata=list(hover),
        hovertemplate=f"%{{customdata}} %{{x:.{places}f}}<extra></extra>",
        showlegend=False,
    )
    figure.add_scatter(
        x=np.maximum(values, 0),
        y=rows,
        mode="text",
        text=[f" {word}" for word in words],
        textposition="middle right",
        textfont={"size": NUMBER_SIZE, "color": theme.text},
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )
    low, high = min(float(values.min(initial=0)), 0.0), max(float(values.max(initial=0)), 0.0)
    span = high - low or 1.0
    label = max((text_width(word, NUMBER_SIZE) for word in words), default=0.0) + 12
    room = span * label / max(PLOT * theme.pixels - label, label)
    figure.update_xaxes(range=[low - 0.03 * span * (low < 0), high + room])
    return figure.update_layout(bargap=0.3)
