"""Draw the logit lens: the best word of each layer and position."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import name_columns, token_axis, token_labels, token_text
from bertviz_core.figures.base.cells import cell_gaps, colour_at
from bertviz_core.figures.base.colour_bars import colour_bar, round_limit
from bertviz_core.figures.base.fitted import SHARE_OF_NAMES
from bertviz_core.figures.base.second_text import mark_second_text, second_text_start
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, sequential, text_on
from bertviz_core.figures.base.text_width import label_width, text_width
from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.results import LogitLens
from bertviz_core.text import decimals

LensMeasure = Literal["probability", "rank of the original", "entropy", "KL to the last layer"]
MEASURES: tuple[LensMeasure, ...] = ("probability", "rank of the original", "entropy", "KL to the last layer")
"""Measures for the colours, the default first: probability of the best word."""
TITLES: Mapping[LensMeasure, tuple[str, str]] = {
    "probability": ("probability of the best word", "probability"),
    "rank of the original": ("rank of the original token", "rank"),
    "entropy": ("entropy over all words", "nats"),
    "KL to the last layer": ("KL divergence to the last layer", "nats"),
}
"""Words for the title, unit of the scale."""
SIZES, LEAST_LETTERS = (15, 13, 11), 3
"""Font sizes in the cells, the largest at which nearly all words fit is used; minimum letters of a cut word."""
NEARLY = 0.9
"""Required share of words that fit."""
BESIDE, FREE = 100, 6
"""Pixels for the colour bar and margins; free pixels in a cell."""
OTHERWISE = 150
"""Height in pixels of everything except the map."""
TURNED_ROW, TALLEST = 23, 800
"""For a transposed map: height of each token's row, and maximum height of the map, in pixels."""
HOVERED_WORDS = 3
"""Number of words in a hover."""
SHORT = 14
"""Maximum length of each in characters."""


@dataclass(frozen=True, slots=True)
class LensColours:
    """Colours of the cells."""

    cells: Float[np.ndarray, "states seq"]
    """Values of the cells; NaN if the text has no original token."""
    low: float
    high: float
    scale: list[list[float | str]]
    bar: dict[str, Any]


def _frame(logit_lens: LogitLens, lens_words: Sequence[Sequence[Sequence[str]]]) -> pd.DataFrame:
    """Every cell: its best word and all four measures."""
    states, seq = logit_lens.rank.shape
    return pd.DataFrame(
        {
            "hidden state": np.repeat([state_name(entry) for entry in range(states)], seq),
            "position": np.tile(np.arange(seq), states),
            "token": list(logit_lens.tokens.tokens) * states,
            "best word": [cell[0] for row in lens_words for cell in row],
            "probability": np.exp(logit_lens.top_log_probability[..., 0]).ravel(),
            "log-probability of the original": logit_lens.log_probability.ravel(),
            "rank of the original": pd.array([rank or None for rank in logit_lens.rank.ravel().tolist()], "Int64"),
            "entropy": logit_lens.entropy.ravel(),
            "KL to the last layer": logit_lens.divergence.ravel(),
        }
    )


@figure(
    "lens",
    "predictions_lens",
    "the best word of every layer (--set mask=2,5, lens)",
    reported=True,
    table=_frame,
)
def lens_figure(logit_lens: LogitLens, lens_words: Sequence[Sequence[Sequence[str]]], lens_measure: str) -> FigureSpec:
    """Plot the best word of every layer and position.

    Args:
        logit_lens: logit lens of the text.
        lens_words: spelling of the best words of each cell, states by positions, best first.
        lens_measure: one of MEASURES.
    """
    measure = next(each for each in MEASURES if each == lens_measure)
    title = f"Best word after each layer, by {TITLES[measure][0]} — {logit_lens.model}"
    last = [f"{words[0]}" for words in lens_words[-1]]
    alt = f"{title}: {len(lens_words)} states, the embeddings first; after the last layer {' '.join(last)}"
    caption = f"{title}. The head was trained on the last layer alone."
    return FigureSpec(title, alt, partial(lens_map, logit_lens, lens_words, measure, title), caption)


def lens_colours(lens: LogitLens, measure: LensMeasure, theme: Theme) -> LensColours:
    """Return the numbers of the cells and their scale; ranks are logarithmic, with 1 furthest from the paper."""
    scale, unit = sequential(theme), TITLES[measure][1]
    if measure == "rank of the original":
        ranks = np.where(lens.rank > 0, lens.rank, np.nan)
        cells = np.log10(ranks).astype(np.float32)
        high = max(1.0, float(np.ceil(np.nanmax(cells, initial=0))))
        ticks = list(range(int(high) + 1))
        bar = {**colour_bar(unit, 0, high), "tickvals": ticks, "ticktext": [f"{10**tick:,}" for tick in ticks]}
        reverse = [[1 - float(share), colour] for share, colour in reversed(scale)]
        return LensColours(cells, 0, high, reverse, bar)
    if measure == "probability":
        return LensColours(np.exp(lens.top_log_probability[..., 0]), 0, 1, scale, colour_bar(unit, 0, 1))
    cells = lens.entropy if measure == "entropy" else lens.divergence
    high = round_limit(float(cells.max(initial=0)))
    return LensColours(cells, 0, high, scale, colour_bar(unit, 0, high))


