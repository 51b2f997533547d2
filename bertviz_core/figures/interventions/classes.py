"""Draw the contributions of words to each class or tag, as a map of words by classes."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.attribution.results import ClassAttributions
from bertviz_core.figures.base.axes import even_axes, token_text
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, diverging, escape, layout
from bertviz_core.figures.base.text_width import text_width
from bertviz_core.text import decimals

MOST_WORDS = 40
ROW, AROUND, STANDING, BESIDE = 26, 170, 100, 200
"""Pixels: height of a word's row, margins above and below the map, height of vertical class names, width for colour bar
and words."""


def _classes_frame(class_attributions: ClassAttributions) -> pd.DataFrame:
    """Every word in the order of the text, with its share in each class."""
    result = class_attributions
    columns: dict[str, object] = {"word": result.words, "position": [places[0] for places in result.positions]}
    return pd.DataFrame(columns | {f"share: {label}": result.shares[:, i] for i, label in enumerate(result.labels)})


@figure(
    "word-classes",
    "words_classes",
    "which words speak for and against each class of a classifier or a probe, or each tag of a token (TEXT)",
    table=_classes_frame,
)
def word_classes_figure(class_attributions: ClassAttributions) -> FigureSpec:
    """Plot the share of every word in every class; the clean value of a class is beside its name."""
    result = class_attributions
    title = f"Which words speak for and against each {result.noun} ({result.measure}) — {result.model}"
    phrases = "; ".join(class_words(result, place) for place in range(len(result.labels)))
    caption = f"{title}. A word is replaced by {result.instead}."
    if len(result.labels) < result.classes:
        several = {"class": "classes", "tag": "tags"}[result.noun]
        caption += f" {len(result.labels)} of {result.classes} {several} are shown."
    if len(result.words) > MOST_WORDS:
        caption += f" The {MOST_WORDS} words with the largest shares of {len(result.words)} are drawn."
    return FigureSpec(title, f"{title}: {phrases}", partial(classes_map, result, title), caption)


def class_words(result: ClassAttributions, place: int) -> str:
    """Describe a class: its clean value, the strongest word for it and the strongest against it."""
    parts = [
        f"{result.words[word]} {sign} {decimals(float(result.shares[word, place]), 3)}"
        for word, sign in zip(result.strongest(place), ("for it", "against it"), strict=True)
        if word is not None
    ]
    return (
        f"{result.labels[place]} {decimals(float(result.clean[place]), 3)}, {', '.join(parts) or 'no word changes it'}"
    )


def classes_map(result: ClassAttributions, title: str, theme: Theme) -> go.Figure:
    """Draw words in text order from top to bottom, classes from left to right, on one scale around 0."""
    strength = np.abs(result.shares).max(axis=1)
    drawn = np.sort(np.argsort(-strength, kind="stable")[:MOST_WORDS])
    shares, names = result.shares[drawn], [token_text(result.words[word]) for word in drawn.tolist()]
    labels = [token_text(label) for label in result.labels]
    values = [decimals(float(value), 3) for value in result.clean]
    room = theme.pixels - BESIDE
    upright = any(text_width(text, TEXT_SIZE) > room / len(labels) - 8 for text in (*result.labels, *values))
    # In vertical names the value comes first: long ones are cut at the end, and bold letters with it.
    heads = [
        f"{value} {label}" if upright else f"{label}<br><b>{value}</b>"
        for label, value in zip(labels, values, strict=True)
    ]
    around = AROUND + (STANDING if upright else 0)
    height = around + ROW * len(names)
    limit = round_limit(float(strength.max()))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    pairs = [[f"{name}, {label}" for label in labels] for name in names]
    ends, space = (-limit, limit), (room, height - around)
    hover = "%{customdata}: %{z:.4f}"
    add_cells(figure, shares, ".3f", diverging(theme), ends, space, result.measure, hover, customdata=pairs)
    figure = even_axes(figure, theme)
    figure.update_xaxes(
        tickvals=list(range(len(labels))), ticktext=heads, tickangle=-90 if upright else 0, showgrid=False
    )
    return figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=names, range=[len(names) - 0.5, -0.5], showgrid=False
    )
