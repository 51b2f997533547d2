"""Axes of tokens: integer positions, escaped spellings, thinned until no two labels meet."""

from collections.abc import Sequence
from typing import Any

from bertviz_core.results.trace import Tokens
from figures.style import escape

LABEL_PIXELS = 19
"""Height of one label, the room that each takes along its axis when it stands across it."""
LONGEST = 18


def labels(tokens: Tokens) -> list[str]:
    """One label per token: escaped, controls made visible, special tokens in italics."""
    shown = zip(tokens.tokens, tokens.special.tolist(), strict=True)
    return [f"<i>{visible(token)}</i>" if special else visible(token) for token, special in shown]


def visible(token: str) -> str:
    """A token as text for a figure: markup escaped, invisible characters by their code, cut when very long."""
    if len(token) > LONGEST:
        token = f"{token[: LONGEST - 1]}…"
    return escape("".join(each if each.isprintable() else f"U+{ord(each):04X}" for each in token) or "∅")


def token_axis(names: Sequence[str], pixels: int, first: int = 0) -> dict[str, Any]:
    """Settings of an axis whose ticks are tokens: every one, or every k-th where they would meet.

    Args:
        names: labels of the tokens drawn.
        pixels: length of the axis.
        first: position of the first of them.
    """
    step = max(1, -(-len(names) * LABEL_PIXELS // max(pixels, 1)))
    places = list(range(0, len(names), step))
    return {
        "tickmode": "array",
        "tickvals": [first + place for place in places],
        "ticktext": [names[place] for place in places],
        "showgrid": False,
    }
