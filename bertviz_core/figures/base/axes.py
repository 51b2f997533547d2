"""Axes of tokens, sentences and numbers: their labels, what fits, and one style for all axes of a figure."""

import html
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.colour_bars import colour_bar
from bertviz_core.figures.base.style import TEXT_SIZE, WIDE, Theme, diverging, escape, sequential
from bertviz_core.text import escape_controls, isolated
from bertviz_core.trace.results import Tokens


def even_axes(figure: go.Figure, theme: Theme) -> go.Figure:
    """The figure, every axis of it with the same letters, lines and distances."""
    same = {
        "tickfont": {"size": TEXT_SIZE - 1},
        "title": {"font": {"size": TEXT_SIZE}, "standoff": 10},
        "gridcolor": theme.grid,
        "linecolor": theme.muted,
        "zeroline": False,
        "automargin": True,
        "ticklabeloverflow": "allow",
    }
    return figure.update_xaxes(same).update_yaxes(same)


LABEL_PIXELS, SMALL_LABEL_PIXELS = 19, 14
"""Height of one label, the room that each takes along its axis when it stands across it; in the smallest letters that
fitted() gives it in a place narrower than a page on a desk."""
LONGEST_TOKEN = 18


def token_labels(tokens: Tokens) -> list[str]:
    """One label per token: escaped, controls made visible, special tokens in italics."""
    shown = zip(tokens.tokens, tokens.special.tolist(), strict=True)
    return [f"<i>{token_text(token)}</i>" if special else token_text(token) for token, special in shown]


def token_text(token: str) -> str:
    """A token as text for a figure: markup escaped, invisible characters by code, cut when long."""
    if len(token) > LONGEST_TOKEN:
        token = f"{token[: LONGEST_TOKEN - 1]}…"
    return isolated(escape(escape_controls(token) or "∅"))


def token_axis(names: Sequence[str], pixels: int, first: int = 0, theme: Theme | None = None) -> dict[str, Any]:
    """Settings of an axis whose ticks are tokens: every one, or every k-th where they would meet.

    Args:
        names: labels of the tokens drawn.
        pixels: length of the axis.
        first: position of the first of them.
        theme: where given, its width says whether the letters will be made smaller.
    """
    label = SMALL_LABEL_PIXELS if theme is not None and theme.pixels < WIDE else LABEL_PIXELS
    step = max(1, -(-len(names) * label // max(pixels, 1)))
    places = list(range(0, len(names), step))
    return {
        "tickmode": "array",
        "tickvals": [first + place for place in places],
        "ticktext": [names[place] for place in places],
        "showgrid": False,
    }


LONGEST_SENTENCE = 30
"""Characters of a sentence that stand beside a figure."""
NARROWEST_AXIS = 240
"""Pixels between the first and the last sentence in the narrowest plot."""
HOVERED = 80
"""Characters of a sentence that stand in a hover."""
MEASURE_WORDS = {"cosine": "cosine", "dot": "dot product", "euclidean": "Euclidean distance"}


def sentence_text(sentence: str, longest: int = LONGEST_SENTENCE) -> str:
    """The beginning of a sentence as text for a figure: markup escaped, invisible characters by their code."""
    cut = sentence if len(sentence) <= longest else f"{sentence[: longest - 1]}…"
    return escape(escape_controls(cut))


def number_axis(numbers: Sequence[int], pixels: int = NARROWEST_AXIS) -> dict[str, Any]:
    """Sentences by their numbers, from left to right, thinned for the narrowest plot."""
    return token_axis([str(number + 1) for number in numbers], pixels)


def similarity_colours(measure: str, largest: float, theme: Theme) -> dict[str, Any]:
    """Range, scale and bar of a measure: signed ones symmetric around 0, a distance from 0."""
    top = 1.0 if measure == "cosine" else largest or 1.0
    distance = measure == "euclidean"
    low = 0.0 if distance else -top
    return {
        "colorscale": sequential(theme) if distance else diverging(theme),
        "cmin": low,
        "cmax": top,
        "colorbar": colour_bar(MEASURE_WORDS[measure], low, top),
    }


NARROWEST_PLOT = np.array([480.0, 280.0])
"""Pixels between the outermost points in the narrowest plot."""
LETTER, LINE, MARK = 8.0, 18.0, 4.5
"""Pixels: width of a letter, height of a line, radius of a mark."""


def label_sides(
    points: Float[np.ndarray, "states seq 2"],
    names: Sequence[str],
    plot: Float[np.ndarray, "2"] = NARROWEST_PLOT,
    beside: float = math.inf,
) -> list[str]:
    """For each end of a path the side on which its label stands; "" where it would cover another, an end or an edge.

    Args:
        points: the paths; their ends are labelled.
        names: of the ends.
        plot: pixels between the outermost points in the narrowest plot, so that nothing overlaps in a wider one.
        beside: pixels that are free at the left and right of the outermost points.
    """
    low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
    spots = (points[-1] - low) / np.where(high > low, high - low, 1) * plot
    taken = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in spots.tolist()]
    sides = []
    for place, ((x, y), name) in enumerate(zip(spots.tolist(), names, strict=True)):
        width = LETTER * len(html.unescape(re.sub("<[^>]*>", "", name)))
        for side, (left, bottom) in {
            "middle right": (x + MARK, y - LINE / 2),
            "middle left": (x - MARK - width, y - LINE / 2),
            "top center": (x - width / 2, y + MARK),
            "bottom center": (x - width / 2, y - MARK - LINE),
        }.items():
            box = (left, bottom, left + width, bottom + LINE)
            inside = -beside <= left and left + width <= plot[0] + beside
            if inside and not any(_cover(box, other) for other in (*taken[:place], *taken[place + 1 :])):
                taken.append(box)
                sides.append(side)
                break
        else:
            sides.append("")
    return sides


def _cover(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two boxes (left, bottom, right, top) share any area."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