def lens_map(
    lens: LogitLens, words: Sequence[Sequence[Sequence[str]]], measure: LensMeasure, title: str, theme: Theme
) -> go.Figure:
    """Draw the map, embeddings on top (at the left if transposed), with the best word in every cell that fits it."""
    states, seq = lens.rank.shape
    colours, names = lens_colours(lens, measure, theme), token_labels(lens.tokens)
    rows = [state_name(entry) for entry in range(states)]
    masked = set(np.flatnonzero(lens.masked).tolist())
    names = [f"<b>{name}</b>" if place in masked else name for place, name in enumerate(names)]
    height = max(320, min(560, OTHERWISE + 34 * states))
    across = _across(rows, theme)
    room = (across / seq - FREE, (height - OTHERWISE) / states - FREE)
    turned = _is_turned(words, names, room, theme)
    if turned:
        height, across = OTHERWISE + TURNED_ROW * seq, _across(names, theme)
        room = (across / states - FREE, TURNED_ROW - FREE)
    hovers, cells = _hover_texts(lens, words), colours.cells.T if turned else colours.cells
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    figure.add_heatmap(
        x=list(range(states if turned else seq)),
        y=list(range(seq if turned else states)),
        z=cells,
        meta={"turned": turned},
        zmin=colours.low,
        zmax=colours.high,
        colorscale=colours.scale,
        colorbar=colours.bar,
        **cell_gaps((across, height - OTHERWISE), cells.shape),
        customdata=[list(column) for column in zip(*hovers, strict=True)] if turned else hovers,
        hovertemplate=f"position %{{{'y' if turned else 'x'}}}, %{{customdata}}<extra></extra>",
    )
    down = height - OTHERWISE
    if turned:
        figure.update_xaxes(token_axis(rows, across), range=[-0.5, states - 0.5])
        figure.update_yaxes(token_axis(names, down, theme=theme), range=[seq - 0.5, -0.5])
    else:
        name_columns(figure, names, across, theme)
        figure.update_yaxes(token_axis(rows, down), range=[states - 0.5, -0.5])
    _add_words(figure, words, colours, room, theme, turned)
    axes = ("y", "x") if turned else ("x", "y")
    return mark_second_text(figure, second_text_start(lens.tokens), seq, theme, *axes)


def _across(names: Sequence[str], theme: Theme) -> int:
    """Return the pixels beside the names of the rows."""
    left = max(label_width(name, TEXT_SIZE - 1) for name in names)
    if theme.narrow:
        left = min(left, SHARE_OF_NAMES * theme.pixels)
    return theme.pixels - BESIDE * (not theme.narrow) - int(left)


def _is_turned(
    words: Sequence[Sequence[Sequence[str]]], names: Sequence[str], room: tuple[float, float], theme: Theme
) -> bool:
    """Return whether to transpose: in a narrow place whose cells fit words only with tokens as rows."""
    if not theme.slim or len(names) * TURNED_ROW > TALLEST:
        return False
    best = [cell[0] for row in words for cell in row]
    turned = _across(names, theme) / len(words) - FREE
    return _size(best, *room) is None and _size(best, turned, TURNED_ROW - FREE) is not None


def _hover_texts(lens: LogitLens, words: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Return the hover text of every cell: the best words with their probabilities."""
    shares = np.exp(lens.top_log_probability[..., :HOVERED_WORDS])
    return [
        [
            f"{state_name(entry)}: "
            + ", ".join(
                f"{token_text(word[:SHORT])} {decimals(share, 3)}"
                for word, share in zip(cell, shares[entry, place].tolist(), strict=False)
            )
            for place, cell in enumerate(row)
        ]
        for entry, row in enumerate(words)
    ]


def _add_words(
    figure: go.Figure,
    words: Sequence[Sequence[Sequence[str]]],
    colours: LensColours,
    room: tuple[float, float],
    theme: Theme,
    turned: bool,
) -> None:
    """Add the best word to every cell that fits it, long words cut, in black or white by contrast."""
    across, down = room
    size = _size([cell[0] for row in words for cell in row], across, down)
    if size is None:
        return
    x, y, texts, inks = [], [], [], []
    for entry, row in enumerate(words):
        for place, cell in enumerate(row):
            word = _fitted(cell[0], size, across)
            if word:
                share = float((colours.cells[entry, place] - colours.low) / ((colours.high - colours.low) or 1.0))
                ground = theme.paper if np.isnan(share) else colour_at(colours.scale, share)
                x.append(entry if turned else place)
                y.append(place if turned else entry)
                texts.append(token_text(word))
                inks.append(text_on(ground))
    font = {"size": size, "color": inks}
    figure.add_scatter(x=x, y=y, mode="text", text=texts, textfont=font, hoverinfo="skip", showlegend=False)


def _size(words: Sequence[str], across: float, down: float) -> int | None:
    """Return the font size; None if the cells are too small for text."""
    sizes = [size for size in SIZES if size <= down and text_width("m" * LEAST_LETTERS, size) <= across]
    fit = (size for size in sizes if sum(text_width(word, size) <= across for word in words) >= NEARLY * len(words))
    return next(fit, sizes[-1] if sizes else None)


def _fitted(word: str, size: int, room: float) -> str:
    """Return the word, its beginning if it is too long, or "" if too little would remain."""
    if text_width(word, size) <= room:
        return word
    beginning = word
    while beginning and text_width(f"{beginning}…", size) > room:
        beginning = beginning[:-1]
    return f"{beginning}…" if len(beginning) >= LEAST_LETTERS else ""
