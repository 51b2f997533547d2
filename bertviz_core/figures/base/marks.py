"""Lines, points, bars and words: what they have in common in all figures. Further settings are plotly's."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.style import TEXT_SIZE, Theme


def _hovered(text: str) -> dict[str, str]:
    """Return the settings of a hover text in HTML; "" for none."""
    return {"hovertemplate": f"{text}<extra></extra>"} if text else {"hoverinfo": "skip"}


def add_line(
    figure: go.Figure,
    x: Any,
    y: Any,
    hover: str,
    colour: str,
    width: float = 2,
    dash: str | None = None,
    /,
    **settings: Any,
) -> go.Figure:
    """Add a line with a mark at each point, or without by the setting `mode`."""
    line = {"color": colour, "width": width, "dash": dash}
    return figure.add_scatter(x=x, y=y, line=line, **{"mode": "lines+markers", **_hovered(hover), **settings})


def add_band(figure: go.Figure, x: Any, values: np.ndarray, colour: str, /, **settings: Any) -> go.Figure:
    """Fill what lies between the least and the greatest of several lines."""
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, **settings}
    figure.add_scatter(x=x, y=values.min(axis=0), **edge)
    return figure.add_scatter(x=x, y=values.max(axis=0), fill="tonexty", fillcolor=colour, **edge)


def add_points(
    figure: go.Figure, x: Any, y: Any, hover: str, size: Any, colour: Any, marker: Any = None, /, **settings: Any
) -> go.Figure:
    """Add points; `marker` has further settings of their marks."""
    marks = {"size": size, "color": colour, **(marker or {})}
    return figure.add_scatter(x=x, y=y, marker=marks, **{"mode": "markers", **_hovered(hover), **settings})


def add_bars(
    figure: go.Figure, lengths: Any, hover: str, look: Any, lying: bool = True, /, **settings: Any
) -> go.Figure:
    """Add a bar for each number, at 0, 1, 2 ... on the other axis; the look is a colour, one for each, or a marker.

    Where the numbers stand beside the bars, no line of a grid crosses them.
    """
    places = np.arange(len(lengths), dtype=np.int32) if isinstance(lengths, np.ndarray) else list(range(len(lengths)))
    ends = {"x": lengths, "y": places, "orientation": "h"} if lying else {"x": places, "y": lengths}
    figure.add_bar(
        **{**ends, "marker": look if isinstance(look, dict) else {"color": look}, **_hovered(hover), **settings}
    )
    if (bars := figure.data[-1]).textposition == "outside" and bars.text is not None:
        axis = (bars.xaxis or "x") if lying else (bars.yaxis or "y")
        figure.update_layout({f"{axis[0]}axis{axis[1:]}": {"showgrid": False}})
    return figure


Rows = TypeVar("Rows")
ABOVE, WIDENED = 62, 1.1
"""Pixels above and below rows of words, and steps in which they become wider for a slide."""


def rows_in_place(lay_out: Callable[[float], Rows], end: Callable[[Rows], float], theme: Theme) -> Rows:
    """Lay words out in rows as wide as the theme; those too high for its place in wider ones, of the place's form."""
    width = float(theme.pixels)
    rows = lay_out(width)
    while theme.tall and (end(rows) + ABOVE) * theme.pixels > theme.tall * width:
        width *= WIDENED
        rows = lay_out(width)
    return rows


def add_words(
    figure: go.Figure,
    x: Any,
    y: Any,
    words: Sequence[str],
    size: int,
    colour: Any,
    side: str | None = "middle right",
    /,
    **settings: Any,
) -> go.Figure:
    """Add text beside points, or on them with None for the side."""
    font = {"size": size, "color": colour}
    usual = {"mode": "text", "textposition": side, "hoverinfo": "skip", "cliponaxis": False}
    return figure.add_scatter(x=x, y=y, text=list(words), textfont=font, **{**usual, **settings})


def add_heading(figure: go.Figure, text: str, x: Any, y: Any, size: int = TEXT_SIZE, /, **settings: Any) -> go.Figure:
    """Write text in HTML above and to the right of a place, a share of the figure unless `xref` and `yref` differ."""
    usual = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "font": {"size": size}}
    return figure.add_annotation(text=text, x=x, y=y, showarrow=False, **{**usual, **settings})


def add_map(figure: go.Figure, cells: Any, hover: str, names: Any = None, /, **settings: Any) -> go.Figure:
    """Add a map with cells at 0, 1, 2 ... on both axes; `names` are those of its cells, for the hover."""
    rows, columns = cells.shape
    places = {"x": np.arange(columns, dtype=np.int32), "y": np.arange(rows, dtype=np.int32)}
    return figure.add_heatmap(**{**places, "z": cells, "customdata": names, **_hovered(hover), **settings})


def pair_names(rows: Sequence[str], columns: Sequence[str], between: str = " · ") -> list[list[str]]:
    """Return the names of the cells of a map: of the row and of the column."""
    return [[f"{row}{between}{column}" for column in columns] for row in rows]


def row_axis(names: Sequence[str], every: int = 1) -> dict[str, Any]:
    """Return an axis with rows at 0, 1, 2 ... from top to bottom, each or every second, third etc. of them named."""
    ticks = {"tickvals": list(range(0, len(names), every)), "ticktext": list(names)[::every]}
    return {**ticks, "range": [len(names) - 0.5, -0.5], "showgrid": False}


def state_axis(states: Sequence[int], every: int = 1) -> dict[str, Any]:
    """Return an axis of hidden states: "emb." for the embeddings, then the numbers of the layers."""
    places = list(states)[::every]
    return {"tickvals": places, "ticktext": ["emb." if place == 0 else str(place - 1) for place in places]}
