"""Axes of sentences: their numbers from 1, their beginnings, thinned until no two labels meet."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from figures.style import Theme, diverging, escape, sequential
from figures.tokens_axis import token_axis

LONGEST = 30
"""Characters of a sentence that stand beside a figure."""
NARROW = 240
"""Pixels between the first and the last sentence in the narrowest plot."""
HOVERED = 80
"""Characters of a sentence that stand in a hover."""
MEASURE_WORDS = {"cosine": "cosine", "dot": "dot product", "euclidean": "Euclidean distance"}


def shown(sentence: str, longest: int = LONGEST) -> str:
    """The beginning of a sentence as text for a figure: markup escaped, invisible characters by their code."""
    cut = sentence if len(sentence) <= longest else f"{sentence[: longest - 1]}…"
    return escape("".join(each if each.isprintable() else f"U+{ord(each):04X}" for each in cut))


def sentence_labels(numbers: Sequence[int], sentences: Sequence[str]) -> list[str]:
    """Number from 1 and beginning of every sentence."""
    return [f"{shown(text)}  {number + 1}" for number, text in zip(numbers, sentences, strict=True)]


def sentence_rows(figure: go.Figure, names: Sequence[str], pixels: int, **where: int) -> go.Figure:
    """Sentences from top to bottom; the margin is given, since measuring would lay the picture out twice."""
    longest = max((len(name) for name in names), default=1)
    room = {"l": 24 + int(7.4 * min(longest, LONGEST + 6))}
    axis = token_axis(names, pixels)
    figure.update_yaxes(axis, range=[len(names) - 0.5, -0.5], automargin=False, **where)
    return figure.update_layout(margin=room)


def number_axis(numbers: Sequence[int], pixels: int = NARROW) -> dict[str, Any]:
    """Sentences by their numbers, from left to right, thinned for the narrowest plot."""
    return token_axis([str(number + 1) for number in numbers], pixels)


def similarity_colours(measure: str, largest: float, look: Theme) -> dict[str, Any]:
    """Range, scale and bar of a measure: signed ones symmetric around 0, a distance from 0."""
    top = 1.0 if measure == "cosine" else largest or 1.0
    distance = measure == "euclidean"
    low = 0.0 if distance else -top
    ticks = [low + (top - low) * step / 4 for step in range(5)]
    bar = {
        "title": {"text": MEASURE_WORDS[measure], "side": "right"},
        "thickness": 14,
        "tickvals": ticks,
        "ticktext": [f"{tick:.3g}" for tick in ticks],
    }
    return {"colorscale": sequential(look) if distance else diverging(look), "cmin": low, "cmax": top, "colorbar": bar}
