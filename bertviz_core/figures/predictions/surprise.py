"""Draw a text coloured by the surprise of each token under a masked-LM head."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.cells import colour_at
from bertviz_core.figures.base.colour_bars import colour_bar, round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, sequential
from bertviz_core.figures.tokens.box_rows import WRITTEN
from bertviz_core.figures.tokens.strip import token_strip
from bertviz_core.predictions.results import PseudoLikelihood
from bertviz_core.trace.results import TextPieces

BAR = 92
"""Height in pixels of the colour bar; omitted on a phone, where the boxes contain the numbers."""
LONGEST_BAR = 320
"""Height in pixels of the colour bar of a long text, at its beginning."""
STEPS = 24
"""Number of shades, so that similar tokens share an outline."""


def _frame(pseudo_likelihood: PseudoLikelihood) -> pd.DataFrame:
    """Every token with its surprise; special tokens have none."""
    values, tokens = pseudo_likelihood.surprise.astype(float), list(pseudo_likelihood.tokens.tokens)
    columns = {"position": range(len(values)), "token": tokens, "surprise, nats": values}
    return pd.DataFrame({**columns, "probability": np.exp(-values)})


@figure(
    "surprise",
    "predictions_surprise",
    "every token coloured by its surprise when it alone is masked",
    reported=True,
    table=_frame,
)
def surprise_figure(pseudo_likelihood: PseudoLikelihood, text_pieces: TextPieces) -> FigureSpec:
    """Plot the tokens of a text, coloured by -log p(token | all others); special tokens have none."""
    title = f"Surprise of every token — {pseudo_likelihood.model}"
    values = pseudo_likelihood.surprise.tolist()
    listed = ", ".join(
        f"{token} {value:.2f}"
        for token, value in zip(pseudo_likelihood.tokens.tokens, values, strict=True)
        if not np.isnan(value)
    )
    mean = f"mean {pseudo_likelihood.mean:.3f} nats, PPPL {pseudo_likelihood.perplexity:,.1f}"
    draw = partial(surprise_strip, pseudo_likelihood, text_pieces, title)
    return FigureSpec(title, f"{title}, in nats: {listed}; {mean}", draw, f"{title}, in nats; {mean}. {WRITTEN}")


def surprise_strip(result: PseudoLikelihood, pieces: TextPieces, title: str, theme: Theme) -> go.Figure:
    """Draw the coloured text with its scale."""
    scale, limit = sequential(theme), round_limit(float(np.nanmax(result.surprise)))
    values = dict(enumerate(result.surprise.tolist()))
    fills = {
        place: colour_at(scale, round(value / limit * STEPS) / STEPS)
        for place, value in values.items()
        if not np.isnan(value)
    }
    notes = ["" if np.isnan(value) else f"{value:.2f}" for value in values.values()]
    beside = 0 if theme.narrow else BAR
    figure = token_strip((("", pieces),), notes, title, theme, fills=fills, beside=beside)
    if not beside:
        return figure
    marker = {"color": [0], "cmin": 0, "cmax": limit, "colorscale": scale, "showscale": True, "opacity": 0}
    plot = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    upright = {"lenmode": "pixels", "len": min(plot, LONGEST_BAR), "y": 1, "yanchor": "top"}
    marker["colorbar"] = colour_bar("nats", 0, limit) | upright
    return figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, hoverinfo="skip")
