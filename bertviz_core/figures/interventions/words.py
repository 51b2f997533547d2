"""Draw word attributions as a coloured text and as bars."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.attribution.results import ShareMethod, WordAttributions
from bertviz_core.figures.base.axes import even_axes, token_text
from bertviz_core.figures.base.cells import colour_at
from bertviz_core.figures.base.colour_bars import colour_bar, round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, Theme, diverging, escape, layout
from bertviz_core.figures.tokens.box_rows import WRITTEN
from bertviz_core.figures.tokens.strip import token_strip
from bertviz_core.text import decimals, digits
from bertviz_core.trace.results import TextPieces

BAR = 92
"""Height in pixels of the colour bar; omitted on a phone, where the boxes contain the numbers."""
STEPS = 12
"""Shades of each sign, so that similar tokens share an outline."""
MOST_BARS = 40
ROW, AROUND = 22, 130
"""Pixels: height of a bar with its distance, margins above and below the bars."""
METHOD_WORDS: dict[ShareMethod, str] = {
    "leave-one-out": "each word left out in turn",
    "integrated-gradients": "by integrated gradients",
    "gradient-x-input": "by gradient times input",
}
"""Description of the method in a title."""


def shares_frame(word_attributions: WordAttributions) -> pd.DataFrame:
    """Every word in the order of the text, with its tokens and its share."""
    result, tokens = word_attributions, word_attributions.tokens.tokens
    has_errors = result.method == "integrated-gradients"
    return pd.DataFrame(
        {
            "word": result.words,
            "position": [places[0] for places in result.positions],
            "tokens": [" ".join(tokens[place] for place in places) for places in result.positions],
            "share": result.shares.astype(float),
            **({"error": result.share_errors.astype(float)} if has_errors else {}),
        }
    )


@figure(
    "word-shares",
    "words_shares",
    "a text coloured by what each word adds to a target (TEXT --pair TEXT)",
    reported=True,
    table=shares_frame,
)
def word_shares_figure(word_attributions: WordAttributions, word_pieces: TextPieces) -> FigureSpec:
    """Plot the text as tokens, coloured by the share of each token's word; special tokens have none.

    Args:
        word_attributions: attributions of the text.
        word_pieces: tokens of the text.
    """
    title = _title(word_attributions)
    draw = partial(shares_strip, word_attributions, word_pieces, title)
    caption = f"{_caption(word_attributions, title)} {WRITTEN}"
    return FigureSpec(title, f"{title}: {_listed_shares(word_attributions)}", draw, caption)


@figure(
    "word-bars",
    "words_bars",
    "the words that add most to a target or take most from it (TEXT --pair TEXT)",
    reported=True,
    table=shares_frame,
)
def word_bars_figure(word_attributions: WordAttributions) -> FigureSpec:
    """Plot the words with the largest shares of either sign, the largest positive share at the top."""
    title, draw = _title(word_attributions), partial(shares_bars, word_attributions, _title(word_attributions))
    caption = _caption(word_attributions, title)
    if len(word_attributions.words) > MOST_BARS:
        caption += f" The {MOST_BARS} largest of {len(word_attributions.words)} are drawn."
    return FigureSpec(title, f"{title}: {_listed_shares(word_attributions)}", draw, caption)


def shares_strip(result: WordAttributions, pieces: TextPieces, title: str, theme: Theme) -> go.Figure:
    """Draw the coloured text with its scale."""
    values = result.per_token()
    scale, limit = diverging(theme), round_limit(float(np.nanmax(np.abs(values))))
    known = {place: value for place, value in enumerate(values.tolist()) if not np.isnan(value)}
    fills = {place: colour_at(scale, (round(value / limit * STEPS) / STEPS + 1) / 2) for place, value in known.items()}
    notes = [_written(known[place]) if place in known else "" for place in range(len(values))]
    beside = 0 if theme.narrow else BAR
    figure = token_strip((("", pieces),), notes, title, theme, fills=fills, beside=beside)
    if not beside:
        return figure
    marker = {"color": [0], "cmin": -limit, "cmax": limit, "colorscale": scale, "showscale": True, "opacity": 0}
    marker["colorbar"] = colour_bar(result.unit, -limit, limit, most=3)
    return figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, hoverinfo="skip")


def shares_bars(result: WordAttributions, title: str, theme: Theme) -> go.Figure:
    """Draw one bar per word."""
    strongest = set(np.argsort(-np.abs(result.shares), kind="stable")[:MOST_BARS].tolist())
    order = [index for index in result.ranked() if index in strongest]
    shares = result.shares[order].tolist()
    names = [token_text(result.words[index]) for index in order]
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + ROW * len(order), showlegend=False))
    figure.add_bar(
        x=shares,
        y=list(range(len(order))),
        orientation="h",
        marker={"color": [HUES[1] if share >= 0 else HUES[0] for share in shares]},
        customdata=names,
        hovertemplate="%{customdata}: %{x:.4f}<extra></extra>",
    )
    figure = even_axes(figure.update_xaxes(title=f"share of the target, {result.unit}"), theme)
    return figure.update_yaxes(
        tickvals=list(range(len(order))), ticktext=names, range=[len(order) - 0.5, -0.5], showgrid=False
    )


def _title(result: WordAttributions) -> str:
    error = f" (completeness error {result.error:.1g})" if result.method == "integrated-gradients" else ""
    return f"What each word adds to the {result.title}, {METHOD_WORDS[result.method]}{error} — {result.model}"


def _listed_shares(result: WordAttributions) -> str:
    return ", ".join(f"{result.words[index]} {_written(float(result.shares[index]))}" for index in result.ranked())


def _caption(result: WordAttributions, title: str) -> str:
    caption = f"{title}. Clean {decimals(result.clean)} {result.unit}; a word is replaced by {result.instead}"
    if result.method == "leave-one-out":
        return f"{caption}."
    return f"{caption}; the shares miss the difference of clean and reference by {digits(result.error, 2)}."


def _written(value: float) -> str:
    return decimals(value, 3)
