"""Mark the start of the second text of a pair."""

from typing import Any

import plotly.graph_objects as go

from bertviz_core.figures.base.style import TEXT_SIZE, Theme
from bertviz_core.trace.results import Tokens

LABEL = "second text"
ROOM = 20
"""Width in pixels of the label beside the plot."""
NEAR_THE_END = 0.25
"""Share of the axis after the line below which the label is right-aligned before the end of the axis."""


def second_text_start(tokens: Tokens, first: int = 0, count: int | None = None) -> int | None:
    """Return the index of the second text's first token among the drawn tokens; None if it is not among them.

    Args:
        tokens: the text, or the pair.
        first: position of the first drawn token.
        count: number of drawn tokens; by default all that follow.
    """
    shown = tokens.sequence[first : None if count is None else first + count]
    place = next((place for place, sequence in enumerate(shown) if sequence == 1), 0)
    return place or None


def mark_second_text(
    figure: go.Figure,
    place: int | None,
    count: int,
    theme: Theme,
    axis: str = "x",
    across: str = "y",
    *,
    inside: bool = False,
) -> go.Figure:
    """Add a line at the start of the second text, if there is one.

    Args:
        figure: figure with an axis of tokens at 0, 1, 2 ...
        place: output of second_text_start.
        count: number of drawn tokens.
        theme: theme of the figure.
        axis: name of the axis of tokens; a horizontal one begins with x, a vertical one with y.
        across: name of the perpendicular axis.
        inside: whether the label is inside the plot, at its upper edge, since there is a legend above it.
    """
    if place is None:
        return figure
    at, end = place - 0.5, count - 0.5
    line = {"type": "line", "line": {"color": theme.text, "width": 2, "dash": "dash"}}
    words = {"text": LABEL, "showarrow": False, "font": {"size": TEXT_SIZE - 1, "color": theme.text}}
    behind = (count - place) / count >= NEAR_THE_END
    start = at if behind else end
    if axis.startswith("x"):
        ends = {"x0": at, "x1": at, "xref": axis, "y0": 0, "y1": 1, "yref": f"{across} domain"}
        spot = {"x": start, "xref": axis, "xanchor": "left" if behind else "right", "xshift": 3 if behind else 0}
        spot |= {"y": 1, "yref": f"{across} domain", "yanchor": "top" if inside else "bottom"}
        if axis == "x" and not inside:
            figure.update_layout(margin={"t": (figure.layout.margin.t or 0) + ROOM})
    else:
        ends = {"y0": at, "y1": at, "yref": axis, "x0": 0, "x1": 1, "xref": f"{across} domain"}
        spot = {"y": start, "yref": axis, "yanchor": "top" if behind else "bottom", "textangle": 90}
        spot |= {"x": 1, "xref": f"{across} domain", "xanchor": "left"}
        figure.update_traces(selector=_has_bar, colorbar={"xpad": 10 + ROOM})
        if theme.narrow:  # the bar will be horizontal
            figure.update_layout(margin={"r": max(figure.layout.margin.r or 0, ROOM)})
    return figure.add_shape(**line, **ends).add_annotation(**words, **spot)


def _has_bar(trace: Any) -> bool:
    """Return whether a trace has its own colour bar beside the plot."""
    return trace.type == "heatmap" and bool(trace.colorbar.to_plotly_json())
